#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the scripts that turn test results into counts and summaries, on made-up results."""

import pathlib
import re
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
  <testcase name="b" status="fail"><failure message="Timeout"/>
    <system-out>first&#10;last&#10;</system-out></testcase>
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

    def test_counts_and_names_what_did_not_pass_a_missing_program_as_failed(self):
        done = run("count_results.py", self.write("junit.xml", JUNIT))
        self.assertEqual(done.stdout.splitlines(), [
            "failed: b (Timeout)",
            "    | first",
            "    | last",
            "skipped: c (SKIP_REGULAR_EXPRESSION_MATCHED)",
            "failed: d (Unable to find executable)",
            "skipped: e",
            "1 passed, 2 failed, 2 skipped",
        ])
        self.assertEqual(done.returncode, 1)

    def test_shows_the_end_of_long_outputs_and_only_names_when_all_fails(self):
        output = "&#10;".join(f"line {number}" for number in range(100))
        cases = "".join(f'<testcase name="t{number}" status="fail"><failure/>'
                        f"<system-out>{output}</system-out></testcase>" for number in range(50))
        lines = run("count_results.py", self.write("junit.xml", f"<t>{cases}</t>")).stdout.splitlines()
        self.assertEqual(lines[:2], ["failed: t0", "    | line 70"])
        self.assertEqual(lines[30], "    | line 99")
        self.assertEqual(lines[-3:], ["failed: t48", "failed: t49", "0 passed, 50 failed, 0 skipped"])

    def test_no_results_are_a_failure(self):
        done = run("count_results.py", self.folder / "nothing.xml")
        self.assertRegex(done.stdout,
                         r"^failed: no test results: .*\n0 passed, 1 failed, 0 skipped\n$")
        self.assertEqual(done.returncode, 1)

    def test_a_failure_of_ctest_itself_is_counted(self):
        passing = self.write("junit.xml", '<t><testcase name="a" status="run"/></t>')
        done = run("count_results.py", passing, "--ctest-status", "8")
        self.assertEqual(done.stdout,
                         "failed: ctest, which ended with 8 although no test failed\n"
                         "1 passed, 1 failed, 0 skipped\n")

    def stages(self, *lines):
        """What a script ends with that runs these stages: its lines after the stages' own output."""
        script = self.write("stages", "\n".join([
            "set -uo pipefail", f"source '{ROOT}/tools/dev/stages.sh'", *lines, "sum_up"]))
        done = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, re.sub(r"\d+ s\b", "0 s", done.stdout).splitlines()

    def test_stages_end_with_the_names_of_all_that_did_not_pass(self):
        results = self.write("junit.xml", JUNIT)
        count = f"{sys.executable} '{ROOT}/tools/dev/count_results.py' {results}"
        status, lines = self.stages(f"counted one {count}",
                                    "counted two echo '7 passed, 0 failed, 0 skipped'",
                                    "counted broken echo 'cannot build'",
                                    "check style true",
                                    "check format eval 'echo untidy >&2; false'")
        self.assertEqual(status, 1)
        self.assertEqual(lines[lines.index("=== what did not pass"):], [
            "=== what did not pass",
            "failed: b (Timeout)",
            "    | first",
            "    | last",
            "skipped: c (SKIP_REGULAR_EXPRESSION_MATCHED)",
            "failed: d (Unable to find executable)",
            "skipped: e",
            "failed: broken",
            "    | cannot build",
            "failed: format",
            "    | untidy",
            "=== in short",
            "failed: one: b (Timeout)",
            "skipped: one: c (SKIP_REGULAR_EXPRESSION_MATCHED)",
            "failed: one: d (Unable to find executable)",
            "skipped: one: e",
            "failed: broken",
            "failed: format",
            "=== summary, 0 s",
            "one: 1 passed, 2 failed, 2 skipped (0 s)",
            "two: 7 passed, 0 failed, 0 skipped (0 s)",
            "broken: 0 passed, 1 failed, 0 skipped (0 s)",
            "style: passed (0 s)",
            "format: failed (0 s)",
            "9 passed, 4 failed, 2 skipped",
        ])

    def test_stages_that_all_pass_are_only_counted(self):
        status, lines = self.stages("counted one echo '7 passed, 0 failed, 0 skipped'")
        self.assertEqual(status, 0)
        self.assertEqual(lines, [
            "=== one", "7 passed, 0 failed, 0 skipped", "=== summary, 0 s",
            "one: 7 passed, 0 failed, 0 skipped (0 s)", "7 passed, 0 failed, 0 skipped"])


if __name__ == "__main__":
    unittest.main()
