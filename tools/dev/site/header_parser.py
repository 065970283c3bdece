# SPDX-License-Identifier: MIT
"""Reads the declarations of a header, with the comments above and behind them.

Not a C++ parser: it knows enough for headers in the style of this project. A declaration ends at its
semicolon or body; bodies of functions are skipped, those of namespaces and classes are entered.
"""

import dataclasses
import re


@dataclasses.dataclass
class Item:
    kind: str  # function, class, enum, macro, other
    text: str  # the declaration, without a body
    comment: str  # the lines above it
    trailing: str  # the comment behind it
    starts_group: bool  # a blank line or a comment is before it
    access: str = "public"
    name: str = ""
    body: str = ""  # of classes and enums, as written
    members: list = dataclasses.field(default_factory=list)


HEAD = r"(?:template\s*<[^{;]*?>\s*(?:requires[^{;]*?\)\s*)?)*"
SCOPE = re.compile(HEAD + r"(namespace|class|struct|enum class|enum)\b(?:\s*\[\[[^]]*\]\])?\s*([\w:]*)",
                   re.S)


class Parser:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.intro = ""

    def parse(self):
        """The items of namespace weir, namespaces inside it but `detail` included."""
        return list(self.scope("namespace", "public"))

    def scope(self, kind, access):
        comment, fresh, is_first = [], True, True
        while self.at < len(self.text):
            blank = re.compile(r"\s*").match(self.text, self.at)[0]
            self.at += len(blank)
            if blank.count("\n") > 1:
                if is_first and comment:
                    self.intro = self.intro or "\n".join(comment)
                comment, fresh = [], True
            rest = self.text[self.at:self.at + 2]
            if not rest:
                return
            if rest == "//":
                comment.append(self.line()[2:].removeprefix(" ").rstrip())
                if comment[-1].startswith("SPDX"):
                    comment.pop()
                fresh = True
                continue
            if rest[0] == "#":
                if is_first and comment:
                    self.intro = self.intro or "\n".join(comment)
                    comment = []
                is_first = False
                item = self.directive(comment, fresh)
                if item:
                    yield item
                comment, fresh = [], False
                continue
            if rest[0] == "}":
                self.at += 1
                return
            if rest[0] == ";":
                self.at += 1
                continue
            label = re.compile(r"(public|protected|private):").match(self.text, self.at)
            if label and kind == "class":
                access, comment, fresh = label[1], [], True
                self.at = label.end()
                continue
            is_first = False
            yield from self.declaration("\n".join(comment), fresh, access)
            comment, fresh = [], False

    def line(self):
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        found = self.text[self.at:end]
        self.at = end
        return found

    def directive(self, comment, fresh):
        lines = [self.line()]
        while lines[-1].endswith("\\"):
            self.at += 1
            lines.append(self.line())
        macro = re.match(r"#\s*define\s+(WEIR_\w*[A-Z])(\([^)]*\))", lines[0])
        if not macro:
            return None
        return Item("macro", macro[1] + macro[2], "\n".join(comment), "", fresh, name=macro[1])

    def lines(self, start, line_start=None):
        """The text from there to here, less the indentation of its first line."""
        line_start = self.text.rfind("\n", 0, start) + 1 if line_start is None else line_start
        indent = re.compile(r" *").match(self.text, line_start)[0]
        return self.text[start:self.at].replace("\n" + indent, "\n").rstrip()

    def skip_literal(self):
        quote = self.text[self.at]
        self.at += 1
        while self.text[self.at] != quote:
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at += 1

    def skip_text(self):
        """Skips the comment or the literal that begins here; False if none does."""
        char = self.text[self.at]
        if self.text.startswith("//", self.at):
            self.line()
        elif char == '"' or char == "'" and not self.text[self.at - 1].isalnum():
            self.skip_literal()
        else:
            return False
        return True

    def skip_braces(self):
        """From an opening brace to behind the closing one."""
        depth = 0
        while True:
            if self.skip_text():
                continue
            char = self.text[self.at]
            depth += {"{": 1, "}": -1}.get(char, 0)
            self.at += 1
            if depth == 0:
                return

    def declaration(self, comment, fresh, access):
        start, depth = self.at, 0
        while True:
            if self.skip_text():
                continue
            char = self.text[self.at]
            if char == ";" and depth == 0:
                text = self.lines(start)
                self.at += 1
                yield self.finish(Item("other", text, comment, "", fresh, access))
                return
            if char == "{" and depth == 0:
                text = self.lines(start)
                scope = SCOPE.match(text)
                if scope and "=" not in re.sub(r"<.*?>", "", text, flags=re.S):
                    yield from self.enter(scope, text, comment, fresh, access)
                    return
                self.skip_braces()
                if re.search(r"requires\s*(\([^()]*\)\s*)?$", text):
                    continue  # a requirement, not a body
                following = re.compile(r"\s*(.?)").match(self.text, self.at)
                if following[1] == ";":
                    continue
                if following[1] in (",", "{") and re.search(r"\)[^)]*:", text):
                    continue  # one of a constructor's initialisers
                yield self.finish(Item("function", text, comment, "", fresh, access))
                return
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0)
            self.at += 1

    def enter(self, scope, text, comment, fresh, access):
        kind, name = scope[1], scope[2]
        start = self.at
        if kind == "namespace":
            self.at += 1
            inner = list(self.scope("namespace", "public"))
            if "detail" not in name:
                yield from inner
            return
        if kind.startswith("enum"):
            self.skip_braces()
            members = []
        else:
            self.at += 1
            members = list(self.scope("class", "private" if kind == "class" else "public"))
        body = self.lines(start, self.text.rfind("\n", 0, start) + 1)
        item = Item("enum" if kind.startswith("enum") else "class", text, comment, "", fresh, access,
                    name, body, members)
        following = re.compile(r"\s*;").match(self.text, self.at)
        self.at = following.end() if following else self.at
        yield self.finish(item)

    def finish(self, item):
        behind = re.compile(r"[ \t]*//[ ]?(.*)").match(self.text, self.at)
        if behind:
            item.trailing = behind[1].strip()
            self.at = behind.end()
        return item
