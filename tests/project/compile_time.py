#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a header costs its users little: fails where compiling it takes longer than a limit.

The limit is stated in seconds of the machine whose compiler takes half a second for the standard
headers below. They are compiled here too, in turns with the header, so that the verdict is the same
on a slow machine and beside other work: what counts is how much longer the header takes than they do,
in the middle one of several turns.

Measured is the user time of the compiler for a file that includes that header and nothing else, at
-O0, without ccache and precompiled headers.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys

YARDSTICK = ("algorithm", "functional", "memory", "optional", "string", "unordered_map", "variant",
             "vector")
YARDSTICK_SECONDS = 0.5


def user_seconds(command, headers):
    source = "".join(f"#include <{header}>\n" for header in headers)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, input=source, text=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--header", required=True)
    parser.add_argument("--limit", type=float, required=True, help="seconds")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()

    command = [arguments.compiler, "-std=c++20", "-O0", "-I", arguments.include,
               "-x", "c++", "-c", "-", "-o", os.devnull]
    turns = [(user_seconds(command, YARDSTICK), user_seconds(command, [arguments.header]))
             for _ in range(arguments.turns)]
    seconds = statistics.median(header / yardstick for yardstick, header in turns) * YARDSTICK_SECONDS
    print(f"{arguments.header}: {seconds:.2f} s (limit {arguments.limit:.2f} s) on a machine that takes"
          f" {YARDSTICK_SECONDS} s for the yardstick;\nhere, yardstick and header: "
          + ", ".join(f"{yardstick:.2f} {header:.2f}" for yardstick, header in turns))
    return 0 if seconds < arguments.limit else 1


if __name__ == "__main__":
    sys.exit(main())
