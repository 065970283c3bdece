# SPDX-License-Identifier: MIT
"""All faults that the sources can have, and a random choice of them."""

import hashlib
import pathlib

from accepted import identity
from cpp_tokens import tokens_of
from operators import DROPPED, KINDS, NEGATED, SHIFTED, SWAPPED, Operators
from regions import RegionFinder

FOLDERS = ("src/core", "src/flow", "src/io", "src/service")
SHARES = {NEGATED: 0.3, DROPPED: 0.35, SHIFTED: 0.25, SWAPPED: 0.1}
# More than are needed, since not all compile: few arguments can be swapped.
SPARE = {NEGATED: 1.1, DROPPED: 1.1, SHIFTED: 1.4, SWAPPED: 6}


class SourceFile:
    def __init__(self, root, path):
        self.path = path  # relative to the root
        self.text = (pathlib.Path(root) / path).read_text(encoding="utf-8")
        self.tokens = tokens_of(self.text)
        finder = RegionFinder(self.tokens)
        regions = finder.find()
        operators = Operators(self.text, self.tokens, finder.partners)
        self.faults = [fault for region in regions for fault in operators.faults(region)]
        for fault in self.faults:
            fault.file = path


def sources_in(root, places):
    """The sources in folders, or files, that are given relative to the root."""
    root = pathlib.Path(root)
    for place in places:
        paths = [root / place] if (root / place).is_file() else sorted(root.glob(f"{place}/**/*.cpp"))
        for path in paths:
            yield SourceFile(root, path.relative_to(root).as_posix())


def choose(faults, count, seed):
    """Faults in the order in which they are tried: of each kind its share, and spare ones of the
    same kind behind them. A dict: kind to list. Each fault's place depends on the seed and itself
    alone, so that a seed still means the same faults when some were accepted, or sources changed
    elsewhere."""
    def place(fault):
        return hashlib.sha256(f"{seed} {identity(fault)}".encode()).digest()

    chosen = {}
    for kind in KINDS:
        of_kind = sorted((fault for fault in faults if fault.kind == kind), key=place)
        chosen[kind] = of_kind[:round(count * SHARES[kind] * SPARE[kind]) + 1]
    return chosen


def first_usable(chosen, count, is_usable):
    """`count` of the faults that can be used: each kind gives its share, and the first kinds fill up
    what is missing."""
    usable = {kind: [fault for fault in chosen[kind] if is_usable(fault)] for kind in KINDS}
    taken = [fault for kind in KINDS for fault in usable[kind][:round(count * SHARES[kind])]]
    rest = [fault for kind in KINDS for fault in usable[kind][round(count * SHARES[kind]):]]
    return (taken + rest)[:count]
