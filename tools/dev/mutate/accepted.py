# SPDX-License-Identifier: MIT
"""Faults that no test has to see, each with its reason: accepted.txt.

    src/core/x.cpp thing::run: drop `y_ = 0;`
        The destructor sets it again.

    like: `log_\\.write\\(
        The words of the log are not specified.

The first line is what the report prints for a survivor, without the line number; an entry with
`like:` holds for every fault with a match of the regular expression. The indented lines are the
reason, without which an entry is an error."""

import pathlib
import re


class AcceptedError(Exception):
    pass


def identity(fault):
    return f"{fault.file} {fault.region.function}: {fault.change}"


class Accepted:
    def __init__(self, text):
        self.single, self.patterns = {}, []
        entry = None
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            if line[0].isspace():
                if entry is None:
                    raise AcceptedError(f"line {number}: a reason without a fault")
                entry.append(line.strip())
                continue
            self.check(entry, number)
            entry = []
            if line.startswith("like: "):
                self.patterns.append((re.compile(line[len("like: "):]), entry))
            else:
                self.single[line.strip()] = entry
        self.check(entry, "the last")

    @staticmethod
    def check(entry, number):
        if entry == []:
            raise AcceptedError(f"the entry before line {number} has no reason")

    @staticmethod
    def read(path=pathlib.Path(__file__).with_name("accepted.txt")):
        return Accepted(path.read_text(encoding="utf-8"))

    def covers(self, fault):
        text = identity(fault)
        return text in self.single or any(pattern.search(text) for pattern, _ in self.patterns)

    def stale(self, faults, files):
        """Single entries for these files that fit no fault any more."""
        known = {identity(fault) for fault in faults}
        return [entry for entry in self.single
                if entry not in known and entry.split(" ")[0] in files]
