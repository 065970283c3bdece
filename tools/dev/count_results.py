#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints 'N passed, N failed, N skipped' from JUnit files of ctest; fails unless all tests passed.

Before that line it lists the tests that did not pass, 'failed: NAME' or 'skipped: NAME', each with the
last lines of its output, marked by a bar.

It counts test by test, since ctest's own totals count a test whose program is missing as skipped. A
missing file or one without tests counts as one failure. So does a ctest that failed although no test
did, for example because it could not list the tests of a program.
"""

import argparse
import sys
import xml.etree.ElementTree as xml

LINES_SHOWN = 30
TESTS_SHOWN = 20  # with their output; when everything fails, the names are enough


def verdict(case):
    """One of passed, failed, skipped for a <testcase> element."""
    status = case.get("status")
    if status == "run":
        return "passed"
    if status == "disabled":
        return "skipped"
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped"
    return "failed"


def reason(case):
    """The reason of ctest for a test that did not pass, such as 'Timeout'; often empty."""
    for kind in ("failure", "skipped", "error"):
        element = case.find(kind)
        if element is not None and element.get("message"):
            return f" ({element.get('message')})"
    return ""


def once(cases):
    """One case per test: a fixture runs again in each run of ctest that needs it, and has failed if
    it failed once."""
    by_name = {}
    for case in cases:
        before = by_name.get(case.get("name"))
        if before is None or verdict(before) != "failed":
            by_name[case.get("name")] = case
    return list(by_name.values())


def describe(cases):
    """Lines that name the tests of cases that did not pass."""
    lines = []
    shown = 0
    for case in cases:
        if verdict(case) == "passed":
            continue
        lines.append(f"{verdict(case)}: {case.get('name')}{reason(case)}")
        if shown < TESTS_SHOWN:
            output = (case.findtext("system-out") or "").rstrip().splitlines()
            lines += [f"    | {line}".rstrip() for line in output[-LINES_SHOWN:]]
            shown += 1
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", help="JUnit files, one per run of ctest")
    parser.add_argument("--ctest-status", type=int, default=0, help="what ctest ended with")
    arguments = parser.parse_args()

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    cases = []
    troubles = []
    for path in arguments.results:
        try:
            found = list(xml.parse(path).getroot().iter("testcase"))
        except (OSError, xml.ParseError) as error:
            troubles.append(f"no test results: {error}")
            continue
        if not found:
            troubles.append("no test was run")
        cases += found
    cases = once(cases)
    for case in cases:
        counts[verdict(case)] += 1
    for line in describe(cases):
        print(line)
    for trouble in troubles:
        print(f"failed: {trouble}")
        counts["failed"] += 1
    if arguments.ctest_status and not counts["failed"]:
        print(f"failed: ctest, which ended with {arguments.ctest_status} although no test failed")
        counts["failed"] = 1
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
