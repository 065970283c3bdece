#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the walks of docs/design.md: each file that a walk names exists and mentions what the walk
says of it, and no walk is longer than its goal.

A walk is a section `### Walk: <title> (at most N files)` with a numbered list whose items begin with
the path of a file; every name in backquotes after it must stand in that file:

    1. `src/io/net/socket.cpp`: `socket::read` makes a `read_operation`.

`class::member` is looked up as `member`, in a file that mentions `class` too.
"""

import pathlib
import re
import sys

WALK = re.compile(r"^### Walk: (.+?) \(at most (\d+) files\)\n(.*?)(?=^#|\Z)", re.M | re.S)
STEP = re.compile(r"^\d+\. `([\w/.]+\.\w+)`(.*?)(?=^\d+\. |\n\n|\Z)", re.M | re.S)
PATH = re.compile(r"`((?:include|src|tests|tools)/[\w/.]+\.\w+)`")
NAME = re.compile(r"`([\w:~]+)(?:\(\))?`")
EXPECTED_WALKS = 5


def problems(root):
    text = (root / "docs/design.md").read_text(encoding="utf-8")
    walks = WALK.findall(text)
    if len(walks) < EXPECTED_WALKS:
        yield f"{len(walks)} walks, expected {EXPECTED_WALKS}"
    for title, limit, body in walks:
        steps = STEP.findall(body)
        files = {path for path, _ in steps}
        if not files:
            yield f"{title}: names no file"
        for path in sorted(set(PATH.findall(body)) - files):  # alternatives beside the steps
            if not (root / path).is_file():
                yield f"{title}: there is no file {path}"
        if len(files) > int(limit):
            yield f"{title}: {len(files)} files, more than {limit}"
        for path, words in steps:
            if not (root / path).is_file():
                yield f"{title}: there is no file {path}"
                continue
            source = (root / path).read_text(encoding="utf-8")
            for name in NAME.findall(words):
                for part in name.split("::"):
                    if not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", source):
                        yield f"{title}: {path} does not mention {part} ({name})"


def main():
    found = list(problems(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(f"docs/design.md: {each}" for each in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
