#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual pages name every option of the program, and none that it does not have."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import program_help

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
MAN = ROOT / "packaging" / "man"
FLAG = re.compile(r"(?<![\w-])(--[a-z][\w-]*|-[A-Za-z])(?![\w-])")


def sections(path):
    """{'WEIR SERVE': its text without escapes}"""
    text = path.read_text().replace("\\-", "-")
    parts = re.split(r"^\.SH (.*)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def flags_described(text):
    """The flags in the first line after each .TP."""
    lines = text.splitlines()
    return {flag for before, line in zip(lines, lines[1:]) if before == ".TP"
            for flag in FLAG.findall(line)}


class Manual(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.commands = program_help.read_commands(PROGRAM)
        cls.page = sections(MAN / "weir.1")

    def test_names_all_commands(self):
        for name in self.commands:
            self.assertIn(f'"weir {name}"' if name else '"weir"', self.page["SYNOPSIS"])

    def test_describes_all_flags(self):
        common = flags_described(self.page["COMMON OPTIONS"])
        self.assertEqual(common, self.commands[""].flags)
        shared = {"-s", "--server", "--token-file", "--ca-file"}
        for name, command in self.commands.items():
            if not name:
                continue
            text = self.page[f"WEIR {name.upper()}"]
            described = flags_described(text)
            if {"--server", "--token-file"} <= set(FLAG.findall(text)):
                described |= shared
            with self.subTest(name):
                self.assertEqual(described, command.flags - common)

    def test_has_variables_and_defaults_of_serve(self):
        text = self.page["WEIR SERVE"]
        serve = self.commands["serve"]
        self.assertEqual(set(re.findall(r"WEIR_\w+", text)), serve.variables - {"WEIR_CONFIG"})
        for entry in text.split(".TP\n")[1:]:
            name = re.search(r"--([\w-]+)", entry)[1]
            default = serve.defaults.get(name)
            if default:
                with self.subTest(name):
                    self.assertRegex(entry, rf"Default: {re.escape(default)}\b")

    def test_lists_names_for_the_file(self):
        page = sections(MAN / "weir.toml.5")
        for name, command in self.commands.items():
            if name in ("", "ps"):
                continue
            expected = (command.names() | command.positionals) - {"help", "config", "check"}
            text = page[f"OPTIONS OF [{name}]"]
            with self.subTest(name):
                self.assertEqual(set(re.findall(r"^\.BR ([\w-]+) [,;.]$", text, re.M)), expected)

    def test_has_no_formatting_errors(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed (Debian: apt install man-db)")
        for page in MAN.iterdir():
            done = subprocess.run(
                ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                capture_output=True, text=True, env={"MANROFFSEQ": "", "MANWIDTH": "80",
                                                     "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
