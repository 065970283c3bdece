# SPDX-License-Identifier: MIT
"""Rules that look at one file at a time: its length, its licence line, the width of its lines."""

import re

MOST_LINES = 600
WIDTH = 100


def file_length(tree):
    for path in tree.files:
        count = len(tree.lines(path))
        if count > MOST_LINES and not path.endswith(".md"):
            yield path, count, f"{count} lines, more than {MOST_LINES}: split it by concept"


def licence_line(tree):
    for path in tree.files:
        # Within the first lines, to leave room for a script's #! line.
        if not path.endswith(".md") and not any(
                "SPDX-License-Identifier: MIT" in line for line in tree.lines(path)[:3]):
            yield path, 1, "no line 'SPDX-License-Identifier: MIT' at the top"


def line_width(tree):
    """Prose wraps at 100 columns: comments everywhere, and Markdown outside of tables and code."""
    for path in tree.files:
        wide = markdown_prose if path.endswith(".md") else comments
        for number, line in wide(tree.lines(path)):
            if len(line) > WIDTH and "://" not in line:
                yield path, number, f"{len(line)} columns, more than {WIDTH}: wrap it"


def markdown_prose(lines):
    in_code = False
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*```", line):
            in_code = not in_code
        elif not in_code and not line.lstrip().startswith(("|", "![", "<")):
            yield number, line


def comments(lines):
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*(//|# )", line):
            yield number, line
