# SPDX-License-Identifier: MIT
"""Finds the parts of a C++ source in which a fault can be switched on while the program runs:
conditions, statements, and the values that variables are initialised with. Code that the compiler
evaluates is left out.

This is not a parser of C++: what it takes for something else than it is does not compile with a
fault, and the fault is given up then."""

import dataclasses

from cpp_tokens import partners_of

CONDITION, STATEMENT, VALUE = "condition", "statement", "value"

DECLARING = frozenset("""alignas auto bool char class const constexpr constinit consteval double enum
    extern float inline int long mutable short signed static struct thread_local typename union
    unsigned void volatile""".split())
EVALUATED_ONCE = frozenset("static constexpr constinit thread_local".split())
EXPRESSION_WORDS = frozenset("co_await co_yield delete new throw return sizeof this".split())
SKIPPED = frozenset("asm friend goto namespace static_assert typedef using".split())
TYPES = frozenset("class struct union enum".split())
JUMPS = frozenset("break continue".split())
RESULTS = frozenset("return co_return co_yield throw".split())


@dataclasses.dataclass
class Region:
    form: str
    first: int  # indices of tokens: from first up to, but not including, last
    last: int
    function: str
    can_be_dropped: bool = False
    nested: list = dataclasses.field(default_factory=list)  # bodies of lambdas, as pairs of indices

    def own_indices(self):
        """The indices of the tokens outside the bodies of lambdas."""
        index = self.first
        bodies = dict(self.nested)
        while index < self.last:
            yield index
            index = bodies.get(index, index) + 1


class RegionFinder:
    def __init__(self, tokens):
        self.tokens = tokens
        self.partners = partners_of(tokens)
        self.regions = []
        self.function = ""
        self.body_end = -1

    def find(self):
        self.scope(0, len(self.tokens))
        return self.regions

    def text(self, index):
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def after(self, index):
        """The index behind the bracket that closes the one at index."""
        return self.partners.get(index, len(self.tokens)) + 1

    # --- namespaces and classes

    def scope(self, index, end):
        start = index
        while index < end:
            text = self.text(index)
            if self.tokens[index].kind == "line" or text == ";":
                index += 1
                start = index
            elif text in ("public", "private", "protected") and self.text(index + 1) == ":":
                index += 2
                start = index
            elif text == "operator":
                index += 2 if self.text(index + 1) not in ("(", "[") else 3
            elif text in ("(", "["):
                index = self.after(index)
            elif text == "=":
                index = self.end_of_statement(index)
            elif text == "{":
                index, start = self.definition(start, index)
            else:
                index += 1

    def definition(self, start, brace):
        """What stands before a brace tells what it opens. The index to go on at, and the start of
        what is being read there."""
        header = self.header(start, brace)
        texts = [self.text(index) for index in header]
        behind = self.after(brace)
        if "namespace" in texts or "extern" in texts[:1]:
            self.scope(brace + 1, behind - 1)
            return behind, behind
        if texts and texts[0] in TYPES:
            if texts[0] != "enum":
                self.scope(brace + 1, behind - 1)
            return behind, start
        if "(" not in texts or self.is_member_initialiser(header, brace):
            return behind, start
        if not {"constexpr", "consteval"} & set(texts):
            outer, self.function = self.function, self.name_of(header)
            self.body(brace)
            self.function = outer
        return behind, behind

    def body(self, brace):
        """The body of a function or a lambda."""
        outer, self.body_end = self.body_end, self.after(brace) - 1
        self.block(brace + 1, self.body_end)
        self.body_end = outer

    def header(self, start, brace):
        """The indices outside brackets, without attributes and a leading template<...>."""
        index = start
        while self.text(index) == "template":
            index = self.behind_angles(index + 1)
        found = []
        while index < brace:
            if self.text(index) == "[" and self.text(index + 1) == "[":
                index = self.after(index)
                continue
            found.append(index)
            index = self.after(index) if self.text(index) in ("(", "[", "{") else index + 1
        return found

    def behind_angles(self, index):
        depth = 0
        while index < len(self.tokens):
            depth += {"<": 1, ">": -1}.get(self.text(index), 0)
            index += 1
            if depth == 0:
                break
        return index

    def is_member_initialiser(self, header, brace):
        texts = [self.text(index) for index in header]
        return (":" in texts[texts.index("("):] and
                (self.tokens[brace - 1].kind == "name" or self.text(brace - 1) == ">") and
                self.text(brace - 1) not in ("noexcept", "try"))

    def name_of(self, header):
        texts = [self.text(index) for index in header]
        end = texts.index("(")
        begin = end - 1
        while begin > 0 and texts[begin - 1] in ("::", "~"):
            begin -= 2 if texts[begin - 1] == "::" and begin > 1 else 1
        return "".join(texts[max(begin, 0):end])

    # --- statements

    def block(self, index, end):
        while index < end:
            index = self.statement(index)

    def statement(self, index):
        """Returns the index behind it."""
        index = self.skip_attributes(index)
        text = self.text(index)
        if index >= len(self.tokens) or self.tokens[index].kind == "line" or text in (";", "}"):
            return index + 1
        if text == "{":
            self.block(index + 1, self.after(index) - 1)
            return self.after(index)
        if text in ("case", "default"):
            while self.text(index) != ":":
                index += 1
            return index + 1
        if text in ("if", "while", "for", "switch"):
            return self.controlled(index)
        if text == "do":
            index = self.statement(index + 1)
            self.condition(index + 2, self.after(index + 1) - 1)
            return self.after(index + 1) + 1
        if text == "try" or text == "else":
            return self.statement(index + 1)
        if text == "catch":
            return self.statement(self.after(index + 1))
        if text in TYPES:
            return self.local_type(index)
        end = self.end_of_statement(index)
        if text not in SKIPPED:
            self.plain_statement(index, end)
        return end + 1

    def skip_attributes(self, index):
        while self.text(index) == "[" and self.text(index + 1) == "[":
            index = self.after(index)
        return index

    def end_of_statement(self, index):
        while index < len(self.tokens) and self.text(index) not in (";", "}"):
            index = self.after(index) if self.text(index) in ("(", "[", "{") else index + 1
        return index

    def controlled(self, index):
        word = self.text(index)
        opening = index + 1
        is_evaluated = self.text(opening) != "constexpr"
        if not is_evaluated:
            opening += 1
        closing = self.after(opening) - 1
        parts = self.parts(opening, closing)
        if is_evaluated and word != "switch" and (word != "for" or len(parts) == 3):
            self.condition(*parts[1 if word == "for" else -1])
        return self.statement(closing + 1)

    def parts(self, opening, closing):
        """What semicolons separate inside the brackets."""
        found, start, index = [], opening + 1, opening + 1
        while index < closing:
            if self.text(index) == ";":
                found.append((start, index))
                start = index + 1
            index = self.after(index) if self.text(index) in ("(", "[", "{") else index + 1
        return found + [(start, closing)]

    def local_type(self, index):
        brace = index
        while self.text(brace) not in ("{", ";"):
            brace += 1
        if self.text(brace) == ";":
            return brace + 1
        if self.text(index) != "enum":
            self.scope(brace + 1, self.after(brace) - 1)
        return self.end_of_statement(self.after(brace)) + 1

    def condition(self, first, last):
        if first < last and not self.is_declaration(first, last):
            self.add(CONDITION, first, last)

    def plain_statement(self, index, end):
        text = self.text(index)
        if text in JUMPS:
            self.add(STATEMENT, index, end + 1, self.text(end + 1) != "}" or text == "continue")
        elif text in RESULTS:
            self.add(STATEMENT, index, end + 1, self.has_successor(index, end))
        elif not self.is_declaration(index, end):
            self.add(STATEMENT, index, end + 1, True)
        else:
            self.value(index, end)

    def has_successor(self, index, end):
        """A jump out of a function can only be left out if statements follow: `if (x) { return; }
        more();`. What would run off the end of a function is undefined."""
        if self.text(index) in ("return", "co_return") and end != index + 1:
            return False
        return (self.text(end + 1) == "}" and end + 1 != self.body_end and
                self.text(end + 2) not in ("}", "else", "catch", "case", "default", ""))

    def value(self, index, end):
        if self.text(index) in EVALUATED_ONCE:
            return
        while index < end and self.text(index) != "=":
            index = self.after(index) if self.text(index) in ("(", "[", "{") else index + 1
        if index + 1 < end:
            self.add(VALUE, index + 1, end)
        else:
            self.lambdas(index, end)

    def is_declaration(self, index, end):
        if self.text(index) in DECLARING:
            return True
        if self.text(index) == "::":
            index += 1
        if self.tokens[index].kind != "name" or self.text(index) in EXPRESSION_WORDS:
            return False
        index += 1
        while index < end:
            if self.text(index) == "::":
                index += 2
            elif self.text(index) == "<" and not self.tokens[index].is_spaced:
                index = self.behind_angles(index)
            else:
                break
        while index < end and self.text(index) in ("*", "&", "&&", "const"):
            index += 1
        return index < end and self.tokens[index].kind == "name"

    # --- what was found

    def add(self, form, first, last, can_be_dropped=False):
        region = Region(form, first, last, self.function, can_be_dropped)
        region.nested = self.lambdas(first, last)
        texts = {self.text(index) for index in region.own_indices()}
        has_lines = any(self.tokens[index].kind == "line" for index in range(first, last))
        if has_lines or (form != STATEMENT and {"co_await", "co_yield"} & texts):
            return  # GCC 12 does not compile these in ?: as it should
        self.regions.append(region)

    def lambdas(self, first, last):
        """The bodies of the lambdas; regions in them are added."""
        found, index = [], first
        while index < last:
            if self.text(index) != "[" or not self.opens_lambda(index):
                index += 1
                continue
            index = self.after(index)
            begin = index
            while index < last and self.text(index) not in ("{", ";"):
                index = self.after(index) if self.text(index) == "(" else index + 1
            if self.text(index) != "{":
                continue
            found.append((index, self.after(index) - 1))
            if "constexpr" not in (self.text(each) for each in range(begin, index)):
                self.body(index)
            index = self.after(index)
        return found

    def opens_lambda(self, index):
        before = self.tokens[index - 1]
        if self.text(index + 1) == "[" or before.text == "[":
            return False  # an attribute
        if before.kind == "name":
            return before.text in RESULTS | EXPRESSION_WORDS
        return before.kind == "sign" and before.text not in (")", "]")
