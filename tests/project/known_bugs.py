#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the tests that docs/known-bugs.md names: the page and the suite KnownBugs name the same
ones, every other test that it names exists, every test with a number of the crawlers' or the
workers' table in its name is in that table, and these tables and that of several nodes have all
numbers."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEST = re.compile(
    r"\b(?:WEIR_(?:\w+_)?TEST|TEST(?:_[FP])?|TYPED_TEST(?:_P)?)\(\s*(\w+),\s*(\w+)\)")
LAST_NUMBER = 57
WORKERS = ("clients/python/tests", "clients/node/test", "tests/service/api", "tests/service/store")
NAMES_OF_PLACES = ("Python", "Node", "service", "stores")
PEER_NUMBERS = {1, 3, 5, 6, 7, *range(14, 25)}
LAST_OF_NODES = 27  # of the lessons, and of the failures


def written_tests():
    """Pairs of suite and test."""
    found = set()
    for pattern in ("*.cpp", "*.hpp"):
        for source in (ROOT / "tests").rglob(pattern):
            found |= set(TEST.findall(source.read_text()))
    return found


def worker_faults(page):
    """What is wrong with the table of workers, which says for each bug where its tests are."""
    documented = {(f"PeerFailure{number}", place)
                  for number, places in re.findall(r"`PeerFailure(\d\d)` \| (.*) \|$", page, re.M)
                  for place in places.split(", ")}
    written = {(name, place) for folder, place in zip(WORKERS, NAMES_OF_PLACES)
               for source in (ROOT / folder).iterdir() if source.is_file()
               for name in re.findall(r"PeerFailure\d\d", source.read_text())}
    for name, place in sorted(documented - written):
        yield f"docs/known-bugs.md names {name}, which is no test of {place}"
    for name, place in sorted(written - documented):
        yield f"docs/known-bugs.md does not say that {name} is a test of {place}"
    for number in sorted(PEER_NUMBERS - {int(name[-2:]) for name, _ in documented}):
        yield f"docs/known-bugs.md has no PeerFailure{number:02}"


def workflow_faults(page, tests):
    table = page.partition("\n## Workflows\n")[2]
    documented = set(re.findall(r"\| `(\w+)` \|$", table, re.M))
    written = {name for suite, name in tests if suite == "WorkflowPeers"}
    return [f"docs/known-bugs.md names WorkflowPeers.{name}, and there is no such test"
            for name in sorted(documented - written)]


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

    faults += [*worker_faults(page), *workflow_faults(page, tests)]
    nodes = page.partition("\n## Several nodes\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([A-Z]\w*)\.(\w+)`", nodes))
    faults += [f"docs/known-bugs.md names {suite}.{name}, and there is no such test"
               for suite, name in sorted(named - tests)]
    rows = set(re.findall(r"^\| ([LF]\d+) \|", nodes, re.M))
    faults += [f"docs/known-bugs.md has no row {kind}{number}"
               for kind in "LF" for number in range(1, LAST_OF_NODES + 1)
               if f"{kind}{number}" not in rows]

    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
