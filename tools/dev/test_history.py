# SPDX-License-Identifier: MIT
"""What became of each test when it last ran: kept in the build folder, by name."""

import json
import pathlib

FILE = "test_history.json"


class History:
    """Of each test: 'failed'; 'passed_at', when the run began in which it last passed (0: never);
    'seconds', how long it took."""

    def __init__(self, build):
        self.path = pathlib.Path(build) / FILE
        try:
            self.tests = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.tests = {}

    def record(self, name, verdict, seconds, started):
        if verdict == "skipped":
            verdict = "passed"  # nothing to repeat first
        before = self.tests.get(name, {})
        self.tests[name] = {
            "failed": verdict == "failed",
            "passed_at": started if verdict == "passed" else before.get("passed_at", 0),
            "seconds": round(seconds, 3),
        }

    def save(self):
        scratch = self.path.with_suffix(".new")
        scratch.write_text(json.dumps(self.tests, indent=0, sort_keys=True), encoding="utf-8")
        scratch.replace(self.path)

    def has_failed(self, name):
        return self.tests.get(name, {}).get("failed", False)

    def passed_at(self, name):
        return self.tests.get(name, {}).get("passed_at", 0)

    def seconds(self, names, jobs):
        """How long they will take, from their last times; None if most of them never ran."""
        known = [self.tests[name]["seconds"] for name in names if name in self.tests]
        if len(known) * 2 <= len(names):
            return None
        total = sum(known) * len(names) / len(known)
        return max(total / jobs, max(known))
