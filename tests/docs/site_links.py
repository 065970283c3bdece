#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the links of a static site: each leads to a file in it, and to an anchor of that file;
nothing is loaded from elsewhere; each page can be reached from index.html.

Usage: site_links.py FOLDER. Prints one line per problem, and ends with 1 if there is one.
"""

import collections
import html.parser
import pathlib
import posixpath
import re
import sys
import urllib.parse

LOADED = {"img": "src", "script": "src", "link": "href"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.loaded = [], []
        self.anchors = collections.Counter()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.anchors[attrs["id"]] += 1
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        elif tag in LOADED and LOADED[tag] in attrs:
            self.loaded.append(attrs[LOADED[tag]])


def problems(folder):
    pages = {path.relative_to(folder).as_posix(): Page(path.read_text(encoding="utf-8"))
             for path in sorted(folder.rglob("*.html"))}
    linked = collections.defaultdict(set)
    for name, page in pages.items():
        for anchor, count in page.anchors.items():
            if count > 1:
                yield f"{name}: {count} elements have the id {anchor}"
        for link in page.loaded:
            if re.match(r"(?!data:)[a-z]+:|//", link):
                yield f"{name}: loads {link} from elsewhere"
        for link in page.links + page.loaded:
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(
                posixpath.dirname(name), urllib.parse.unquote(target))) if target else name
            linked[name].add(target)
            if target.startswith("..") or not (folder / target).is_file():
                yield f"{name}: {link} leads nowhere"
            elif anchor and urllib.parse.unquote(anchor) not in pages[target].anchors:
                yield f"{name}: {link} has no such anchor"
    reached, todo = set(), ["index.html"]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += linked[name]
    for name in sorted(pages.keys() - reached):
        yield f"{name}: no way from index.html leads here"


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    found = list(problems(folder))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
