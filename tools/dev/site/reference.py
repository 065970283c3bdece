# SPDX-License-Identifier: MIT
"""The API reference as Markdown, from the comments in the public headers: one page a header, and an
index that is grouped by layer.
"""

import collections
import re
import textwrap

from header_parser import Parser

# Layers in the order of the index: the folder below include/weir, and a title.
LAYERS = {
    "": "Core",
    "sync": "Synchronisation",
    "flow": "Flow control",
    "io": "I/O",
    "http": "HTTP",
    "ws": "WebSocket",
    "db": "Databases",
    "crawl": "The crawler",
    "service": "The task service",
    "program": "The program",
    "testing": "Testing",
}
Header = collections.namedtuple("Header", "name layer page intro names text")


def signature(item):
    text = re.sub(r"\s*//.*", "", item.text)
    # A constructor's initialisers are not its users' business.
    text = re.sub(r"(\)(?:\s*noexcept)?)\s*:\s[^:].*$", r"\1", text, flags=re.S)
    if "\n" not in text:
        text = text.replace("inline ", "")
    return text.strip() + ("" if item.kind == "macro" else ";")


def for_the_library(item):
    return any(text.lower().startswith(("for the library", "for operations"))
               for text in (item.comment, item.trailing))


def is_noise(item, owner=""):
    """Declarations that are not for users, or are self-evident."""
    text = " ".join(item.text.split())
    if item.access == "private" or for_the_library(item):
        return True
    if re.match(r"friend\b|static_assert\b|extern template\b", text) or text.endswith("= delete"):
        return True
    if item.kind == "other" and re.match(r"(template ?<.*> ?)?(class|struct|enum class) [\w:]+$", text):
        return True  # declared ahead
    if not owner:
        # A member that is defined outside its class, or a specialisation.
        return not item.comment and (re.search(r"\w(<[^()]*>)?::~?\w+\(", text) is not None
                                     or text.startswith("template <>"))
    return any(re.search(pattern, text) for pattern in (
        r"detail::(?!start_options|unique_function)\w+(<[^>]*>)?[&*>]",  # types that users cannot name
        rf"~{owner}\(",
        rf"^(explicit )?{owner}\((const )?{owner}(<\w+>)?&&?",
        r"\boperator=\(|^using [\w:]+$" if not item.comment else "^$",
        r"^struct \w+$" if not item.comment and item.access == "protected" else "^$",
    ))


def prose(comment):
    """A comment as Markdown: indented lines are code, the rest is text."""
    lines, was_code = [], True
    for line in comment.splitlines():
        is_code = line.startswith("    ")
        if is_code and not was_code and lines[-1]:
            lines.append("")  # without it the code would continue the paragraph
        if not is_code:
            line = re.sub(r"([<*])", r"\\\1", line)
        lines.append(line)
        was_code = is_code
    return "\n".join(lines).strip("\n")


def groups(items, owner=""):
    """Groups items with no blank line or comment between them; leaves out groups that begin with an
    item for the library alone."""
    gathered, hidden = [], False
    for item in items:
        hidden = for_the_library(item) or hidden and not item.starts_group
        if hidden or is_noise(item, owner):
            continue
        joins = gathered and not item.starts_group and is_simple(item) \
            and is_simple(gathered[-1][0]) and gathered[-1][0].access == item.access
        if joins:
            gathered[-1].append(item)
        else:
            gathered.append([item])
    return gathered


def is_simple(item):
    return item.kind in ("function", "other", "macro")


def show_group(group):
    """One declaration is followed by its comment as text; several keep it where it was written."""
    awaits = [item for item in group if "make_operation" in item.text]
    shown = [item for item in group if item not in awaits]
    if shown:
        yield "```cpp"
        for item in shown:
            if len(shown) > 1 and item.comment:
                yield textwrap.indent(item.comment, "// ", lambda _: True)
            yield signature(item) + (f"  // {item.trailing}" if item.trailing else "")
        yield "```"
    for item in awaits if len(shown) > 1 else group:
        yield prose(item.comment)
    yield ""


def as_written(item):
    """A struct of options or an enum is shown as its own source text."""
    return item.text + " " + item.body + ";"


def is_plain(item):
    return item.kind == "enum" or "struct" in item.text and \
        not any("(" in member.text.partition("=")[0] for member in item.members)


def show_class(item, level):
    yield f"{'#' * level} `{item.name}`"
    yield ""
    if item.comment:
        yield prose(item.comment) + "\n"
    if is_plain(item):
        yield "```cpp\n" + as_written(item) + "\n```\n"
        return
    yield "```cpp\n" + re.sub(r"\s*//.*", "", item.text) + ";\n```\n"
    for access, title in (("public", ""), ("protected", "For classes that derive from it:")):
        members = [member for member in item.members if member.access == access]
        shown = groups(members, item.name)
        if shown and title:
            yield title + "\n"
        for group in shown:
            if group[0].kind in ("class", "enum"):
                yield from show_class(group[0], level + 1)
            else:
                yield from show_group(group)


def page(header, text):
    parser = Parser(text)
    items = parser.parse()
    lines = [f"# weir/{header}", "", prose(parser.intro), "",
             f"```cpp\n#include <weir/{header}>\n```", ""]
    names = []
    for group in groups(items):
        if group[0].kind in ("class", "enum"):
            names.append(group[0].name)
            lines += show_class(group[0], 2)
            continue
        found = [name for name in map(name_of, group) if name]
        new = [name for name in dict.fromkeys(found) if name not in names]
        names += new
        if new:
            lines += ["## " + ", ".join(f"`{name}`" for name in new), ""]
        lines += show_group(group)
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"
    return body, parser.intro, names


def name_of(item):
    if item.kind == "macro":
        return item.name
    text = re.sub(r"\s*//.*", "", item.text)
    text = re.sub(r"^(template\s*<.*?>\s*\n|\s*requires.*\n)+", "", text + "\n")
    found = re.search(r"using (\w+)\s*=|concept (\w+)|(\w+)\s*\(|constexpr [^=]*?(\w+)\s*=", text)
    return next(filter(None, found.groups()), "") if found else ""


def page_of(header):
    """`sync/mutex.hpp` is described by the page `sync-mutex.md`."""
    return header.removesuffix(".hpp").replace("/", "-") + ".md"


def headers(root):
    """Every header that declares something for users, in the order of its name."""
    folder = root / "include/weir"
    for path in sorted(folder.rglob("*.hpp")):
        name = path.relative_to(folder).as_posix()
        if "detail/" in name or "base/" in name:
            continue
        layer = name.split("/")[0] if "/" in name else ""
        if layer not in LAYERS:
            raise ValueError(f"include/weir/{name}: the reference has no layer '{layer}'")
        text, intro, names = page(name, path.read_text(encoding="utf-8"))
        if names:
            yield Header(name, layer, page_of(name), intro, list(dict.fromkeys(names)), text)


def index(all_headers):
    """The index page."""
    lines = ["# API reference", "", "`#include <weir/weir.hpp>` brings all of the core."]
    for layer, title in LAYERS.items():
        lines += ["", f"## {title}", "", "| header | purpose | names |", "|---|---|---|"]
        for header in all_headers:
            if header.layer == layer:
                names = ", ".join(f"`{each}`" for each in header.names)
                title = f"[weir/{header.name}]({header.page})"
                lines.append(f"| {title} | {summary(header)} | {names} |")
    return "\n".join(lines) + "\n"


def summary(header):
    """The first sentence of the header."""
    first = " ".join(header.intro.split("\n\n")[0].split()).split(". ")[0].rstrip(".")
    return prose(first).replace("|", "\\|")
