#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the documentation as a static site: README.md as the front page, the pages of docs/, the
API reference from the headers, the sources that pages link to, and a search.

Usage: build.py ROOT OUTPUT. The site needs no server and loads nothing from elsewhere: it can be
opened from the disk.

Why not mkdocs or doxygen, which Debian has: the pages are written for GitHub's Markdown, and mkdocs
reads another dialect (lists, fences in lists, anchors); its search does not work from the disk, and
its themes in Debian 12 load scripts from a CDN. Doxygen wants its own comments in the headers, and
shows the details of templates that reference.py leaves out. markdown-it reads the dialect of
the pages, and the rest is in this folder.
"""

import pathlib
import shutil
import sys

from layout import Layout
from links import Links
from pages import all_pages
from render import Renderer, style_sheet
from search import search_index
from sources import source_page

HERE = pathlib.Path(__file__).resolve().parent


def build(root, output):
    """Returns the number of pages, or raises ValueError with every link that leads nowhere."""
    pages, nav = all_pages(root)
    links = Links(root, pages)
    renderer = Renderer(links)
    for page in pages:
        renderer.render(page)
    shown = {}  # the sources, of which some link to others
    while missing := sorted(links.sources - shown.keys()):
        for path in missing:
            shown[path] = source_page(root, path)
            renderer.render(shown[path])
    made = list(shown.values())
    if links.broken:
        raise ValueError("\n".join(links.broken))

    shutil.rmtree(output, ignore_errors=True)
    layout = Layout((HERE / "page.html").read_text(encoding="utf-8"), nav, pages + made)
    for page in pages + made:
        write(output / page.target, layout.html(page))
    for asset in sorted(links.assets):
        (output / asset).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / asset, output / asset)
    write(output / "site/index.js", search_index(pages))
    write(output / "site/search.js", (HERE / "search.js").read_text(encoding="utf-8"))
    write(output / "site/style.css",
          (HERE / "style.css").read_text(encoding="utf-8") + style_sheet())
    return len(pages + made)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    root, output = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
    try:
        count = build(root, output)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} pages: {output / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
