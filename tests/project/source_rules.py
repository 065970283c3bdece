#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules that keep the sources readable and the layers apart.

Usage: source_rules.py ROOT. Prints one line per violation, `path:line: what is wrong`, and ends
with 1 if there is one. Each rule is a function in the modules beside this file; source_rules_test.py
plants a violation of each.
"""

import pathlib
import sys

import rules_of_awaitables
import rules_of_files
import rules_of_layers
import rules_of_tests
from source_tree import SourceTree

RULES = [
    rules_of_awaitables.awaitables_are_marked,
    rules_of_files.file_length,
    rules_of_files.licence_line,
    rules_of_files.line_width,
    rules_of_layers.include_direction,
    rules_of_layers.foreign_private_headers,
    rules_of_layers.private_headers_in_include,
    rules_of_layers.unique_header_names,
    rules_of_layers.class_in_one_file,
    rules_of_tests.test_per_public_header,
    rules_of_tests.test_file_names,
]


def violations(root):
    tree = SourceTree(root)
    for rule in RULES:
        yield from rule(tree)


def main():
    found = sorted(set(violations(pathlib.Path(sys.argv[1]).resolve())))
    for path, line, problem in found:
        print(f"{path}:{line}: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
