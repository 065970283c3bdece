#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that docs/known-bugs.md and the suite KnownBugs name the same tests."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def main():
    page = (ROOT / "docs" / "known-bugs.md").read_text()
    documented = set(re.findall(r"`(\w+_\w+)`", page))
    written = set()
    for source in (ROOT / "tests").rglob("*.cpp"):
        written |= set(re.findall(r"\(KnownBugs,\s*(\w+)\)", source.read_text()))
    for name in sorted(documented - written):
        print(f"docs/known-bugs.md names {name}, and there is no such test")
    for name in sorted(written - documented):
        print(f"the test {name} is not in docs/known-bugs.md")
    return 1 if documented != written else 0


if __name__ == "__main__":
    sys.exit(main())
