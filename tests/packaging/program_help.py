# SPDX-License-Identifier: MIT
"""The commands and options of the program, read from its help."""

import re
import subprocess
from dataclasses import dataclass, field

OPTION = re.compile(r"^  (?:(-\w),)?--([\w-]+)(.*)$")
POSITIONAL = re.compile(r"^  (\w+) [A-Z]+")


@dataclass
class Command:
    flags: set = field(default_factory=set)       # {'--listen', '-l'}
    variables: set = field(default_factory=set)   # {'WEIR_LISTEN'}
    defaults: dict = field(default_factory=dict)  # {'listen': '127.0.0.1:8080'}
    positionals: set = field(default_factory=set)

    def names(self):
        """The long names without dashes."""
        return {flag[2:] for flag in self.flags if flag.startswith("--")}


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], check=True, capture_output=True,
                          text=True).stdout


def read_command(text):
    command = Command()
    section = ""
    for line in text.splitlines():
        if re.match(r"^\w+:$", line):
            section = line
        if match := OPTION.match(line):
            short, name, rest = match.groups()
            command.flags |= {f"--{name}"} | ({short} if short else set())
            # NAME=PROGRAM is a placeholder; COUNT=256 has a default.
            if default := re.match(r" \S+?=(?![A-Z]+\b)(\S+)(  |$)", rest):
                command.defaults[name] = default[1]
        elif section == "Positionals:" and (match := POSITIONAL.match(line)):
            command.positionals.add(match[1])
        command.variables |= set(re.findall(r"\[(WEIR_\w+)\]$", line))
    return command


def read_commands(program):
    """{'': the program itself, 'serve': ..., ...}"""
    text = help_of(program)
    commands = {"": read_command(text)}
    for name in re.findall(r"^  (\w+)  ", text.partition("Subcommands:")[2], re.M):
        commands[name] = read_command(help_of(program, name))
    return commands
