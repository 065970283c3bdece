#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that links from one page of the project to another lead somewhere, to their headings too, and that
tests that are named, `Suite.Test`, are there."""

import functools
import pathlib
import re
import sys

FENCE = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
NAMED_TEST = re.compile(r"`([A-Z]\w+)\.([A-Z]\w+)`")
LINK = re.compile(r"(?<!!)\[[^]]*\]\(([^)\s]+)\)")


def anchor(heading):
    """As GitHub makes it: lower case, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@functools.cache
def anchors(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)}


@functools.cache
def tests(root):
    """(suite, test) of all that are written."""
    found = set()
    for source in root.glob("tests/**/*.cpp"):
        text = source.read_text(encoding="utf-8")
        found.update(re.findall(r"^(?:WEIR_\w*)?TEST\w*\((\w+),\s*(\w+)", text, re.M))
    return found


def problems(page, root):
    if page.name == "known-bugs.md":
        for suite, test in NAMED_TEST.findall(page.read_text(encoding="utf-8")):
            if (suite, test) not in tests(root):
                yield f"{page.relative_to(root)}: there is no test {suite}.{test}"
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, fragment = link.partition("#")
        path = page.parent / target if target else page
        if not path.exists():
            yield f"{page.relative_to(root)}: {link} leads nowhere"
        elif fragment and fragment not in anchors(path):
            yield f"{page.relative_to(root)}: {link} has no such heading"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("bench/*.md")]
    found = [problem for page in sorted(pages) for problem in problems(page, root)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
