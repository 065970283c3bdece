# SPDX-License-Identifier: MIT
"""Compiles the sources that have faults, and links the test programs with them.

The test programs and everything without faults are taken from a finished build: only the sources
with faults are compiled, once for all faults, and the programs are linked again."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from faulty_source import FIRST_LINE, FaultySource, header

INCLUDED = re.compile(r'#include "([^"]+\.cpp)"')
ERROR = re.compile(r":(\d+):(?:\d+:)? (?:fatal )?error:")


class BuildError(Exception):
    pass


class Unit:
    """What the compiler is called for once: a source, or several that CMake has united."""

    def __init__(self, entry):
        self.folder = entry["directory"]
        self.arguments = shlex.split(entry["command"])
        self.file = entry["file"]
        self.object = self.arguments[self.arguments.index("-o") + 1]
        text = pathlib.Path(self.file).read_text(encoding="utf-8")
        self.sources = INCLUDED.findall(text) if "/Unity/" in self.file else [self.file]
        self.library = re.search(r"CMakeFiles/(weir_\w+)\.dir/", self.object)[1]


class FaultyBuild:
    """`faults` is a dict: number to fault. Those that do not compile are removed from it."""

    def __init__(self, root, build, folder, sources, faults, jobs):
        self.root = pathlib.Path(root)
        self.build = pathlib.Path(build)
        self.folder = pathlib.Path(folder)
        self.sources = {str(self.root / each.path): each for each in sources}
        self.faults = faults
        self.jobs = jobs

    def compile(self):
        """Makes the libraries with faults."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "weir_fault.hpp").write_text(header(max(self.faults) + 1), encoding="utf-8")
        units = self.units()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(self.compile_unit, units))
        for library in sorted({unit.library for unit in units}):
            archive = self.folder / f"lib{library}.a"
            shutil.copy(self.build / archive.name, archive)
            objects = [str(self.object_of(unit)) for unit in units if unit.library == library]
            subprocess.run(["ar", "r", str(archive), *objects], check=True, capture_output=True)

    def units(self):
        entries = json.loads((self.build / "compile_commands.json").read_text(encoding="utf-8"))
        units = [Unit(entry) for entry in entries
                 if re.match(r"CMakeFiles/weir_\w+\.dir/", output_of(entry))]
        with_faults = {str(self.root / fault.file) for fault in self.faults.values()}
        return [unit for unit in units if with_faults & set(unit.sources)]

    def object_of(self, unit):
        """With its old name, so that it takes the old one's place in the library."""
        return self.folder / unit.library / pathlib.Path(unit.object).name

    def numbers_in(self, unit):
        return [number for number, fault in self.faults.items()
                if str(self.root / fault.file) in unit.sources]

    def compile_unit(self, unit):
        while True:
            errors = self.try_unit(unit, self.numbers_in(unit))
            if not errors:
                return
            wrong = self.blamed(unit, errors) or self.bisect(unit, self.numbers_in(unit))
            if not wrong:
                raise BuildError(f"{unit.file} does not compile without a fault:\n{errors}")
            for number in wrong:
                del self.faults[number]

    def blamed(self, unit, errors):
        """The faults on whose lines the compiler found errors."""
        lines = {int(line) for line in ERROR.findall(errors)}
        return [number for number in self.numbers_in(unit) if FIRST_LINE + number in lines]

    def bisect(self, unit, numbers):
        """One fault that does not compile, although the compiler complains elsewhere."""
        if not self.try_unit(unit, []):
            while len(numbers) > 1:
                half = numbers[:len(numbers) // 2]
                numbers = half if self.try_unit(unit, half) else numbers[len(half):]
            return numbers
        return []

    def try_unit(self, unit, numbers):
        """Compiles with these faults; the errors, or nothing."""
        lines = []
        for path in unit.sources:
            faults = {number: self.faults[number] for number in numbers
                      if str(self.root / self.faults[number].file) == path}
            lines.append(f'#include "{self.written(path, faults)}"\n')
        main = self.folder / unit.library / (pathlib.Path(unit.object).stem + ".cpp")
        main.parent.mkdir(parents=True, exist_ok=True)
        main.write_text("".join(lines), encoding="utf-8")
        arguments = list(unit.arguments)
        arguments[arguments.index("-o") + 1] = str(self.object_of(unit))
        arguments[arguments.index(unit.file)] = str(main)
        for folder in sorted({os.path.dirname(path) for path in unit.sources}):
            arguments += ["-iquote", folder]
        arguments += ["-include", str(self.folder / "weir_fault.hpp"), "-O1", "-w",
                      "-fmax-errors=0", "-fdiagnostics-color=never"]
        done = subprocess.run(arguments, cwd=unit.folder, capture_output=True, text=True,
                              check=False)
        return (done.stderr or "no message") if done.returncode else ""

    def written(self, path, faults):
        """The source with the faults; without any, the source itself."""
        if not faults:
            return path
        source = self.sources[path]
        target = self.folder / source.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(FaultySource(source.text, source.tokens, faults).text(),
                          encoding="utf-8")
        return target

    def link(self, programs):
        """Links the programs, given as paths relative to the build. A dict: the old path to the new
        one."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return dict(zip(programs, pool.map(self.link_program, programs)))

    def link_program(self, program):
        listing = subprocess.run(["ninja", "-C", str(self.build), "-t", "commands", "-s", program],
                                 capture_output=True, text=True, check=True).stdout
        command = listing.replace(": && ", "", 1).split(" && ")[0]
        target = self.folder / "programs" / os.path.basename(program)
        target.parent.mkdir(parents=True, exist_ok=True)
        arguments = []
        for each in shlex.split(command):
            library = self.folder / os.path.basename(each)
            is_replaced = each.startswith("libweir_") and library.exists()
            arguments.append(str(library) if is_replaced else each)
        arguments[arguments.index("-o") + 1] = str(target)
        subprocess.run(arguments, cwd=self.build, check=True)
        return target


def output_of(entry):
    return entry["command"].partition(" -o ")[2].partition(" ")[0]
