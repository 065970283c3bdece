# SPDX-License-Identifier: MIT
"""A forgotten co_await is a warning: every awaitable class of the public headers says so. The rule
goes by classes, so it holds for every function that returns one."""

import re

# What awaitables derive from. Handles and futures are not among them: they may be dropped.
ROOTS = {"operation", "boundary_awaitable", "bounded"}
MARK = "WEIR_MUST_AWAIT"
CLASS = re.compile(
    r"^\s*class (?P<mark>\[\[nodiscard[^\]]*\]\] |WEIR_MUST_AWAIT )?"
    r"(?P<name>\w+)(?P<final> final)?\s*:(?P<bases>[^{]*)\{",
    re.MULTILINE)
BASE = re.compile(r"(?:public|protected|private)\s+([\w:]+)")


def awaitables_are_marked(tree):
    classes = []
    for path in tree.files:
        if not path.startswith("include/") or not path.endswith(".hpp"):
            continue
        text = "\n".join(tree.lines(path))
        for found in CLASS.finditer(text):
            bases = {base.rsplit("::", 1)[-1] for base in BASE.findall(found["bases"])}
            line = text.count("\n", 0, found.start("name")) + 1
            classes.append((path, line, found, bases))
    awaitable = set(ROOTS)
    while True:
        more = {found["name"] for _, _, found, bases in classes if bases & awaitable} - awaitable
        if not more:
            break
        awaitable |= more
    for path, line, found, bases in classes:
        if found["final"] and bases & awaitable and (found["mark"] or "").strip() != MARK:
            yield path, line, f"{found['name']} is awaitable: write class {MARK} {found['name']}"
