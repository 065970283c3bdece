# SPDX-License-Identifier: MIT
"""The tokens of a C++ source, with their places. Comments and spaces are left out; a line of the
preprocessor is one token."""

import bisect
import dataclasses
import re

PATTERN = re.compile(r"""
    (?P<space>   \s+ | //[^\n]* | /\*.*?\*/ )
  | (?P<line>    \#(?:[^\n\\]|\\\n|\\.)* )
  | (?P<text>    (?:u8|[uUL])?R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
               | (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"
               | (?:u8|[uUL])?'(?:[^'\\\n]|\\.)+' )
  | (?P<number>  \.?\d(?:[eEpP][+-]|'[\da-zA-Z]|[\w.])* )
  | (?P<name>    [A-Za-z_]\w* )
  | (?P<sign>    <=> | <<= | >>= | ->\* | \.\.\. | :: | -> | \+\+ | -- | << | <= | >= | == | != | &&
               | \|\| | \+= | -= | \*= | /= | %= | &= | \|= | \^= | . )
""", re.VERBOSE | re.DOTALL)

OPENING = {"(": ")", "[": "]", "{": "}"}


@dataclasses.dataclass
class Token:
    kind: str  # line, text, number, name or sign
    text: str
    start: int
    end: int
    line: int
    is_spaced: bool  # space on both sides, as binary operators have it


def tokens_of(source):
    """The tokens of a source, as a list."""
    ends = [match.start() for match in re.finditer("\n", source)]
    found = []
    for match in PATTERN.finditer(source):
        kind = match.lastgroup if match.lastgroup != "mark" else "text"
        if kind == "space":
            continue
        start, end = match.span()
        is_spaced = source[start - 1:start].isspace() and source[end:end + 1].isspace()
        found.append(Token(kind, match.group(), start, end, bisect.bisect_left(ends, start) + 1,
                           is_spaced))
    return found


def partners_of(tokens):
    """A dict: the index of each opening bracket to that of the closing one, and back."""
    partners, waiting = {}, []
    for index, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in OPENING:
            waiting.append(index)
        elif waiting and token.text == OPENING[tokens[waiting[-1]].text]:
            opening = waiting.pop()
            partners[opening], partners[index] = index, opening
    return partners
