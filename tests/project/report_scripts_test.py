#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the scripts that turn test results into counts, on made-up results."""

import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()

# Stands in for a GoogleTest program: lists tests, and writes the report that a real one would.
PROGRAM = '''\
#!/usr/bin/env python3
import json, os, sys
options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
results = {
    "AA_01": {"result": "COMPLETED"},
    "AA_02": {"result": "COMPLETED", "deviates": "on purpose"},
    "AA_03": {"result": "COMPLETED", "not-applicable": "no such thing"},
    "AA_04": {"result": "COMPLETED", "deviates": "so what", "failures": [{"failure": "1 != 2"}]},
    "AA_05": None,
    "AA_06_one": {"result": "COMPLETED"},
    "AA_06_two": {"result": "COMPLETED", "failures": [{"failure": "3 != 4"}]},
    "AA_07": {"result": "SKIPPED"},
    "AA_08": {"result": "COMPLETED", "deviates": ""},
}
if "gtest_list_tests" in options:
    print("Semantics.", *results, sep="\\n  ")
    sys.exit(0)
names = [name.split(".")[1] for name in options["gtest_filter"].split(":")]
if None in [results[name] for name in names]:
    os.abort()
report = {"testsuites": [{"testsuite": [results[name] for name in names]}]}
open(options["gtest_output"].partition(":")[2], "w").write(json.dumps(report))
sys.exit(any("failures" in results[name] for name in names))
'''

JUNIT = '''\
<testsuite>
  <testcase name="a" status="run"/>
  <testcase name="b" status="fail"><failure message="x"/></testcase>
  <testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
  <testcase name="d" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="e" status="disabled"/>
</testsuite>
'''


def run(script, *arguments):
    return subprocess.run([sys.executable, ROOT / "tools/dev" / script, *arguments],
                          capture_output=True, text=True, check=False)


class Reports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        path.chmod(0o755)
        return path

    def semantics(self, ids):
        return run("semantics_report.py", "--program", self.write("program", PROGRAM),
                   "--ids", self.write("ids.txt", "\n".join(ids)))

    def test_says_what_became_of_each_id(self):
        done = self.semantics([f"AA-0{number}" for number in range(1, 10)])
        self.assertEqual(done.stdout.splitlines(), [
            "AA-01 passed",
            "AA-02 deviates: on purpose",
            "AA-03 not-applicable: no such thing",
            "AA-04 failed",
            "AA-05 failed",
            "AA-06 failed",
            "AA-07 failed",
            "AA-08 failed",
            "AA-09 missing",
            "9 ids: 1 passed, 1 deviates, 1 not-applicable, 5 failed, 1 missing",
        ])
        self.assertEqual(done.returncode, 1)

    def test_deviations_with_reasons_are_no_failure(self):
        self.assertEqual(self.semantics(["AA-01", "AA-02", "AA-03"]).returncode, 0)

    def test_a_missing_id_is_a_failure(self):
        self.assertEqual(self.semantics(["AA-01", "ZZ-99"]).returncode, 1)

    def test_counts_a_missing_program_as_failed(self):
        done = run("count_results.py", self.write("junit.xml", JUNIT))
        self.assertEqual(done.stdout, "1 passed, 2 failed, 2 skipped\n")
        self.assertEqual(done.returncode, 1)

    def test_no_results_are_a_failure(self):
        done = run("count_results.py", self.folder / "nothing.xml")
        self.assertEqual(done.stdout, "0 passed, 1 failed, 0 skipped\n")
        self.assertEqual(done.returncode, 1)

    def test_a_failure_of_ctest_itself_is_counted(self):
        passing = self.write("junit.xml", '<t><testcase name="a" status="run"/></t>')
        done = run("count_results.py", passing, "--ctest-status", "8")
        self.assertEqual(done.stdout, "1 passed, 1 failed, 0 skipped\n")


if __name__ == "__main__":
    unittest.main()
