#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the tests that docs/known-bugs.md names: the page and the suite KnownBugs name the same
ones, every other test that it names exists, and every test with a number of the crawlers' table in
its name is in that table, which has all numbers."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEST = re.compile(r"\b(?:WEIR_(?:IO_)?TEST|TEST(?:_[FP])?|TYPED_TEST(?:_P)?)\(\s*(\w+),\s*(\w+)\)")
LAST_NUMBER = 57


def written_tests():
    """Pairs of suite and test."""
    found = set()
    for pattern in ("*.cpp", "*.hpp"):
        for source in (ROOT / "tests").rglob(pattern):
            found |= set(TEST.findall(source.read_text()))
    return found


def main():
    page = (ROOT / "docs" / "known-bugs.md").read_text()
    tests = written_tests()
    faults = []

    documented = set(re.findall(r"`(\w+_\w+)`", page))
    written = {name for suite, name in tests if suite == "KnownBugs"}
    faults += [f"docs/known-bugs.md names {name}, and there is no such test"
               for name in sorted(documented - written)]
    faults += [f"the test {name} is not in docs/known-bugs.md"
               for name in sorted(written - documented)]

    crawlers = page.partition("\n## Crawlers\n")[2]
    named = set(re.findall(r"`(Crawl\w*)\.(\w+)`", crawlers))
    faults += [f"docs/known-bugs.md names {suite}.{name}, and there is no such test"
               for suite, name in sorted(named - tests)]
    numbered = {each for each in tests if each[0].startswith("Crawl") and re.match(r"T\d+_", each[1])}
    faults += [f"the test {suite}.{name} is not in docs/known-bugs.md"
               for suite, name in sorted(numbered - named)]
    rows = {int(number) for row in re.findall(r"^\| (T\d+(?:, T\d+)*) \|", crawlers, re.M)
            for number in re.findall(r"\d+", row)}
    faults += [f"docs/known-bugs.md has no row T{number}"
               for number in range(1, LAST_NUMBER + 1) if number not in rows]

    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
