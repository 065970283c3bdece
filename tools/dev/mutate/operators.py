# SPDX-License-Identifier: MIT
"""The faults that a region can have. Each is one small change, as a tired programmer makes it."""

import dataclasses
import re

from regions import CONDITION, STATEMENT

NEGATED, DROPPED, SHIFTED, SWAPPED = "negated", "dropped", "shifted", "swapped"
KINDS = (NEGATED, DROPPED, SHIFTED, SWAPPED)

NEXT_TO = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OPPOSITE = {"==": "!=", "!=": "=="}
TURNED = {"+": "-", "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++"}
OTHER_WORD = {"min": "max", "max": "min"}
OTHER_VALUE = {"true": "false", "false": "true"}
NOT_CALLED = frozenset("""alignof catch decltype for if noexcept return co_return co_await sizeof
    switch while throw""".split())
SYMMETRIC = frozenset("max min swap".split())
INTEGER = re.compile(r"(\d+)([a-zA-Z_]*)$")
LIMITS = frozenset("; ? : , = return co_return throw co_yield += -=".split())


@dataclasses.dataclass
class Fault:
    region: object
    kind: str
    changed: str  # the region with the fault; empty: nothing is done
    change: str   # for people: what became of what
    line: int


class Operators:
    def __init__(self, source, tokens, partners):
        self.source = source
        self.tokens = tokens
        self.partners = partners

    def faults(self, region):
        """All faults of one region."""
        yield from self.whole(region)
        if self.text(region.first) == "throw":
            return  # what is left are words of the message
        for index in region.own_indices():
            token = self.tokens[index]
            if token.kind == "sign":
                yield from self.of_sign(region, index, token)
            elif token.kind == "name" and token.text in OTHER_VALUE:
                yield self.replaced(region, NEGATED, index, index + 1, OTHER_VALUE[token.text])
            elif token.text in OTHER_WORD and self.text(index + 1) in ("(", "<"):
                yield self.replaced(region, SHIFTED, index, index + 1, OTHER_WORD[token.text])
            elif token.kind == "number" and INTEGER.match(token.text):
                digits, suffix = INTEGER.match(token.text).groups()
                yield self.replaced(region, SHIFTED, index, index + 1, f"{int(digits) + 1}{suffix}")

    def whole(self, region):
        line = self.tokens[region.first].line
        text = self.written(region.first, region.last)
        if region.form == CONDITION:
            yield Fault(region, NEGATED, f"!({text})", f"negate `{shortened(text)}`", line)
        elif region.form == STATEMENT and region.can_be_dropped:
            yield Fault(region, DROPPED, "", f"drop `{shortened(text)}`", line)

    def of_sign(self, region, index, token):
        text = token.text
        if text in NEXT_TO and token.is_spaced:
            yield self.replaced(region, SHIFTED, index, index + 1, NEXT_TO[text])
        elif text in OPPOSITE and not self.is_all(region, index):
            yield self.replaced(region, NEGATED, index, index + 1, OPPOSITE[text])
        elif text in TURNED and (token.is_spaced or text in ("++", "--")):
            if "text" in (self.tokens[index - 1].kind, self.tokens[index + 1].kind):
                return  # joins strings
            yield self.replaced(region, SHIFTED, index, index + 1, TURNED[text])
        elif text == "!" and not (region.form == CONDITION and index == region.first):
            yield self.replaced(region, NEGATED, index, index + 1, "")
        elif text in ("&&", "||") and token.is_spaced:
            yield from self.without_operand(region, index, text)
        elif text == "(" and self.is_call(region, index):
            yield from self.swapped(region, index)

    def text(self, index):
        return self.tokens[index].text if index < len(self.tokens) else ""

    def is_all(self, region, index):
        """The comparison is the whole condition: that is negated already."""
        return region.form == CONDITION and not any(
            self.text(each) in ("&&", "||") for each in range(region.first, region.last))

    def without_operand(self, region, index, sign):
        """`a && b` to `a` and to `b`: a condition forgotten."""
        limits = LIMITS | {"||"} | ({"&&"} if sign == "&&" else set())
        neutral = "true" if sign == "&&" else "false"
        right = index + 1
        while right < region.last and self.text(right) not in limits | {")", "]", "}"}:
            right = self.partners[right] + 1 if self.text(right) in "([{" else right + 1
        left = index
        while left > region.first and self.text(left - 1) not in limits | {"(", "[", "{"}:
            left = self.partners[left - 1] if self.text(left - 1) in ")]}" else left - 1
        for first, last in ((left, index), (index + 1, right)):
            if first < last:
                yield self.replaced(region, NEGATED, first, last, neutral)

    def is_call(self, region, index):
        """A call whose result depends on the order of its arguments."""
        if index == region.first:
            return False
        before = index - 1
        if self.text(before) == ">":  # of template arguments
            while before > region.first and self.text(before) != "<":
                before -= 1
            before -= 1
        return self.text(before) not in NOT_CALLED | SYMMETRIC and (
            self.tokens[before].kind == "name" or self.text(before) == "]")

    def swapped(self, region, opening):
        """Each two arguments that stand beside each other."""
        closing = self.partners[opening]
        parts, start, index = [], opening + 1, opening + 1
        while index < closing:
            if self.text(index) == ",":
                parts.append((start, index))
                start = index + 1
            index = self.partners[index] + 1 if self.text(index) in "([{" else index + 1
        parts.append((start, closing))
        for (first, middle), (second, last) in zip(parts, parts[1:]):
            one, other = self.written(first, middle), self.written(second, last)
            if one and other and one != other:
                yield self.replaced(region, SWAPPED, first, last, f"{other}, {one}")

    def replaced(self, region, kind, first, last, text):
        before = self.written(region.first, first, True)
        after = self.written(last, region.last)
        gap = " " if self.has_gap(last) else ""
        changed = before + text + gap + after
        place, shown_before = self.surroundings(region, first, last, text)
        return Fault(region, kind, changed, f"`{shown_before}` to `{place}`",
                     self.tokens[first].line)

    def surroundings(self, region, first, last, text):
        """The change with a few tokens around it, so that a reader sees which one it is."""
        begin, end = max(region.first, first - 6), min(region.last, last + 6)
        head, tail = self.written(begin, first, True), self.written(last, end)
        gap = " " if self.has_gap(last) else ""
        return (shortened(head + text + gap + tail),
                shortened(head + self.written(first, last) + gap + tail))

    def has_gap(self, index):
        return (0 < index < len(self.tokens) and
                self.tokens[index - 1].end < self.tokens[index].start)

    def written(self, first, last, with_gap=False):
        """Tokens as they stand, on one line, without comments."""
        words = []
        for index in range(first, last):
            words.append(self.tokens[index].text)
            if self.has_gap(index + 1) and (with_gap or index + 1 < last):
                words.append(" ")
        return "".join(words)


def shortened(text, limit=90):
    return text if len(text) <= limit else text[:limit - 3] + "..."
