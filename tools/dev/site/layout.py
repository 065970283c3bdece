# SPDX-License-Identifier: MIT
"""The frame around a page: its title, the navigation and the search box."""

import html
import posixpath
import string

from pages import REFERENCE


class Layout:
    def __init__(self, template, nav, pages):
        by_source = {page.source: page for page in pages}
        self._template = string.Template(template)
        self._nav = [(title, [by_source[source] for source in sources]) for title, sources in nav]

    def html(self, page):
        to_root = posixpath.relpath(".", posixpath.dirname(page.target) or ".")
        title = "Weir" if page.target == "index.html" else f"{page.title} · Weir"
        return self._template.substitute(
            title=html.escape(title), root=to_root, navigation=self._navigation(page),
            content=page.html)

    def _navigation(self, page):
        lines = []
        for title, entries in self._nav:
            if title:
                lines.append(f"<h2>{html.escape(title)}</h2>")
            lines.append("<ul>")
            for entry in entries:
                here = entry is page or page.group and entry.source.startswith(REFERENCE)
                lines.append(f"<li>{link(page, entry.target, entry.title, entry is page)}")
                if here:
                    lines += self._contents(page, entry)
                lines.append("</li>")
            lines.append("</ul>")
        return "\n".join(lines)

    @staticmethod
    def _contents(page, entry):
        """The headings of the page itself; for a page of the reference, its layers too."""
        lines = ["<ul>"]
        for section in entry.sections:
            if section.level == 2:
                lines.append(f"<li>{link(page, f'{entry.target}#{section.anchor}', section.title)}")
                if section.title == page.group:
                    lines.append(f"<ul><li>{link(page, page.target, page.title, True)}</li></ul>")
                lines.append("</li>")
        return lines + ["</ul>"]


def link(page, target, text, current=False):
    target, hash_sign, anchor = target.partition("#")
    target = posixpath.relpath(target, posixpath.dirname(page.target) or ".")
    mark = ' aria-current="page"' if current else ""
    return f'<a href="{target}{hash_sign}{anchor}"{mark}>{html.escape(text)}</a>'
