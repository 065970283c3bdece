#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a header costs its users little: fails where compiling it takes longer than a limit.

Measured is the user time of the compiler for a file that includes that header and nothing else, at
-O0, without ccache and precompiled headers; the best of several runs, since other work on the
machine can only make it slower.
"""

import argparse
import os
import resource
import subprocess
import sys


def user_seconds(command, source):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, input=source, text=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--header", required=True)
    parser.add_argument("--limit", type=float, required=True, help="seconds")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()

    command = [arguments.compiler, "-std=c++20", "-O0", "-I", arguments.include,
               "-x", "c++", "-c", "-", "-o", os.devnull]
    source = f"#include <{arguments.header}>\n"
    times = [user_seconds(command, source) for _ in range(arguments.runs)]
    best = min(times)
    print(f"{arguments.header}: {best:.2f} s (limit {arguments.limit:.2f} s),"
          f" runs: {' '.join(f'{seconds:.2f}' for seconds in times)}")
    return 0 if best < arguments.limit else 1


if __name__ == "__main__":
    sys.exit(main())
