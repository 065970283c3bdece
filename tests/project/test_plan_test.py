#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The order of the tests of ./dev test and what is built for them, on made-up builds and results."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tools/dev"))

from changed_areas import Areas  # noqa: E402
from test_targets import Table  # noqa: E402

AREAS = ("io/net", "io/tls", "service/api", "service/store", "http/url", "sync", "core/loop", "base")
SOURCES = {
    "service/store": "WEIR_STORE_TEST(Stores, Keep) {}\nconst char* names[] = {\"on_sqlite\"};\n",
    "http/url": "TEST(Url,\n     Parses) {}\n",
    "io/net": "WEIR_IO_TEST(Socket, Reads) {}\n",
}


class Plans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.build = self.root / "build"
        self.build.mkdir()
        lines = ["other\texample.echo\texample_echo", "other\tproject.", "other\thttp_url.rules."]
        for folder_name in AREAS:
            area = folder_name.replace("/", "_")
            source = self.root / "tests" / folder_name / f"{area.split('_')[-1]}_test.cpp"
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(SOURCES.get(folder_name, f"TEST({area}, Works) {{}}\n"),
                              encoding="utf-8")
            lines.append(f"program\t{area}.\tweir_{area}_tests\t{source}")
        (self.build / "test_targets.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.names = ["example.echo", "project.dev", "io_net.Socket.Reads_on_epoll",
                      "io_tls.io_tls.Works", "sync.sync.Works"]

    def matching(self, regex, listed=()):
        return Table(self.build).targets_matching(regex, listed)

    def test_builds_what_can_match(self):
        self.assertEqual(self.matching("service_"),
                         ["weir_service_api_tests", "weir_service_store_tests"])
        self.assertEqual(self.matching("^io_net"), ["weir_io_net_tests"])
        self.assertEqual(self.matching("Reads_on_uring$"), ["weir_io_net_tests"])
        self.assertEqual(self.matching(r"\.Parses"), ["weir_http_url_tests"])
        # The name of a parameter, which stands in the source.
        self.assertEqual(self.matching("sqlite"), ["weir_service_store_tests"])
        # Tests that ctest knows without a build.
        self.assertEqual(self.matching("echo", ["example.echo"]), ["example_echo"])
        self.assertEqual(self.matching("^project", ["project.dev"]), [])
        self.assertEqual(self.matching("rules", ["http_url.rules.one"]), [])
        self.assertEqual(self.matching("_tests", ["weir_io_net_tests_NOT_BUILT"]), [])

    def test_builds_everything_in_doubt(self):
        self.assertEqual(self.matching("no_such_test"), ["all"])
        self.assertEqual(self.matching("(unclosed"), ["all"])
        self.assertEqual(self.matching("new", ["packaging.new"]), ["all"])

    def test_a_source_that_the_build_makes_can_match(self):
        (self.root / "tests/sync/sync_test.cpp").unlink()
        self.assertIn("weir_sync_tests", self.matching("service_"))

    def test_knows_what_a_change_is_closest_to(self):
        areas = Areas(self.root, Table(self.build))
        for path, expected in {
                "src/io/net/socket.cpp": {"io_net"},
                "src/io/driver/uring.cpp": {"io_net", "io_tls"},
                "src/service/store/sqlite/file.cpp": {"service_store"},
                "src/io/net/tls.cpp": {"io_net", "io_tls"},
                "src/core/sync/mutex.cpp": {"sync"},
                "src/core/runtime/fiber.cpp": {"core_loop"},
                "include/weir/http/url.hpp": {"http_url"},
                "include/weir/io/detail/other.hpp": {"io_net", "io_tls"},
                "include/weir/task.hpp": {"core_loop"},
                "tests/io/net/net_test.cpp": {"io_net"},
                "tests/io/common.hpp": {"io_net", "io_tls"},
                "tests/support/io.hpp": {area.replace("/", "_") for area in AREAS},
                "src/program/program.cpp": {"service_program", "program"},
                "tools/weir/main.cpp": {"service_program", "service_dashboard"},
                "tools/dev/test.sh": {"project"},
                "dev": {"project"},
                "docs/tour.md": {"docs"},
                "bench/run.py": set(),
        }.items():
            self.assertEqual(areas.of(path), expected, path)

    def plan(self, *words):
        # The script works on the tree that it lies in.
        script = self.root / "tools/dev"
        if not script.exists():
            script.mkdir(parents=True)
            for source in (ROOT / "tools/dev").glob("*.py"):
                (script / source.name).write_bytes(source.read_bytes())
            self.settle(script)
        done = subprocess.run([sys.executable, "-B", script / "test_plan.py", *map(str, words)],
                              capture_output=True, text=True, check=True)
        return done.stdout.strip()

    @staticmethod
    def settle(folder, time=1000):
        """All files below the folder were changed at that time."""
        for path in [*folder.rglob("*"), folder]:
            os.utime(path, (time, time))

    def listing(self):
        path = self.root / "list.txt"
        path.write_text("Test project\n" + "".join(
            f"  Test  #{number}: {name}\n" for number, name in enumerate(self.names, 301)) +
            "\nTotal Tests: 5\n", encoding="utf-8")
        return path

    def results(self, name, **statuses):
        path = self.root / name
        path.write_text("<testsuite>" + "".join(
            f'<testcase name="{test}" time="2" status="{statuses.get(test.partition(".")[0], "run")}"/>'
            for test in self.names) + "</testsuite>", encoding="utf-8")
        return path

    def stage(self, which, *done):
        words = self.plan("stage", self.build, self.listing(), 2, which, *done)
        if not words:
            return "", []
        numbers = (self.build / "test_stage.txt").read_text(encoding="utf-8").strip().split(",")
        return words, [self.names[int(number) - 1] for number in numbers[3:]]

    def test_without_a_history_there_is_one_stage(self):
        self.assertEqual(self.plan("first", self.build, self.listing()), "")
        self.assertEqual(self.stage("failed"), ("", []))
        self.assertEqual(self.stage("affected"), ("", []))
        self.assertEqual(self.stage("rest"), ("5 tests", self.names))

    def test_failed_then_affected_then_the_rest(self):
        self.settle(self.root / "tests")
        self.plan("record", self.build, 2000, self.results("a.xml", io_tls="fail"))
        self.assertEqual(self.plan("first", self.build, self.listing()), "weir_io_tls_tests")
        self.settle(self.root / "tests/io/net", 3000)
        self.settle(self.root / "tests/io/tls", 3000)
        self.assertEqual(self.plan("first", self.build, self.listing()),
                         "weir_io_net_tests weir_io_tls_tests")
        self.assertEqual(self.stage("failed"),
                         ("1 test that failed last time, about 2 s", ["io_tls.io_tls.Works"]))
        self.assertEqual(self.stage("affected"), ("1 test closest to the changes, about 2 s",
                                                  ["io_net.Socket.Reads_on_epoll"]))
        done = self.root / "done.xml"
        done.write_text('<testsuite><testcase name="io_tls.io_tls.Works" status="run"/>'
                        '<testcase name="io_net.Socket.Reads_on_epoll" status="run"/></testsuite>',
                        encoding="utf-8")
        self.assertEqual(self.stage("rest", done), ("3 tests that remain, about 3 s", [
            "example.echo", "project.dev", "sync.sync.Works"]))
        # A test that has passed since is not affected any more.
        self.plan("record", self.build, 4000, done)
        self.assertEqual(self.plan("first", self.build, self.listing()), "")

    def test_those_that_need_everything_hold_up_no_others(self):
        self.names = ["consumer.installed", "io_tls.io_tls.Works", "sync.sync.Works"]
        self.settle(self.root / "tests")
        self.plan("record", self.build, 2000,
                  self.results("a.xml", consumer="fail", io_tls="fail"))
        self.assertEqual(self.plan("first", self.build, self.listing()), "weir_io_tls_tests")
        self.assertEqual(self.stage("failed")[1], ["io_tls.io_tls.Works"])
        self.assertEqual(self.stage("rest")[1], self.names)

    def test_programs_that_are_not_built_count_only_where_everything_is(self):
        self.names = ["weir_io_net_tests_NOT_BUILT", "sync.sync.Works"]
        self.assertEqual(self.stage("matching")[1], ["sync.sync.Works"])
        self.assertEqual(self.stage("rest")[1], self.names)


if __name__ == "__main__":
    unittest.main()
