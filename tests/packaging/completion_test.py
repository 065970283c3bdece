#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The completions for bash, zsh and fish have the commands and options of the program. bash and, if
it is installed, fish are asked; of zsh's functions the text is compared."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import program_help

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
COMPLETION = ROOT / "packaging" / "completion"


def from_bash(*words):
    """What bash offers for the last of the words."""
    line = " ".join(f"'{word}'" for word in words)
    script = (f"source '{COMPLETION}/weir.bash'; COMP_WORDS=({line}); "
              f"COMP_CWORD={len(words) - 1}; _weir; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def from_fish(line):
    script = f"source '{COMPLETION}/weir.fish'; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], check=True, capture_output=True,
                          text=True)
    return {each.split("\t")[0] for each in done.stdout.splitlines()}


class Completion(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.commands = program_help.read_commands(PROGRAM)

    def long_flags(self, name):
        return {flag for flag in self.commands[name].flags if flag.startswith("--")}

    def test_bash(self):
        self.assertEqual(from_bash("weir", ""), set(self.commands) - {""})
        self.assertEqual(from_bash("weir", "--"), self.long_flags(""))
        for name in set(self.commands) - {""}:
            with self.subTest(name):
                self.assertEqual(from_bash("weir", name, "--"), self.long_flags(name))
        self.assertEqual(from_bash("weir", "serve", "--log-level", ""),
                         {"debug", "info", "warning", "error"})
        self.assertEqual(from_bash("weir", "list", "--state", ""),
                         {"pending", "running", "completed", "failed", "cancelled"})

    def test_bash_completes_files(self):
        here = str(COMPLETION / "weir.b")
        for words in (["crawl", "--state"], ["backup"], ["backup", "--database"]):
            with self.subTest(words):
                self.assertEqual(from_bash("weir", *words, here), {str(COMPLETION / "weir.bash")})

    def test_bash_knows_the_queues(self):
        with tempfile.TemporaryDirectory() as folder:
            weir = pathlib.Path(folder) / "weir"
            weir.write_text("#!/bin/sh\n"
                            "[ \"$*\" = queues ] && printf 'mail\\tactive\\nmore\\tpaused\\n'\n")
            weir.chmod(0o755)
            for words in (["pause"], ["resume"], ["redrive"], ["list", "--queue"]):
                with self.subTest(words):
                    self.assertEqual(from_bash(str(weir), *words, "ma"), {"mail"})

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed (Debian: apt install fish)")
        self.assertEqual(from_fish("weir "), set(self.commands) - {""})
        for name in self.commands:
            with self.subTest(name):
                self.assertEqual(from_fish(f"weir {name} --" if name else "weir --"),
                                 self.long_flags(name))

    def test_zsh(self):
        text = (COMPLETION / "_weir").read_text()
        self.assertTrue(text.startswith("#compdef weir\n"))
        offered = {f"--{name}" for name in re.findall(r"(?<=[',{*])--([\w-]+)", text)}
        self.assertEqual(offered, set().union(*map(self.long_flags, self.commands)))
        serve = re.search(r"_weir_serve\(\) {\n(.*?)\n}", text, re.S)[1]
        self.assertEqual(set(re.findall(r"(?<=[',{*])--[\w-]+", serve)),
                         self.long_flags("serve") - {"--help", "--config"})
        self.assertEqual(set(re.findall(r"^        '([a-z]+):", text, re.M)),
                         set(self.commands) - {""})
        if shutil.which("zsh"):
            subprocess.run(["zsh", "-n", COMPLETION / "_weir"], check=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
