#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules that keep the sources readable: no file over 600 lines, one SPDX line in each.

Files over 300 lines are listed, not failed: most should be shorter.
"""

import pathlib
import sys

MOST_LINES = 600
FEW_LINES = 300
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cmake", ".py", ".sh", ".go", ".rs"}
NAMES = {"CMakeLists.txt", "dev", "run"}
# Build trees, and packages fetched for a front-end.
SKIPPED = {"build", "node_modules", ".git", "target", "__pycache__"}


def is_source(path):
    return path.suffix in SUFFIXES or path.name in NAMES


def sources(root):
    pending = [root]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.is_symlink():
                continue
            if path.is_dir():
                if path.name not in SKIPPED:
                    pending.append(path)
            elif is_source(path):
                yield path


def problems_of(path, lines):
    if len(lines) > MOST_LINES:
        yield f"{len(lines)} lines, more than {MOST_LINES}: split it"
    # The first lines, to leave room for a script's #! line.
    if not any("SPDX-License-Identifier: MIT" in line for line in lines[:3]):
        yield "no line 'SPDX-License-Identifier: MIT' at the top"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    failed = 0
    for path in sources(root):
        lines = path.read_text(encoding="utf-8").splitlines()
        name = path.relative_to(root)
        if FEW_LINES < len(lines) <= MOST_LINES:
            print(f"info: {name}: {len(lines)} lines")
        for problem in problems_of(path, lines):
            print(f"{name}: {problem}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
