#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints 'N passed, N failed, N skipped' from a JUnit file of ctest's; fails unless all is well.

Counts test by test: ctest's own totals count a test whose program is missing as skipped, and it is
not. No file, or no test at all, is one failure: nothing was shown to work. So is a ctest that failed
although no test did, such as one that could not ask a program for its tests.
"""

import argparse
import sys
import xml.etree.ElementTree as xml


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="the JUnit file")
    parser.add_argument("--ctest-status", type=int, default=0, help="what ctest ended with")
    arguments = parser.parse_args()

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        cases = xml.parse(arguments.results).getroot().iter("testcase")
    except (OSError, xml.ParseError) as error:
        print(f"no test results: {error}", file=sys.stderr)
        cases = []
    for case in cases:
        counts[verdict(case)] += 1
    if not any(counts.values()) or (arguments.ctest_status and not counts["failed"]):
        counts["failed"] = 1
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
