# SPDX-License-Identifier: MIT
"""Rules about tests: each public header has the test file that a reader looks for."""

import os
import re

from source_tree import is_public

TESTS = re.compile(r"^(WEIR_)?TEST\w*\(", re.M)


def test_folder(header):
    """Where the tests of a header are: of weir/io/tcp.hpp in tests/io, of weir/task.hpp in tests/core."""
    folder = os.path.dirname(header.removeprefix("include/weir/"))
    return f"tests/{folder or 'core'}"


def namesakes(tree, header):
    """Folders with tests of deeper headers of that name: of weir/db/rows.hpp, tests/db/pg/."""
    for other in tree.cpp("include"):
        if other != header and os.path.basename(other) == os.path.basename(header):
            if test_folder(other).startswith(test_folder(header) + "/"):
                yield test_folder(other) + "/"


def is_umbrella(tree, header):
    """It has nothing but includes of its own layer."""
    code = [line for line in tree.lines(header)
            if line.strip() and not line.startswith(("//", "#pragma", "#include"))]
    return not code


def test_per_public_header(tree):
    tests = [path for path in tree.cpp("tests") if path.endswith("_test.cpp")]
    for header in tree.cpp("include"):
        if not is_public(header) or is_umbrella(tree, header):
            continue
        folder, name = test_folder(header), os.path.basename(header).removesuffix(".hpp")
        found = [path for path in tests
                 if path.startswith(folder + "/") and path.endswith(f"/{name}_test.cpp")
                 and not path.startswith(tuple(namesakes(tree, header)))]
        if not found:
            yield header, 1, f"no test: {folder}/**/{name}_test.cpp is missing"
        elif len(found) > 1:
            yield found[1], 1, f"{found[0]} has the same name: which one tests {header}?"


def test_file_names(tree):
    """What has tests is named *_test.cpp; semantics are named by the section of the rules."""
    for path in tree.cpp("tests"):
        if path.endswith(".cpp") and not path.endswith("_test.cpp") and "/semantics/" not in path:
            for number, line in enumerate(tree.lines(path), 1):
                if TESTS.match(line):
                    yield path, number, "a file with tests is named <what it tests>_test.cpp"
                    break
