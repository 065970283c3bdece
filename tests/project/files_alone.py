#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles public headers each on its own, included twice, and the sources of the library and the
examples that changed.

    files_alone.py ROOT --jobs N -- COMPILER OPTION...

Builds by the presets compile several sources as one, which hides a missing include. Only files that
the last commit or the working tree changed, or all headers where WEIR_ALL_HEADERS_ALONE is set, as
.ci/run does: that takes minutes.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys


def all_headers(root: pathlib.Path) -> list[pathlib.Path]:
    return sorted((root / "include" / "weir").rglob("*.hpp"))


def changed_files(root: pathlib.Path) -> list[pathlib.Path]:
    """Those that differ from the last commit but one, new ones included; none without git."""
    names = set()
    for command in (["diff", "--name-only", "HEAD~1"], ["ls-files", "--others",
                                                        "--exclude-standard"]):
        result = subprocess.run(["git", "-C", str(root), *command, "--", "include/weir", "src",
                                 ":(glob)examples/*.cpp"],
                                capture_output=True, text=True, check=False)
        names.update(result.stdout.split())
    files = [root / name for name in sorted(names) if (root / name).is_file()]
    return [file for file in files if not has_page(file)]


def has_page(file: pathlib.Path) -> bool:
    """An example with files in it, whose header is made by the build."""
    return file.with_name(file.stem + "_page").is_dir()


def failure_of(root: pathlib.Path, file: pathlib.Path, compiler: list[str]) -> str:
    """What the compiler says of it; empty where it compiles."""
    text = ""
    if file.suffix == ".hpp":
        name = file.relative_to(root / "include")
        text = f"#include <{name}>\n#include <{name}>\n"
        given = ["-x", "c++", "-"]
    else:
        name = file.relative_to(root)
        given = [str(file)]
    result = subprocess.run([*compiler, "-fsyntax-only", *given], input=text,
                            capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else f"{name} does not compile alone:\n{result.stderr}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("compiler", nargs="+")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    changed = changed_files(root)
    headers = all_headers(root)
    if not os.environ.get("WEIR_ALL_HEADERS_ALONE"):
        headers = [file for file in headers if file in changed]
    files = headers + [file for file in changed if file.suffix == ".cpp"]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        failures = list(filter(None, pool.map(
            lambda file: failure_of(root, file, arguments.compiler), files)))
    print("\n".join(failures))
    print(f"{len(files)} files compiled alone, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
