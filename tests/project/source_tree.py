# SPDX-License-Identifier: MIT
"""The files of the project as the rules see them: their lines, their includes, their layers."""

import functools
import os
import re

# Build trees and fetched packages.
SKIPPED = {"build", "node_modules", ".git", "target", "__pycache__", "corpus"}
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cmake", ".py", ".sh", ".go", ".rs", ".md"}
NAMES = {"CMakeLists.txt", "dev", "run"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class SourceTree:
    def __init__(self, root):
        self.root = root
        self.files = sorted(self._find())
        self._known = set(self.files)

    def _find(self):
        """Paths relative to the root, with forward slashes."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(each for each in folders if each not in SKIPPED)
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    continue
                if name in NAMES or os.path.splitext(name)[1] in SUFFIXES:
                    yield os.path.relpath(path, self.root).replace(os.sep, "/")

    def __contains__(self, path):
        return path in self._known

    @functools.cache
    def lines(self, path):
        return (self.root / path).read_text(encoding="utf-8").splitlines()

    def cpp(self, *folders):
        """The C++ files below the folders."""
        for path in self.files:
            if path.endswith((".hpp", ".cpp")) and path.startswith(tuple(f"{f}/" for f in folders)):
                yield path

    @functools.cache
    def includes(self, path):
        """[(line number, path of the included file)], for files of the project only."""
        found = []
        for number, line in enumerate(self.lines(path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, name = match.groups()
            folders = ["include"] if quote == "<" else [os.path.dirname(path), "src", "tests"]
            for folder in folders:
                candidate = os.path.normpath(os.path.join(folder, name)).replace(os.sep, "/")
                if candidate in self:
                    found.append((number, candidate))
                    break
        return found


def layer_of(path):
    """`include/weir/io/tcp.hpp` and `src/io/net/tcp.cpp` are of layer io."""
    parts = path.split("/")
    if parts[0] == "tools":
        return "program"
    if parts[:2] == ["include", "weir"]:
        parts = parts[2:]
        if len(parts) == 1 or parts[0] in ("detail", "sync"):
            return "core"
    elif parts[0] == "src":
        parts = parts[1:]
    else:
        return None
    if parts[:2] == ["testing", "io"]:
        return "testing_io"
    return parts[0]


def is_public(header):
    return header.startswith("include/weir/") and "/detail/" not in header
