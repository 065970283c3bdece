#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each mistake of mistakes.txt is one error of at most ten lines, which says what to write.

Usage: what_to_write.py MISTAKES COMPILER [ARGUMENT...]
The headers are compiled once, as precompiled headers. Lines that say which file includes which are
not counted: they depend on the files of the user.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HEADERS = {
    "core.hpp": "#include <weir/weir.hpp>\n#include <string>\n",
    "all.hpp": "#include <weir/flow/map_concurrent.hpp>\n#include <weir/http/router.hpp>\n#include <weir/weir.hpp>\n",
}
PROGRAM = """
using namespace std::chrono_literals;
namespace weir::http {}
namespace http = weir::http;
weir::task<int> load(int number);
weir::task<> save(std::string text);
weir::task<> append(std::string& text);
int length(const std::string& text);
weir::task<> scene() {
%s}
"""
MOST_LINES = 10


def read_cases(path):
    found = re.findall(r"^== (.*?): (.*)\n((?:    .*\n|\n)*)", path.read_text(), re.MULTILINE)
    return [(name, expected, body.rstrip("\n") + "\n") for name, expected, body in found]


def precompile(folder, command, name, suffix):
    header = folder / name
    header.write_text(HEADERS[name])
    subprocess.run([*command, "-x", "c++-header", str(header), "-o", f"{header}{suffix}"], check=True)


def try_case(folder, command, number, case):
    name, expected, body = case
    header = "all.hpp" if re.search("http::|map_concurrent", body) else "core.hpp"
    source = folder / f"mistake_{number}.cpp"
    source.write_text(PROGRAM % body)
    done = subprocess.run(
        [*command, "-include", str(folder / header), "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    lines = [
        line
        for line in done.stderr.splitlines()
        if not re.match(r"In file included from| +from |\d+ errors? generated", line)
    ]
    errors = [line for line in lines if "error:" in line]
    if not errors:
        return f"{name}: compiles"
    if expected not in errors[0]:
        return f"{name}: the first error does not say '{expected}':\n{done.stderr}"
    if len(errors) > 1 or len(lines) > MOST_LINES:
        return f"{name}: {len(errors)} errors in {len(lines)} lines:\n{done.stderr}"
    return None


def main():
    mistakes, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        version = subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout
        suffix = ".pch" if "clang" in version else ".gch"
        cases = read_cases(mistakes)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda each: precompile(folder, command, each, suffix), HEADERS))
            results = pool.map(lambda each: try_case(folder, command, *each), enumerate(cases))
            failed = [text for text in results if text]
    print("\n".join(failed) or f"{len(cases)} mistakes are explained")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
