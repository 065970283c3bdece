#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gets axe-core with npm, as the lock file says, into a folder of the build, and runs
accessibility.test.mjs: accessibility.py NODE FOLDER.

Exits with 77, for 'skipped', where there is no npm, or no network for it."""

import filecmp
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("package.json", "package-lock.json")


def is_installed(folder):
    """Whether the packages are there, in the versions of the lock file."""
    return (folder / "node_modules").exists() and all(
        (folder / name).exists() and filecmp.cmp(HERE / "axe" / name, folder / name, shallow=False)
        for name in FILES)


def install(folder):
    npm = shutil.which("npm")
    if npm is None:
        print("skipped: no npm (Debian: npm)")
        return False
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(HERE / "axe" / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
               "--fetch-retries", "1", "--fetch-timeout", "20000"]
    if subprocess.run(command, cwd=folder, check=False).returncode != 0:
        shutil.rmtree(folder)
        print("skipped: npm could not install axe-core")
        return False
    return True


def main():
    node, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if not is_installed(folder) and not install(folder):
        return 77
    rules = folder / "node_modules" / "axe-core" / "axe.min.js"
    environment = {**os.environ, "WEIR_AXE": str(rules)}
    return subprocess.run([node, "--test", str(HERE / "accessibility.test.mjs")],
                          env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
