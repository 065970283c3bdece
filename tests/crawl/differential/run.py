#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gets parse5 and warcio with npm, as the lock file says, into a folder of the build, and runs
compare.mjs: run.py PRINT_LINKS FOLDER [PAGES] [SEED].

Exits with 77, for 'skipped', where there is no npm."""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def installed_node(folder):
    """The path of node, after the packages of the lock file were installed in the folder; or None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        print("skipped: no node or no npm (Debian: nodejs, npm)")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "compare.mjs", "pages.mjs", "warc.mjs"):
        shutil.copy(HERE / name, folder)
    installed = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=False)
    if installed.returncode != 0:
        print("skipped: npm could not install parse5 and warcio")
        return None
    return node


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    node = installed_node(folder)
    if node is None:
        return 77
    return subprocess.run(
        [node, str(folder / "compare.mjs"), program, *sys.argv[3:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
