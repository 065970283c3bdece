# SPDX-License-Identifier: MIT
"""The shell commands on the pages: those in blocks that begin with ```sh, and those in the text
that begin with `./dev` or `weir`."""

import dataclasses
import re
import shlex

FENCE = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.M | re.S)
CODE = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
INLINE = re.compile(r"`((?:\./dev|weir) [^`]+)`")
HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
SEPARATORS = {"&&", "||", "|", ";", "&"}


@dataclasses.dataclass
class Command:
    page: str
    line: int
    text: str
    output: list = dataclasses.field(default_factory=list)  # the comment lines that follow it

    def __str__(self):
        return f"{self.page}:{self.line}: {self.text.splitlines()[0]}"

    def simple(self):
        """The words of each simple command in it: `a | b && c` has three."""
        text = self.text.split("<<")[0].replace("\\\n", " ")
        lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        words = [[]]
        for word in lexer:
            if word in SEPARATORS:
                words.append([])
            else:
                words[-1].append(word)
        return [each for each in words if each]


def blocks_of(page, text):
    """The commands of each block, in order."""
    for match in FENCE.finditer(text):
        first = text.count("\n", 0, match.start()) + 2
        lines = [line.removeprefix(match[1]) for line in match[2].splitlines()]
        yield list(commands_of_block(page, first, lines))


def commands_of_block(page, first, lines):
    command, end = None, None
    for number, line in enumerate(lines, first):
        if command is not None and not is_complete(command.text, end):
            command.text += "\n" + line
        elif line.startswith("#"):
            if command is not None:
                command.output.append(line.removeprefix("#").strip())
            continue
        elif line.strip():
            if command is not None:
                yield command
            command = Command(page, number, line)
        else:
            continue
        here = HERE_DOCUMENT.search(command.text)
        end = here and here[2]
    if command is not None:
        yield command


def is_complete(text, end):
    if end:
        return text.splitlines()[-1].strip() == end
    if text.endswith("\\"):
        return False
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False  # inside quotes
    return True


def inline_commands(page, text):
    """Commands in the text of the page, which may have placeholders in them."""
    plain = CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in INLINE.finditer(plain):
        words = re.sub(r"[\[\]]|\.\.\.", " ", " ".join(match[1].split()))
        yield Command(page, plain.count("\n", 0, match.start()) + 1, words)
