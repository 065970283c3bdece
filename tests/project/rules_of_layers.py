# SPDX-License-Identifier: MIT
"""Rules between files: layers include downwards, private stays private, a class has one file."""

import collections
import os
import re

from source_tree import is_public, layer_of

# What each layer may include besides itself. base is what every layer may use.
BELOW = {
    "base": {"core"},
    "core": {"base"},
    "flow": {"base", "core"},
    "io": {"base", "core"},
    "http": {"base", "core", "flow", "io"},
    "ws": {"base", "core", "flow", "io", "http"},
    "db": {"base", "core", "flow", "io"},
    "crawl": {"base", "core", "flow", "io", "http", "db"},
    "service": {"base", "core", "flow", "io", "http", "ws", "db", "crawl"},
    "testing": {"base", "core"},
    "testing_io": {"base", "core", "io", "testing"},
    "program": {"base", "core", "flow", "io", "http", "ws", "db", "service", "crawl"},
}
# The test kit looks into the loop that it steers; base is the part of the core that others may use.
MAY_LOOK_INTO = {"testing": {"core"}, "base": {"core"}}
# Headers of one name in one layer: the folder is part of how users call them.
NAMED_BY_FOLDER = {"db"}


def include_direction(tree):
    for path in tree.cpp("include", "src", "tools"):
        layer = layer_of(path)
        if layer not in BELOW:
            yield path, 1, f"no layer '{layer}' is known: add it to BELOW in rules_of_layers.py"
            continue
        for number, header in tree.includes(path):
            other = layer_of(header)
            if other != layer and other not in BELOW[layer]:
                yield path, number, f"{layer} must not include {header} of the layer {other}"


def is_private(header):
    return header.startswith("src/") or "/detail/" in header


def foreign_private_headers(tree):
    for path in tree.cpp("include", "src", "tools"):
        layer = layer_of(path)
        for number, header in tree.includes(path):
            other = layer_of(header)
            if (is_private(header) and other not in (layer, "base")
                    and other not in MAY_LOOK_INTO.get(layer, ())):
                yield path, number, f"{header} is private to the layer {other}"


def private_headers_in_include(tree):
    """A header is in include/ only if a public header needs it."""
    headers = {path for path in tree.cpp("include") if path.endswith(".hpp")}
    reached, pending = set(), [path for path in headers if is_public(path)]
    while pending:
        path = pending.pop()
        if path not in reached:
            reached.add(path)
            pending += [header for _, header in tree.includes(path)]
    for path in sorted(headers - reached):
        yield path, 1, "no public header includes it: move it to src/"


def unique_header_names(tree):
    names = collections.defaultdict(list)
    for path in tree.cpp("include", "src"):
        if path.endswith(".hpp") and layer_of(path) not in NAMED_BY_FOLDER:
            names[layer_of(path), os.path.basename(path)].append(path)
    for (layer, name), paths in names.items():
        for path in paths[1:]:
            yield path, 1, f"the layer {layer} has another {name}: {paths[0]}"


MEMBER = re.compile(
    r"^(?!return|else|using|namespace|template|#)(?:[A-Za-z_\[][^;={}()]*?[\s&*])?"
    r"((?:\w+::)+)(?:~?\w+|operator[^\s(]+|operator \w+)\(", re.M)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
# A nested class may be defined beside the members of another one.
NOT_CLASSES = {"std", "weir", "chrono"}


def class_in_one_file(tree):
    """Members are defined in one .cpp, so that a large class is seen as such."""
    places = collections.defaultdict(dict)
    for path in tree.cpp("src", "tools"):
        if not path.endswith(".cpp"):
            continue
        text = re.sub(r"//[^\n]*", "", "\n".join(tree.lines(path)))
        spaces = [(match.start(), match[1]) for match in NAMESPACE.finditer(text)]
        for match in MEMBER.finditer(text):
            owner = match[1].removesuffix("::")
            if owner.split("::")[0] in NOT_CLASSES:
                continue
            space = next((name for start, name in reversed(spaces) if start < match.start()), "")
            line = text.count("\n", 0, match.start(1)) + 1
            places[f"{space}::{owner}"].setdefault(path, line)
    for owner, files in places.items():
        for path in sorted(files)[1:]:
            yield path, files[path], f"{owner} is also defined in {sorted(files)[0]}"
