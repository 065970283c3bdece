#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the semantics tests and prints the result of each id, then the counts.

The test of id XX-00 is Semantics.XX_00, or several named Semantics.XX_00_something. One that holds
in another sense than asyncio's, or not at all, records that with RecordProperty("deviates", why)
or RecordProperty("not-applicable", why). Each id runs in a process of its own, so that a crash costs
one id and not the report. An id without a test is missing, which fails like a failed one.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import semantics_page

SUITE = "Semantics"
EXCUSES = ("deviates", "not-applicable")
VERDICTS = ("passed", *EXCUSES, "failed", "missing")

Verdict = collections.namedtuple("Verdict", "kind reason details", defaults=("", ""))


def read_ids(path):
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def list_tests(program):
    """The names of the suite's tests, by id."""
    listing = subprocess.run([program, f"--gtest_filter={SUITE}.*", "--gtest_list_tests"],
                             capture_output=True, text=True, check=True).stdout
    tests = collections.defaultdict(list)
    for line in listing.splitlines():
        name = re.match(r"  (([A-Z]+)_(\d+)(?:_\w+)?)\b", line)
        if name:
            tests[f"{name[2]}-{name[3]}"].append(name[1])
    return tests


def judge(results):
    """The verdict on one id, from the result of each of its tests."""
    details = "\n".join(failure["failure"] for result in results
                        for failure in result.get("failures", []))
    if details:
        return Verdict("failed", details=details)
    if any(result["result"] != "COMPLETED" for result in results):
        return Verdict("failed", details="skipped, so nothing was shown")
    for excuse in EXCUSES:
        reasons = [result[excuse] for result in results if excuse in result]
        if any(reasons):
            return Verdict(excuse, "; ".join(filter(None, reasons)))
        if reasons:
            return Verdict("failed", details=f"{excuse}, but without a reason")
    return Verdict("passed")


def run_id(program, names, timeout):
    selected = ":".join(f"{SUITE}.{name}" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        try:
            done = subprocess.run(
                [program, f"--gtest_filter={selected}", f"--gtest_output=json:{report}"],
                capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return Verdict("failed", details=f"did not end within {timeout} s")
        if not report.exists():
            return Verdict("failed", details=f"ended with {done.returncode}\n{done.stderr}")
        suites = json.loads(report.read_text(encoding="utf-8"))["testsuites"]
    verdict = judge([test for suite in suites for test in suite["testsuite"]])
    if done.returncode != 0 and verdict.kind != "failed":
        # Such as a sanitizer's report after the last test.
        return Verdict("failed", details=f"ended with {done.returncode}\n{done.stderr}")
    return verdict


def judge_all(program, ids, jobs, timeout):
    tests = list_tests(program)
    for unknown in sorted(tests.keys() - set(ids)):
        if unknown.startswith("U-"):
            continue  # a choice of our own where asyncio is silent: tested, but no rule of its
        print(f"note: {unknown} has a test but is not a known id", file=sys.stderr)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {name: pool.submit(run_id, program, tests[name], timeout)
                   for name in ids if name in tests}
        for name in ids:
            yield name, running[name].result() if name in running else Verdict("missing")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--ids", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for each id")
    parser.add_argument("--markdown", action="store_true",
                        help="also write the results into docs/semantics.md")
    arguments = parser.parse_args()

    verdicts = {}
    ids = read_ids(arguments.ids)
    for name, verdict in judge_all(arguments.program, ids, arguments.jobs, arguments.timeout):
        verdicts[name] = verdict
        print(f"{name} {verdict.kind}" + (f": {verdict.reason}" if verdict.reason else ""),
              flush=True)
        if verdict.details:
            print("    " + verdict.details.strip().replace("\n", "\n    "), file=sys.stderr)
    counts = collections.Counter(verdict.kind for verdict in verdicts.values())
    if arguments.markdown:
        semantics_page.update(verdicts)
    print(f"{len(ids)} ids: " + ", ".join(f"{counts[kind]} {kind}" for kind in VERDICTS))
    return 1 if counts["failed"] or counts["missing"] else 0


if __name__ == "__main__":
    sys.exit(main())
