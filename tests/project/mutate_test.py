#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev mutate: which faults it finds in a source, and whether it tells those that a test sees from
those that none sees, on a made-up library with a made-up test program."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tools/dev/mutate"))

import recording  # noqa: E402
import report  # noqa: E402
import sandbox  # noqa: E402
import selection  # noqa: E402
import test_cases  # noqa: E402
import trial  # noqa: E402
from accepted import Accepted, AcceptedError, identity  # noqa: E402
from faulty_build import FaultyBuild  # noqa: E402

LIBRARY = """\
#include "thing.hpp"
namespace {
constexpr int limit(int a) { if (a < 3) { return 3; } return a; }
}  // namespace
int calls = 0;
int clamped(int value, int highest) {
    ++calls;
    if (value > highest && highest > 0) {  // a comment, with a "quote
        return highest;
    }
    if constexpr (limit(2) < 4) {
        static const int offset = 0;
        value += offset;
    }
    auto twice = [&](int x) { return x + x; };
    const int result = twice(value) - value;
    return result;
}
int difference(int a, int b) { return a - b; }
int swapped_call() { return difference(5, 3); }
void spin(bool is_going) {
    while (is_going) {
        is_going = false;
    }
}
void unreached() { calls = 7; }
"""
HEADER = "int clamped(int, int);\nint swapped_call();\nvoid spin(bool);\nextern int calls;\n"
TESTS = """\
#include "thing.hpp"
#include <cstdio>
#include <cstring>
int main(int count, char** words) {
    if (std::strcmp(words[count - 1], "--gtest_list_tests") == 0) {
        std::puts("Thing.\\n  Clamps\\n  Spins\\n  Fails\\n  Swaps");
        return 0;
    }
    const char* name = std::strchr(words[1], '=') + 1;
    if (std::strcmp(name, "Thing.Clamps") == 0) {
        return clamped(5, 3) == 3 && clamped(2, 3) == 2 ? 0 : 1;
    }
    if (std::strcmp(name, "Thing.Swaps") == 0) {
        return swapped_call() == 2 ? 0 : 1;
    }
    if (std::strcmp(name, "Thing.Spins") == 0) {
        spin(true);
        return 0;
    }
    return 1;
}
"""
NINJA = """\
rule CXX_EXECUTABLE_LINKER__weir_core_tests
  command = : && g++ tests.o -o $out libweir_core.a && :
rule CXX
  command = g++ -I../src/core -c $in -o $out
rule AR
  command = ar qc $out $in
build tests.o: CXX ../tests.cpp
build thing.cpp.o: CXX ../src/core/thing.cpp
build libweir_core.a: AR thing.cpp.o
build tests/weir_core_tests: CXX_EXECUTABLE_LINKER__weir_core_tests tests.o | libweir_core.a
"""


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "src/core").mkdir(parents=True)


class Sources(Tree):
    def changes(self, text):
        (self.root / "src/core/thing.cpp").write_text(text, encoding="utf-8")
        (source,) = selection.sources_in(self.root, ["src/core"])
        return [fault.change for fault in source.faults]

    def in_function(self, body):
        return self.changes(f"void f() {{\n{body}\n}}\n")

    def test_negates_conditions_and_forgets_operands(self):
        self.assertEqual(self.in_function("if (a && !b) { return; }"), [
            "negate `a && !b`", "`a && !b` to `true && !b`", "`a && !b` to `a && true`",
            "`a && !b` to `a && b`"])
        self.assertIn("negate `it != end`",
                      self.in_function("if (auto it = find(); it != end) { return; }"))
        self.assertIn("negate `i < 3`", self.in_function("for (int i = 0; i < 3; ++i) {}"))

    def test_drops_statements_but_no_declarations(self):
        self.assertEqual(self.in_function("std::vector<int> all(3);\nthing* x;\nfoo& y = z;"), [])
        self.assertEqual(self.in_function("all.clear();\n*x = y;\nco_await sleep();"), [
            "drop `all.clear();`", "drop `*x = y;`", "drop `co_await sleep();`"])

    def test_drops_jumps_only_where_code_follows(self):
        self.assertEqual(self.in_function("if (a) { throw b(); }\nc();"),
                         ["negate `a`", "drop `throw b();`", "drop `c();`"])
        self.assertEqual(self.in_function("throw b();"), [])
        self.assertEqual(self.in_function("if (a) { throw b(); }"), ["negate `a`"])

    def test_shifts_bounds(self):
        self.assertEqual(self.in_function("return a < 10ms;"), [
            "`return a < 10ms;` to `return a <= 10ms;`", "`return a < 10ms;` to `return a < 11ms;`"])
        self.assertEqual(self.in_function("int x = std::min(a, b);"), [
            "`std::min(a, b)` to `std::max(a, b)`"])
        self.assertEqual(self.in_function("int x = std::max<int>(a, b);"), [
            "`std::max<int>(a,` to `std::min<int>(a,`"])

    def test_leaves_out_what_the_compiler_evaluates(self):
        self.assertEqual(self.changes("constexpr int f(int a) { if (a < 3) { g(); } return 1; }"), [])
        self.assertEqual(self.in_function("static const int x = y + 1;\nstatic_assert(a < b);"), [])
        self.assertEqual(self.in_function("if constexpr (a < b) {}"), [])
        self.assertEqual(self.changes("#define X(a) if (a < 3) { f(1, 2); }\n"), [])

    def test_leaves_co_await_out_of_conditions(self):
        self.assertEqual(self.in_function("bool x = co_await f(a, b);"), [])
        self.assertEqual(self.in_function("x = co_await f(a, b);"),
                         ["drop `x = co_await f(a, b);`",
                          "`x = co_await f(a, b);` to `x = co_await f(b, a);`"])

    def test_goes_into_lambdas_and_members(self):
        self.assertEqual(self.in_function("run([&](int x) { y = x; });"),
                         ["drop `y = x;`", "drop `run([&](int x) { y = x; });`"])
        self.assertEqual(self.changes("thing::thing(int a) : a_{a}, b_(f(1, 2)) { start(); }"),
                         ["drop `start();`"])
        self.assertEqual(self.changes("struct thing { int f() const { return a == b; } };"),
                         ["`return a == b;` to `return a != b;`"])


class AcceptedFaults(Tree):
    def fault(self):
        (self.root / "src/core/thing.cpp").write_text("void f() { g(); }", encoding="utf-8")
        (source,) = selection.sources_in(self.root, ["src/core"])
        return source.faults[0]

    def test_by_name_and_by_pattern(self):
        fault = self.fault()
        self.assertEqual(identity(fault), "src/core/thing.cpp f: drop `g();`")
        self.assertTrue(Accepted(f"{identity(fault)}\n    A reason.\n").covers(fault))
        self.assertTrue(Accepted("like: drop `g\\(\n    A reason.\n").covers(fault))
        self.assertFalse(Accepted("like: drop `h\\(\n    A reason.\n").covers(fault))

    def test_needs_a_reason_and_a_fault(self):
        with self.assertRaises(AcceptedError):
            Accepted("src/core/thing.cpp f: drop `g();`\n")
        other = "src/core/thing.cpp f: drop `h();`"
        self.assertEqual(Accepted(f"{other}\n    A reason.\n").stale([self.fault()],
                                                                   {"src/core/thing.cpp"}), [other])

    def test_the_list_can_be_read(self):
        self.assertTrue(Accepted.read().patterns)


class Choice(Tree):
    def faults(self, text):
        (self.root / "src/core/thing.cpp").write_text(text, encoding="utf-8")
        (source,) = selection.sources_in(self.root, ["src/core"])
        return source.faults

    def test_a_seed_keeps_its_choice_when_faults_are_accepted(self):
        faults = self.faults("void f() {\n" + "".join(f"g{i}();\n" for i in range(50)) + "}\n")
        before = [identity(each) for each in selection.choose(faults, 20, 1)["dropped"]]
        left = [each for each in faults if identity(each) != before[0]]
        after = [identity(each) for each in selection.choose(left, 20, 1)["dropped"]]
        self.assertEqual(after[:-1], before[1:])
        other = [identity(each) for each in selection.choose(faults, 20, 2)["dropped"]]
        self.assertNotEqual(other, before)

    def test_areas_take_turns_the_nearest_more_often(self):
        (fault,) = self.faults("void f() { g(); }")
        cases = [test_cases.TestCase(area, f"{place}", "", "", float(place), frozenset())
                 for area in ("core_loop", "io_net") for place in range(4)]
        order = [(case.area, case.name) for case in trial.in_order(fault, cases)]
        self.assertEqual(order[:4], [("core_loop", "0"), ("core_loop", "1"), ("io_net", "0"),
                                     ("core_loop", "2")])
        self.assertEqual(len(order), 8)


class Run(Tree):
    def setUp(self):
        super().setUp()
        if not sandbox.is_available():
            self.skipTest("unshare --pid does not work here")
        (self.root / "src/core/thing.cpp").write_text(LIBRARY, encoding="utf-8")
        (self.root / "src/core/thing.hpp").write_text(HEADER, encoding="utf-8")
        (self.root / "tests.cpp").write_text(TESTS, encoding="utf-8")
        self.build = self.root / "build"
        (self.build / "tests").mkdir(parents=True)
        (self.build / "build.ninja").write_text(NINJA, encoding="utf-8")
        (self.build / "test_targets.txt").write_text(
            f"program\tcore.\tweir_core_tests\t{self.root}/tests.cpp\n", encoding="utf-8")
        source = str(self.root / "src/core/thing.cpp")
        (self.build / "compile_commands.json").write_text(json.dumps([{
            "directory": str(self.build), "file": source,
            "command": f"g++ -std=c++20 -I../src/core -o CMakeFiles/weir_core.dir/thing.cpp.o"
                       f" -c {source}"}]), encoding="utf-8")
        subprocess.run(["ninja", "-C", str(self.build)], check=True, capture_output=True)

    def test_tells_seen_faults_from_survivors(self):
        sources = list(selection.sources_in(self.root, ["src/core"]))
        faults = dict(enumerate(sources[0].faults, 1))
        build = FaultyBuild(self.root, self.build, self.build / "mutate", sources, dict(faults), 2)
        build.compile()
        tried = build.faults
        (area, path), = test_cases.programs(self.build).items()
        linked = build.link([path])
        cases, failed = recording.record(list(test_cases.cases_in(area, linked[path], self.build)),
                                         set(tried), 2, lambda done: None)
        self.assertEqual({case.name for case in cases},
                         {"Thing.Clamps", "Thing.Spins", "Thing.Swaps"})
        self.assertEqual([case.name for case in failed], ["Thing.Fails"])
        outcomes = {outcome.fault.change: outcome
                    for outcome in trial.try_all(tried, cases, 2, lambda *done: None)}
        seen = {change: outcome.seen_by for change, outcome in outcomes.items() if outcome.seen_by}
        self.assertEqual(seen["negate `value > highest && highest > 0`"], "core.Thing.Clamps")
        self.assertEqual(seen["`return difference(5, 3);` to `return difference(3, 5);`"],
                         "core.Thing.Swaps")
        self.assertEqual(seen["drop `is_going = false;`"], "core.Thing.Spins")  # it hangs
        survivors = {change: outcome.reaching for change, outcome in outcomes.items()
                     if not outcome.seen_by}
        self.assertEqual(survivors["drop `++calls;`"], 1)
        self.assertEqual(survivors["`value > highest && highest > 0` to `value > highest && true`"], 1)
        self.assertEqual(survivors["drop `calls = 7;`"], 0)
        lines = list(report.lines(list(outcomes.values())))
        self.assertIn(f"{len(seen)} of {len(outcomes)} faults seen", lines[-1])
        self.assertIn("src/core/thing.cpp:7 clamped: drop `++calls;`\n    fault 1: 1 of 1 tests that"
                      " reach it ran", lines)

    def test_gives_up_faults_that_do_not_compile(self):
        text = LIBRARY + "int length(const char* a, int b) { return b + (a != nullptr); }\n" \
                         "int four() { return length(\"abc\", 3); }\n"
        (self.root / "src/core/thing.cpp").write_text(text, encoding="utf-8")
        sources = list(selection.sources_in(self.root, ["src/core"]))
        faults = dict(enumerate(sources[0].faults, 1))
        build = FaultyBuild(self.root, self.build, self.build / "mutate", sources, dict(faults), 2)
        build.compile()
        gone = [fault.change for number, fault in faults.items() if number not in build.faults]
        self.assertEqual(gone, ["`return length(\"abc\", 3);` to `return length(3, \"abc\");`"])


if __name__ == "__main__":
    unittest.main()
