# SPDX-License-Identifier: MIT
"""The pages of the site, and the navigation, which docs/README.md gives: each of its headings is a
section, and the first link of each row of a table is an entry."""

import dataclasses
import posixpath
import re

import reference

ROW = re.compile(r"^\| *\[[^]]*\]\(([^)]+)\)")
REFERENCE = "docs/reference"


@dataclasses.dataclass
class Page:
    source: str  # the path of the Markdown file in the repository, or where it would be
    target: str  # the path of the HTML file in the site
    markdown: str
    group: str = ""  # the layer, of a page of the reference
    title: str = ""  # from here on: what the renderer found
    html: str = ""
    sections: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Section:
    """A heading, and the text up to the next one."""
    title: str
    anchor: str
    level: int
    text: list = dataclasses.field(default_factory=list)


def target_of(source):
    """README.md is the page of its folder."""
    folder, name = posixpath.split(source)
    name = "index.html" if name == "README.md" else name.removesuffix(".md") + ".html"
    return posixpath.join(folder, name)


def all_pages(root):
    """([Page], [(title of the section, [source])])"""
    written = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md"]
    written += sorted(path.relative_to(root).as_posix() for path in root.glob("docs/*.md"))
    pages = [Page(source, target_of(source), (root / source).read_text(encoding="utf-8"))
             for source in written]
    headers = list(reference.headers(root))
    pages.append(Page(f"{REFERENCE}/README.md", f"{REFERENCE}/index.html",
                      reference.index(headers), group="index"))
    for header in headers:
        source = f"{REFERENCE}/{header.page}"
        pages.append(Page(source, target_of(source), header.text, reference.LAYERS[header.layer]))
    return pages, navigation(root)


def navigation(root):
    nav = [("", ["README.md", "docs/README.md"])]
    for line in (root / "docs/README.md").read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if line.startswith("## "):
            nav.append((line.removeprefix("## "), []))
        elif row:
            path = posixpath.normpath(posixpath.join("docs", row[1]))
            if path == "include/weir":
                path = REFERENCE
            nav[-1][1].append(path if path.endswith(".md") else f"{path}/README.md")
    named = {source for _, sources in nav for source in sources}
    for path in root.glob("docs/*.md"):
        if f"docs/{path.name}" not in named:
            raise ValueError(f"docs/README.md has no row for docs/{path.name}")
    return nav
