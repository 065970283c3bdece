#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands on README.md and the first pages of docs/ in a fresh clone, in their order, as
a reader would.

Usage: run_commands.py ROOT [--folder FOLDER] [--skip REGEX] [--machine] [PAGE[#SECTION]...]

- `./dev run`, `weir serve` and `podman run` run in the background from when they answer to the end
  of the page.
- The comment lines after a command are the output that the page promises: `...` stands for
  anything, and an id on the page for the id that the service gave. A command that only reads is
  repeated for a while until it gives that output.
- `weir` is the program that the clone has built, until a package has installed one. Questions are
  answered with yes.
- Commands that change the machine (sudo, apt, systemctl) are left out without --machine, which is
  for root on a machine to throw away. So are those that --skip matches, and those of programs that
  are not installed. The clone has what is committed.

The last line is 'N passed, N failed, N skipped'.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import commands
from command_reader import Failure, Reader

PAGES = ["README.md", "docs/install.md", "docs/service.md#five-minutes"]
CHANGES_MACHINE = {"sudo", "apt", "apt-get", "dpkg", "systemctl"}
OPTIONAL = {"podman", "sqlite3"}


def reason_to_skip(command, options):
    if options.skip and re.search(options.skip, command.text):
        return "--skip"
    programs = {words[0] for words in command.simple()}
    if not options.machine and programs & CHANGES_MACHINE:
        return "changes the machine"
    missing = [each for each in sorted(programs & OPTIONAL) if not shutil.which(each)]
    return f"{missing[0]} is not installed" if missing else None


def environment_of(folder, clone, machine=False):
    """curl fails where the service answers with an error, and apt does not ask. What ./dev soak
    sets is not for readers."""
    (folder / "apt.conf").write_text('APT::Get::Assume-Yes "true";\n', encoding="utf-8")
    (folder / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n", encoding="utf-8")
    path = f"{os.environ['PATH']}:{clone / 'build/gcc-release/tools/weir'}"
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("WEIR_") or name == "WEIR_JOBS"}
    if machine and not shutil.which("sudo"):
        (folder / "bin").mkdir()
        (folder / "bin/sudo").write_text('#!/bin/sh\nexec "$@"\n', encoding="utf-8")
        (folder / "bin/sudo").chmod(0o755)
        path = f"{folder / 'bin'}:{path}"
    return {**kept, "CI": "true", "CURL_HOME": str(folder), "APT_CONFIG": str(folder / "apt.conf"),
            "DEBIAN_FRONTEND": "noninteractive", "PATH": path}


def clone_into(root, folder):
    changed = subprocess.run(["git", "-C", root, "status", "--porcelain", "--untracked-files=no"],
                             stdout=subprocess.PIPE, text=True, check=False).stdout
    if changed:
        print("The clone is without the changes that are not committed.", flush=True)
    clone = folder / "weir"
    # The folder may belong to another user, as in a container.
    subprocess.run(["git", "clone", "--quiet", root, clone], check=True,
                   env={**os.environ, "GIT_CONFIG_COUNT": "1",
                        "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"})
    return clone


def text_of(clone, page):
    """The text of the page; of `page#section`, that section alone, in its lines of the page."""
    page, _, section = page.partition("#")
    text = (clone / page).read_text(encoding="utf-8")
    if not section:
        return text
    parts = re.split(r"^(?=## )", text, flags=re.M)
    wanted = [part.splitlines()[0][3:].lower().replace(" ", "-") == section for part in parts]
    if not any(wanted):
        raise ValueError(f"{page} has no section {section}")
    return "".join(part if keep else "\n" * part.count("\n")
                   for part, keep in zip(parts, wanted))


def run_page(page, root, clone, environment, options):
    """The counts of passed, failed and skipped commands."""
    counts = [0, 0, 0]
    text = text_of(clone, page)
    page = page.partition("#")[0]
    reader = Reader(root, clone, environment)
    try:
        for command in (each for block in commands.blocks_of(page, text) for each in block):
            begin, failure = time.monotonic(), ""
            reason = reason_to_skip(command, options)
            if reason is None:
                try:
                    reader.run(command)
                except (Failure, subprocess.TimeoutExpired) as error:
                    failure = str(error)
            result = 2 if reason else 1 if failure else 0
            counts[result] += 1
            seconds = time.monotonic() - begin
            print(f"{['passed ', 'FAILED ', 'skipped'][result]} {seconds:7.1f} s  {command}",
                  failure or reason or "", flush=True)
    finally:
        reader.stop()
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, help="where to clone to; kept afterwards")
    parser.add_argument("--skip", metavar="REGEX")
    parser.add_argument("--machine", action="store_true")
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_intermixed_args()
    root = options.root.resolve()
    with tempfile.TemporaryDirectory(prefix="weir-pages-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        clone = clone_into(root, folder)
        environment = environment_of(folder, clone, options.machine)
        counts = [run_page(page, root, clone, environment, options) for page in options.pages]
    passed, failed, skipped = map(sum, zip(*counts))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
