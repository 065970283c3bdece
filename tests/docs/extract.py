#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a test program of the code blocks in a page of the documentation.

Each fenced block says in its first line what it is:

    ```cpp             a complete program, with main(): compiled and run
    ```cpp shared      declarations that the fragments of the page use: compiled
    ```cpp fragment    the body of a coroutine: compiled, and run in simulated time
    ```cpp wrong       the body of a coroutine that shows a mistake: compiled, not run
    ```cpp rejected    the body of a coroutine that must not compile; see rejected.py
    ```cpp sketch      not compiled
    ```output          what the program or fragment before it prints

What fragments need and readers do not is in a comment: `<!-- cpp shared` on a line of its own, then
code up to `-->`. A line in the file is a line in the page, so that compilers point at the page.
"""

import argparse
import collections
import pathlib
import re

KINDS = ("program", "shared", "fragment", "wrong", "rejected", "sketch", "output")
Block = collections.namedtuple("Block", "kind line code")


def blocks_of(text):
    """The blocks of a page, in order. `line` is that of the first line of code, counted from 1."""
    kind, start, code = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if kind is None:
            opening = re.match(r"\s*(?:```|<!-- )(cpp|output)\b *(\w*)$", line)
            if opening:
                kind = "output" if opening[1] == "output" else opening[2] or "program"
                if kind not in KINDS:
                    raise ValueError(f"line {number}: no such kind of block: {kind}")
                start, code = number + 1, []
        elif line.strip() in ("```", "-->"):
            yield Block(kind, start, "\n".join(code) + "\n")
            kind = None
        else:
            code.append(line)
    if kind is not None:
        raise ValueError(f"line {start}: the block does not end")


def as_function(program, name):
    """The program with main() turned into an ordinary function, its includes apart."""
    includes = [line for line in program.splitlines() if line.startswith("#include")]
    body = re.sub(r"^#include.*$", "", program, flags=re.M)
    body, count = re.subn(r"^int main\(\)", f"int {name}()", body, flags=re.M)
    if count != 1:
        raise ValueError("a program has one 'int main()'; is the block a fragment?")
    # main() may end without a return, others may not.
    body = body.rstrip()
    if not re.search(r"return[^;]*;\s*}$", body):
        body = body[:-1] + "return 0;\n}"
    return includes, body + "\n"


# With #line, GCC takes the page for a header, where a type without linkage would be a mistake.
PROLOGUE = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
"""


def raw_string(text):
    return f'R"output({text})output"'


class Page:
    def __init__(self, path, root):
        self.path = path
        self.name = re.sub(r"\W", "_", path.relative_to(root).with_suffix("").as_posix())
        self.includes = []
        self.parts = []

    def translate(self):
        blocks = list(blocks_of(self.path.read_text(encoding="utf-8")))
        for block, after in zip(blocks, blocks[1:] + [None]):
            expected = after.code if after is not None and after.kind == "output" else None
            try:
                getattr(self, block.kind)(block, expected)
            except ValueError as error:
                raise SystemExit(f"{self.path}:{block.line}: {error}") from error
        return self.file()

    def add(self, block, before, code, after):
        self.parts.append(f'{before}\n#line {block.line} "{self.path}"\n{code}{after}\n')

    def test(self, block, call, expected):
        text = raw_string(expected) if expected is not None else "nullptr"
        self.parts.append(f"TEST(Docs, {self.name}_{block.line}) "
                          f"{{ documented::check([] {{ {call}; }}, {text}); }}\n")

    def program(self, block, expected):
        name = f"program_{block.line}"
        includes, body = as_function(block.code, name)
        self.includes += includes
        self.add(block, f"namespace in_{name} {{", body, "}")
        self.test(block, f"EXPECT_EQ(in_{name}::{name}(), 0)", expected)

    def shared(self, block, _expected):
        self.includes += [line for line in block.code.splitlines() if line.startswith("#include")]
        code = re.sub(r"^#include.*$", "", block.code, flags=re.M)
        self.add(block, "", code, "")

    def fragment(self, block, expected):
        name = f"fragment_{block.line}"
        self.add(block, f"weir::task<> {name}() {{", block.code, "co_return;\n}")
        self.test(block, f"documented::play({name}())", expected)

    def wrong(self, block, _expected):
        self.add(block, f"[[maybe_unused]] weir::task<> wrong_{block.line}() {{", block.code,
                 "co_return;\n}")

    def rejected(self, block, expected):
        pass

    def sketch(self, block, expected):
        pass

    def output(self, block, expected):
        pass

    def file(self):
        includes = "\n".join(dict.fromkeys(["#include <weir/weir.hpp>", *self.includes,
                                            '#include "docs/documented.hpp"']))
        body = "\n".join(self.parts)
        return (f"{PROLOGUE}{includes}\nusing namespace std::chrono_literals;\n"
                "#pragma GCC diagnostic ignored \"-Wunused-function\"\n"  # shown, not called
                f"namespace {{\nnamespace page_{self.name} {{\n{body}\n}}\n}}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("result", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.result.write_text(Page(arguments.page, arguments.root).translate(), encoding="utf-8")


if __name__ == "__main__":
    main()
