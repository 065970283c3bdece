#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The metrics of a running service: `promtool check metrics` finds nothing wrong with them, if it is
installed, and the dashboard for Grafana asks for no other ones."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
DASHBOARD = ROOT / "packaging" / "grafana" / "weir.json"
NAME = re.compile(r"\b(?:weir|process)_\w+")


def expressions(node):
    """All queries of the dashboard, those of its variables included."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("expr", "query", "definition") and isinstance(value, str):
                yield value
            yield from expressions(value)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value)


class Metrics(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.service = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--database",
             f"{cls.folder.name}/tasks.db", "--allow-address", "127.0.0.0/8"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(cls.end_service)
        cls.url = re.search(r"http://[\d.:]+", cls.service.stdout.readline())[0]
        # A delivery to this service, so that there is a destination.
        for task in ({"kind": "echo"}, {"kind": "echo", "payload": {"fail": "x"}, "max_attempts": 1},
                     {"kind": "http", "payload": {"url": f"{cls.url}/healthz", "method": "GET"}}):
            answer = json.loads(cls.request("/tasks", task))
            cls.request(f"/tasks/{answer['id']}?wait=20")
        cls.page = cls.request("/metrics")

    @classmethod
    def end_service(cls):
        cls.service.terminate()
        cls.service.stdout.close()
        cls.service.wait(30)

    @classmethod
    def request(cls, path, body=None):
        request = urllib.request.Request(
            cls.url + path, json.dumps(body).encode() if body else None,
            {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def exported(self):
        """The names of all samples."""
        return {re.match(r"\w+", line)[0] for line in self.page.splitlines() if line[0] != "#"}

    def test_promtool_finds_nothing_wrong(self):
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("promtool is not installed (Debian: apt install prometheus)")
        done = subprocess.run([promtool, "check", "metrics"], input=self.page, text=True,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_dashboard_asks_for_metrics_that_exist(self):
        dashboard = json.loads(DASHBOARD.read_text())
        wanted = {name for text in expressions(dashboard) for name in NAME.findall(text)}
        self.assertGreater(len(wanted), 20)
        self.assertEqual(wanted - self.exported(), set())

    def test_the_dashboard_has_all_that_grafana_needs(self):
        dashboard = json.loads(DASHBOARD.read_text())
        panels = dashboard["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        known = {each["name"] for each in dashboard["templating"]["list"]}
        for panel in panels:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            for target in panel.get("targets", []):
                used = set(re.findall(r"\$(?!__)(\w+)", target["expr"]))
                self.assertLessEqual(used, known, target["expr"])
                self.assertEqual(target["expr"].count("("), target["expr"].count(")"))

    def test_a_long_poll_waits(self):
        answer = json.loads(self.request("/tasks", {"kind": "sleep", "payload": {"seconds": 1}}))
        begun = time.monotonic()
        task = json.loads(self.request(f"/tasks/{answer['id']}?wait=30"))
        self.assertEqual(task["state"], "completed")
        self.assertLess(time.monotonic() - begun, 15)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
