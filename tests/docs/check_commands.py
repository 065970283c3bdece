#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the commands on the pages without running them: programs that run_commands.py knows,
commands and options that `./dev help` and `weir --help` list, presets and variables of CMake,
routes of the API.

Usage: check_commands.py ROOT [WEIR]. WEIR is the program; while it is not built, its options are
not checked.
"""

import functools
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

import commands

# Others on the pages need a look first: does run_commands.py run them, and can they do harm there?
PROGRAMS = {"apt", "apt-get", "cat", "cd", "cmake", "cp", "ctest", "curl", "cut", "dpkg", "echo",
            "export", "git", "go", "journalctl", "man", "mkdir", "node", "podman", "pkg-config",
            "psql", "python3", "sqlite3", "sudo", "systemctl", "xargs"}
PLACEHOLDERS = {"./app_tests", "./worker"}  # programs of the reader's
PATH = re.compile(r'^"(/[^"]*)": \{', re.M)
METHOD = re.compile(r'"(get|post|put|patch|delete)": \{')


class Checker:
    def __init__(self, root, weir=None):
        self._root = root
        self._weir = weir

    def problems(self, command):
        """What is wrong with the command, in words."""
        try:
            simple = command.simple()
        except ValueError as error:
            yield f"is no shell command: {error}"
            return
        for words in simple:
            while words and re.match(r"\w+=", words[0]):
                words = words[1:]
            if words and words[0] == "sudo":
                words = words[1:]
            if words:
                yield from self._check(words[0], words[1:])

    def _check(self, program, words):
        if program == "./dev":
            yield from self._check_dev(words)
        elif program == "weir":
            yield from self._check_weir(words)
        elif program == "cmake":
            yield from self._check_cmake(words)
        elif program == "curl":
            yield from self._check_curl(words)
        elif "/" in program:
            if program not in PLACEHOLDERS and not (self._root / program).is_file():
                yield f"there is no {program}"
        elif program not in PROGRAMS:
            yield f"check_commands.py does not know the program '{program}'"

    def _check_dev(self, words):
        name = words[0] if words else "help"
        if name not in self._dev_help:
            yield f"./dev has no command '{name}'"
            return
        text = self._dev_help[name]
        if name == "install-deps" and words[1:] and words[1] not in re.findall(r"[\w-]+", text):
            yield f"./dev install-deps does not know '{words[1]}'"
        for option in options_of(words[1:]):
            if has_option(text, option) or option in ("--yes", "-y"):
                continue
            if name == "run":
                yield from self._check_weir(["serve", option])
            elif name not in ("test", "soak") or not has_option(self._ctest_help, option):
                yield f"./dev {name} has no option {option}"
        yield from self._check_preset(words)

    def _check_weir(self, words):
        if self._weir is None:
            return
        if words and not words[0].startswith(("-", "<")):
            if not re.search(rf"^  {re.escape(words[0])}\s", self._weir_help(), re.M):
                yield f"weir has no command '{words[0]}'"
                return
            text, name = self._weir_help(words[0]), f"weir {words[0]}"
        else:
            text, name = self._weir_help(), "weir"
        for option in options_of(words):
            if not has_option(text, option):
                yield f"{name} has no option {option}"

    def _check_cmake(self, words):
        yield from self._check_preset(words)
        for word in words:
            variable = re.match(r"-D(WEIR_\w+)", word)
            if variable and variable[1] not in self._cmake_text:
                yield f"CMake has no variable {variable[1]}"

    def _check_preset(self, words):
        for before, word in zip(["", *words], [*words, ""]):
            name = word if before == "--preset" else word.partition("--preset=")[2]
            if name and name not in self._presets:
                yield f"there is no preset '{name}'"

    def _check_curl(self, words):
        method = next((word for before, word in zip(words, words[1:]) if before == "-X"), None)
        if method is None:
            method = "POST" if {"-d", "--data", "--json"} & set(words) else "GET"
        for word in words:
            url = urllib.parse.urlsplit(word)
            if url.scheme and url.hostname == "127.0.0.1" and url.path.strip("/"):
                if not any(method.lower() in methods and re.fullmatch(pattern, url.path)
                           for pattern, methods in self._routes):
                    yield f"the API has no {method} {url.path}"

    @functools.cached_property
    def _dev_help(self):
        """The part of `./dev help` about each command."""
        text = self._output("./dev", "help")
        parts = re.split(r"^  (?=[a-z])", text, flags=re.M)[1:]
        return {part.split()[0]: part for part in parts}

    @functools.cache
    def _weir_help(self, *words):
        return self._output(self._weir, *words, "--help")

    @functools.cached_property
    def _ctest_help(self):
        return self._output("ctest", "--help")

    def _output(self, *words):
        return subprocess.run(words, cwd=self._root, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    @functools.cached_property
    def _presets(self):
        presets = json.loads((self._root / "CMakePresets.json").read_text(encoding="utf-8"))
        return {each["name"] for each in presets["configurePresets"] if not each.get("hidden")}

    @functools.cached_property
    def _cmake_text(self):
        paths = [*self._root.glob("cmake/*.cmake"), *self._root.glob("*/**/CMakeLists.txt"),
                 *self._root.glob("tools/**/*.cmake"), self._root / "CMakeLists.txt"]
        return "\n".join(path.read_text(encoding="utf-8") for path in paths
                         if "build" not in path.relative_to(self._root).parts)

    @functools.cached_property
    def _routes(self):
        """[(pattern of the path, methods)], from the text of /openapi.json."""
        text = (self._root / "src/service/api/openapi.cpp").read_text(encoding="utf-8")
        parts = PATH.split(text)[1:]
        return [(re.sub(r"\{\w+\}", "[^/]+", path), METHOD.findall(body))
                for path, body in zip(parts[::2], parts[1::2])]


def options_of(words):
    return [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]


def has_option(text, option):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def pages(root):
    yield from sorted([*root.glob("*.md"), *root.glob("docs/*.md"), root / "bench/README.md"])


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    weir = next((path for path in sys.argv[2:3] if pathlib.Path(path).exists()), None)
    checker = Checker(root, weir)
    count, found = 0, []
    for path in pages(root):
        page, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        every = [each for block in commands.blocks_of(page, text) for each in block]
        if page != "CHANGELOG.md":  # which also tells of what is no more
            every += commands.inline_commands(page, text)
        count += len(every)
        found += [f"{each}\n    {problem}" for each in every for problem in checker.problems(each)]
    print("\n".join(found) if found else f"{count} commands checked")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
