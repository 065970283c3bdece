#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sample configuration has every option of `weir serve` with its default, and is valid."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import program_help

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
SAMPLE = ROOT / "packaging" / "weir.toml"
ENTRY = re.compile(r"^(#?)([a-z][\w-]*) = (\[.*\]|\"[^\"]*\"|\S+)")


def entries():
    """[(whether it is commented out, name, value)]"""
    return [match.groups() for line in SAMPLE.read_text().splitlines()
            if (match := ENTRY.match(line))]


class Sample(unittest.TestCase):
    maxDiff = None

    def check(self, config, folder):
        return subprocess.run(
            [PROGRAM, "serve", "--check", "--config", config, "--listen", "127.0.0.1:0",
             "--database", f"{folder}/tasks.db"], capture_output=True, text=True)

    def test_is_valid(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.check(SAMPLE, folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_is_valid_with_everything_in_it(self):
        with tempfile.TemporaryDirectory() as folder:
            text = SAMPLE.read_text().replace("/etc/weir.", f"{folder}/")
            text = text.replace("/usr/local/bin/thumbnail", "/bin/true")
            text = re.sub(r"/etc/ssl/(private/)?", f"{folder}/", text)
            text = re.sub(r"^#(?=[a-z])", "", text, flags=re.M)
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                 "-nodes", "-subj", "/CN=localhost", "-keyout", f"{folder}/weir.key",
                 "-out", f"{folder}/weir.pem"], check=True, capture_output=True)
            pathlib.Path(folder, "token").write_text("0123456789abcdef0123456789abcdef\n")
            pathlib.Path(folder, "keys").write_text("whsec_" + "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\n")
            config = pathlib.Path(folder, "weir.toml")
            config.write_text(text)
            done = self.check(config, folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_has_all_options_and_defaults(self):
        serve = program_help.read_commands(PROGRAM)["serve"]
        self.assertEqual({name for _, name, _ in entries()},
                         serve.names() - {"help", "config", "check"})
        for comment, name, value in entries():
            if comment and name in serve.defaults:
                with self.subTest(name):
                    self.assertEqual(value.strip('"'), serve.defaults[name])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
