#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants a violation of each rule of source_rules.py into a small tree, and expects to be told."""

import pathlib
import tempfile
import unittest

import source_rules
import walks

LICENCE = "// SPDX-License-Identifier: MIT\n"
# A tree without a violation: two layers, a class, its tests.
CLEAN = {
    "include/weir/task.hpp": LICENCE + "#pragma once\n#include <weir/detail/frame.hpp>\nclass task;\n",
    "include/weir/detail/frame.hpp": LICENCE + "#pragma once\nclass frame;\n",
    "include/weir/flow/pool.hpp": LICENCE + "#pragma once\n#include <weir/task.hpp>\nclass pool;\n",
    "include/weir/flow/flow.hpp": LICENCE + "#pragma once\n#include <weir/flow/pool.hpp>\n",
    "src/core/fiber.hpp": LICENCE + "#pragma once\nclass fiber;\n",
    "src/core/fiber.cpp": LICENCE + '#include "core/fiber.hpp"\nnamespace weir {\n'
                                    "void fiber::run() {}\n}\n",
    "src/flow/pool.cpp": LICENCE + "#include <weir/flow/pool.hpp>\nnamespace weir {\n"
                                   "void pool::close() {}\n}\n",
    "tests/core/task_test.cpp": LICENCE + "TEST(Task, IsLazy) {}\n",
    "tests/flow/pool/pool_test.cpp": LICENCE + "TEST(Pool, Closes) {}\n",
    "docs/page.md": "# A page\n\nShort lines.\n",
}
LONG = "word " * 25


class Planted(unittest.TestCase):
    def found(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**CLEAN, **changes}.items():
                if text is not None:
                    path = root / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            return list(source_rules.violations(root))

    def expect(self, changes, path, line, words):
        found = self.found(changes)
        self.assertEqual([(each[0], each[1]) for each in found], [(path, line)], found)
        self.assertIn(words, found[0][2])

    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual(self.found({}), [])

    def test_a_file_that_is_too_long(self):
        self.expect({"src/flow/pool.cpp": LICENCE + "int x;\n" * 600},
                    "src/flow/pool.cpp", 601, "more than 600")

    def test_a_file_without_licence(self):
        self.expect({"src/flow/new.cpp": "int x;\n"}, "src/flow/new.cpp", 1, "SPDX")

    def test_a_wide_comment(self):
        self.expect({"src/flow/new.cpp": LICENCE + f"    // {LONG}\n"},
                    "src/flow/new.cpp", 2, "more than 100")

    def test_a_wide_line_of_prose(self):
        self.expect({"docs/page.md": LONG + "\n"}, "docs/page.md", 1, "more than 100")

    def test_tables_code_and_links_may_be_wide(self):
        wide = f"| {LONG} |\n\n```\n{LONG}\n```\n\n[a link](https://example.org/{'x' * 100})\n"
        self.assertEqual(self.found({"docs/page.md": wide}), [])

    def test_an_include_that_goes_upwards(self):
        self.expect({"src/core/up.cpp": LICENCE + "#include <weir/flow/pool.hpp>\n"},
                    "src/core/up.cpp", 2, "core must not include")

    def test_a_layer_beside_is_not_below(self):
        self.expect({"src/io/file.cpp": LICENCE + "#include <weir/flow/pool.hpp>\n"},
                    "src/io/file.cpp", 2, "io must not include")

    def test_a_folder_that_is_no_layer(self):
        self.expect({"src/misc/file.cpp": LICENCE}, "src/misc/file.cpp", 1, "no layer 'misc'")

    def test_a_detail_header_of_another_layer(self):
        self.expect({"src/flow/new.cpp": LICENCE + "#include <weir/detail/frame.hpp>\n"},
                    "src/flow/new.cpp", 2, "is private to the layer core")

    def test_a_header_of_another_layers_sources(self):
        self.expect({"src/flow/new.cpp": LICENCE + '#include "core/fiber.hpp"\n'},
                    "src/flow/new.cpp", 2, "is private to the layer core")

    def test_a_private_header_in_include(self):
        self.expect({"include/weir/detail/unused.hpp": LICENCE + "class unused;\n"},
                    "include/weir/detail/unused.hpp", 1, "move it to src/")

    def test_two_headers_of_one_name(self):
        self.expect({"src/flow/pool.hpp": LICENCE + "class idle_list;\n"},
                    "src/flow/pool.hpp", 1, "has another pool.hpp")

    def test_a_class_in_two_files(self):
        self.expect({"src/flow/pool_more.cpp": LICENCE + "namespace weir {\nint pool::size() {\n}\n}\n"},
                    "src/flow/pool_more.cpp", 3, "weir::pool is also defined in src/flow/pool.cpp")

    def test_an_awaitable_without_its_mark(self):
        classes = ("class waiting : public weir::operation {};\n"
                   "class WEIR_MUST_AWAIT marked final : public waiting {};\n"
                   "class silent final\n    : public waiting {\n};\n"
                   "class handle final : public other {};\n")
        self.expect({"include/weir/flow/pool.hpp": LICENCE + classes},
                    "include/weir/flow/pool.hpp", 4, "silent is awaitable")

    def test_a_header_without_test(self):
        self.expect({"tests/flow/pool/pool_test.cpp": None},
                    "include/weir/flow/pool.hpp", 1, "tests/flow/**/pool_test.cpp is missing")

    def test_a_header_with_two_tests(self):
        self.expect({"tests/flow/other/pool_test.cpp": LICENCE + "TEST(Pool, Opens) {}\n"},
                    "tests/flow/pool/pool_test.cpp", 1, "has the same name")

    def test_tests_in_a_file_of_another_name(self):
        self.expect({"tests/flow/pool/more.cpp": LICENCE + "WEIR_TEST(Pool, Waits) {}\n"},
                    "tests/flow/pool/more.cpp", 2, "_test.cpp")


class Walks(unittest.TestCase):
    """docs/design.md with one walk over one file, repeated until there are enough."""

    def found(self, step, limit=1):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "src").mkdir()
            (root / "src/fiber.cpp").write_text("void fiber::run() {}\n", encoding="utf-8")
            walk = f"### Walk: a run (at most {limit} files)\n\n{step}\n\n"
            (root / "docs/design.md").write_text(walk * walks.EXPECTED_WALKS, encoding="utf-8")
            return sorted(set(walks.problems(root)))

    def test_a_true_walk(self):
        self.assertEqual(self.found("1. `src/fiber.cpp`: `fiber::run` runs it."), [])

    def test_a_file_that_is_gone(self):
        self.assertEqual(self.found("1. `src/gone.cpp`: it runs."),
                         ["a run: there is no file src/gone.cpp"])

    def test_a_name_that_is_gone(self):
        self.assertEqual(self.found("1. `src/fiber.cpp`: `fiber::stop` stops it."),
                         ["a run: src/fiber.cpp does not mention stop (fiber::stop)"])

    def test_a_walk_that_is_too_long(self):
        self.assertEqual(self.found("1. `src/fiber.cpp`: `run`.", limit=0),
                         ["a run: 1 files, more than 0"])


if __name__ == "__main__":
    unittest.main()
