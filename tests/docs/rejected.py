#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the blocks marked `cpp rejected` in a page do not compile, each for its own reason.

A rejected block is compiled after the page's shared blocks, and alone. Where an `output` block
follows, its text must be in the compiler's message. The shared blocks must compile without it, or
the test would pass for a wrong reason.
"""

import argparse
import pathlib
import subprocess
import sys

from extract import Page, blocks_of


def compile_with(compiler, code):
    return subprocess.run([*compiler, "-x", "c++", "-fsyntax-only", "-"], input=code, text=True,
                          capture_output=True, check=False)


def programs_of(path, root):
    """For each rejected block: the page's shared code so far, alone and with the block."""
    shared = Page(path, root)
    blocks = list(blocks_of(path.read_text(encoding="utf-8")))
    for block, after in zip(blocks, blocks[1:] + [None]):
        if block.kind == "shared":
            shared.shared(block, None)
        if block.kind == "rejected":
            with_block = Page(path, root)
            with_block.includes, with_block.parts = list(shared.includes), list(shared.parts)
            with_block.wrong(block, None)
            message = after.code.strip() if after is not None and after.kind == "output" else ""
            yield block, shared.file(), with_block.file(), message


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, action="append", required=True)
    parser.add_argument("compiler", nargs="+")
    arguments = parser.parse_args()

    failed = 0
    for page in arguments.page:
        shared_compiles = False
        for block, without, with_block, message in programs_of(page, arguments.root):
            place = f"{page.relative_to(arguments.root)}:{block.line}"
            if not shared_compiles:
                control = compile_with(arguments.compiler, without)
                if control.returncode != 0:
                    print(f"{place}: the shared code does not compile\n{control.stderr}")
                    return 1
                shared_compiles = True
            result = compile_with(arguments.compiler, with_block)
            if result.returncode == 0:
                print(f"{place}: compiles, and should not")
                failed += 1
            elif message not in result.stderr:
                print(f"{place}: is rejected without saying '{message}'\n{result.stderr}")
                failed += 1
            else:
                print(f"{place}: rejected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
