#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The systemd unit is sandboxed, and the maintainer scripts are valid shell code."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

DEBIAN = pathlib.Path(sys.argv[1]) / "packaging" / "debian"
MOST_EXPOSURE = 3.0  # of 10, as systemd-analyze counts it


class Service(unittest.TestCase):
    def setUp(self):
        self.unit = (DEBIAN / "weir.service").read_text()

    def test_starts_with_the_installed_files(self):
        self.assertEqual((DEBIAN / "conffiles").read_text().split(), ["/etc/weir.toml"])
        self.assertIn("ExecStart=/usr/bin/weir serve --config /etc/weir.toml\n", self.unit)
        self.assertIn("/var/lib/weir", (DEBIAN / "weir.sysusers").read_text())

    def test_is_sandboxed(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed (Debian: apt install systemd)")
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                               DEBIAN / "weir.service"], capture_output=True, text=True)
        exposure = re.search(r"Overall exposure level.*?: ([\d.]+)", done.stdout)
        self.assertIsNotNone(exposure, done.stdout + done.stderr)
        self.assertLess(float(exposure[1]), MOST_EXPOSURE)

    def test_scripts_are_valid(self):
        for name in ("postinst", "prerm", "postrm"):
            subprocess.run(["sh", "-n", DEBIAN / name], check=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
