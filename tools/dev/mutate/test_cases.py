# SPDX-License-Identifier: MIT
"""The tests that can concern a fault: which programs they are in, and how near they are."""

import dataclasses
import os
import subprocess

# Tests of these areas can see faults in the layer; a name stands for all areas that begin with it.
# Tests of the layers above would see some too, but the next layer's own tests ought to.
AREAS = {
    "base": ("base", "core", "sync", "flow", "io"),
    "core": ("allocations", "base", "bridges", "compilers", "core", "docs", "flow", "io",
             "semantics", "sync", "testing"),
    "flow": ("allocations", "docs", "flow", "http", "db_redis", "semantics", "service_engine"),
    "io": ("bridges", "docs", "http", "io", "semantics", "testing_io", "ws"),
    "http": ("docs", "fuzz", "http", "service_api", "ws"),
    "ws": ("docs", "fuzz", "http", "service_api", "ws"),
    "db": ("crawl", "db", "docs", "service_store"),
    "crawl": ("crawl", "docs", "fuzz"),
    "service": ("docs", "service"),
    "testing": ("docs", "sync", "testing"),
}


@dataclasses.dataclass
class TestCase:
    area: str
    name: str      # Suite.Test
    program: str   # the one with faults
    folder: str    # to start it in
    seconds: float = 0
    reached: frozenset = frozenset()

    def full_name(self):
        return f"{self.area}.{self.name}"

    def arguments(self):
        return [str(self.program), f"--gtest_filter={self.name}"]


def layers_of(faults):
    return {fault.file.split("/")[1] for fault in faults}


def concerns(area, layers):
    areas = {each for layer in layers for each in AREAS.get(layer, ("",))}
    return any(area == each or area.startswith(each + "_") or not each for each in areas)


def programs(build):
    """A dict: the area of each GoogleTest program to its path in the build."""
    listing = subprocess.run(["ninja", "-C", str(build), "-t", "targets", "all"],
                             capture_output=True, text=True, check=True).stdout
    paths = {}
    for line in listing.splitlines():
        path, _, rule = line.partition(": ")
        if rule.startswith("CXX_EXECUTABLE_LINKER"):
            paths[os.path.basename(path)] = path
    found = {}
    with open(os.path.join(build, "test_targets.txt"), encoding="utf-8") as table:
        for line in table:
            kind, prefix, target, *_ = line.rstrip("\n").split("\t") + [""]
            if kind == "program" and target in paths and is_built(build, paths[target]):
                found[prefix.rstrip(".")] = paths[target]
    return found


def is_built(build, path):
    """A build of some of the programs will do, with fewer tests."""
    return os.path.exists(os.path.join(build, path))


def cases_in(area, program, folder):
    listing = subprocess.run([str(program), "--gtest_list_tests"], cwd=folder, capture_output=True,
                             text=True, check=True).stdout
    suite = ""
    for line in listing.splitlines():
        word = line.split("#")[0].rstrip()
        if line.startswith("  "):
            if "DISABLED_" not in suite + word:
                yield TestCase(area, suite + word.strip(), program, folder)
        elif word.endswith("."):
            suite = word


def distance(fault, case):
    """Folders of the fault's file that the area of the test does not share."""
    folders = fault.file.split("/")[1:-1]
    words = case.area.split("_")
    shared = 0
    for folder in folders:
        if folder not in words:
            break
        shared += 1
    if "sync" in folders and "sync" in words:
        shared = len(folders)
    return len(folders) - shared
