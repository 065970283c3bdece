#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles public headers each on its own, included twice.

    headers_alone.py ROOT --jobs N -- COMPILER OPTION...

In CI all of them, which takes minutes; elsewhere those that the last commit or the working tree
changed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys


def all_headers(root: pathlib.Path) -> list[pathlib.Path]:
    return sorted((root / "include" / "weir").rglob("*.hpp"))


def changed_headers(root: pathlib.Path) -> list[pathlib.Path]:
    """Those that differ from the last commit but one, new ones included; all without git."""
    names = set()
    for command in (["diff", "--name-only", "HEAD~1"], ["ls-files", "--others",
                                                        "--exclude-standard"]):
        result = subprocess.run(["git", "-C", str(root), *command, "--", "include/weir"],
                                capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return all_headers(root)
        names.update(result.stdout.split())
    return [path for path in all_headers(root) if str(path.relative_to(root)) in names]


def failure_of(root: pathlib.Path, header: pathlib.Path, compiler: list[str]) -> str:
    """What the compiler says of it; empty where it compiles."""
    name = header.relative_to(root / "include")
    text = f"#include <{name}>\n#include <{name}>\n"
    result = subprocess.run([*compiler, "-fsyntax-only", "-x", "c++", "-"], input=text,
                            capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else f"{name} does not compile alone:\n{result.stderr}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("compiler", nargs="+")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    headers = all_headers(root) if os.environ.get("CI") else changed_headers(root)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        failures = list(filter(None, pool.map(
            lambda header: failure_of(root, header, arguments.compiler), headers)))
    print("\n".join(failures))
    print(f"{len(headers)} headers compiled alone, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
