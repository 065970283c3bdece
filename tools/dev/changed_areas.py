# SPDX-License-Identifier: MIT
"""When the sources were last changed that an area of tests is closest to. The area of a test is its
name up to the first dot.

The rule is simple on purpose, since all other tests run afterwards: the tests of a folder src/A/B
are those in tests/A/B, or in the folders below tests/A if there is no tests/A/B, and those of the
file's name. A public header has the test of its name. What every test uses (tests/support) counts
for all.
"""

import os
import pathlib

# Folders of src/ whose tests are elsewhere, and folders outside src/.
ELSEWHERE = {
    "src/core/sync": ["tests/sync"],
    "src/core/driver": ["tests/core/loop", "tests/io/engine"],
    "src/testing/kit": ["tests/testing"],
}
NAMED = {
    "src/program": ["service_program", "program"],
    "tools/weir": ["service_program", "service_dashboard"],
    "tests/service/dashboard": ["service_dashboard"],
    "tools/timelines": ["docs"],
    "tools/dev": ["project"],
    ".ci": ["project"],
    "tests/project": ["project"],
    "tests/consumer": ["consumer"],
    "cmake": ["consumer"],
    "packaging": ["packaging", "consumer"],
    "tests/packaging": ["packaging"],
    "examples": ["example"],
    "clients": ["clients"],
    "docs": ["docs"],
}
FILES = {
    "dev": ["project"],
    "README.md": ["docs"],
    "CMakeLists.txt": ["consumer"],
    "CMakePresets.json": ["consumer"],
}
ROOTS = ("src", "include", "tests", "tools", "examples", "clients", "docs", "cmake", "packaging",
         ".ci")


class Areas:
    """The folders of tests/ and the areas whose sources they have."""

    def __init__(self, root, table):
        self.root = pathlib.Path(root)
        self.folders = {}
        self.stems = {}
        for row in table.rows:
            area = row.prefix.partition(".")[0]
            for source in row.sources:
                path = os.path.relpath(source, self.root)
                self.folders.setdefault(os.path.dirname(path), set()).add(area)
                self.stems.setdefault(pathlib.Path(path).stem, []).append((path, area))

    def at(self, folder):
        """The areas in the folder and below it, or in the next one above."""
        while folder != "tests" and folder:
            found = set()
            for each, areas in self.folders.items():
                if each == folder or each.startswith(folder + "/"):
                    found |= areas
            if found:
                return found
            folder = os.path.dirname(folder)
        return set()

    def of(self, path):
        """The areas that a change of the file is closest to; path is relative to the root."""
        if path in FILES:
            return set(FILES[path])
        for start, areas in NAMED.items():
            if path.startswith(start + "/"):
                return set(areas)
        folder = os.path.dirname(path)
        if path.startswith("tests/support/"):
            return set().union(*self.folders.values())
        if path.startswith("tests/"):
            if path.endswith(".cpp") and folder in self.folders:
                return self.folders[folder]
            return self.at(folder)
        if path.startswith("include/weir/"):
            return self.of_header(path)
        for start, folders in ELSEWHERE.items():
            if path.startswith(start + "/"):
                return set().union(*(self.at(each) for each in folders))
        if path.startswith("src/"):
            layer = path.split("/")[1]
            return (self.at("tests" + folder.removeprefix("src")) |
                    self.named_after(path, f"tests/{layer}/"))
        return set()

    def named_after(self, path, below):
        """The areas below a folder that have the test of the file's name."""
        return {area for test, area in self.stems.get(pathlib.Path(path).stem + "_test", [])
                if test.startswith(below)}

    def of_header(self, path):
        layer = os.path.dirname(path).removeprefix("include/weir").removesuffix("/detail")
        below = f"tests{layer}/"
        return (self.named_after(path, below) or
                self.at(below.rstrip("/") if layer else "tests/core"))

    def changed_at(self):
        """A dict: area to the time of its newest file."""
        newest = {}
        for path in self.files():
            changed = os.lstat(self.root / path).st_mtime
            for area in self.of(path):
                newest[area] = max(newest.get(area, 0), changed)
        return newest

    def files(self):
        yield from (name for name in FILES if (self.root / name).exists())
        for top in ROOTS:
            for folder, _, names in os.walk(self.root / top):
                for name in names:
                    yield os.path.relpath(os.path.join(folder, name), self.root)
