# SPDX-License-Identifier: MIT
"""Markdown to HTML: CommonMark with tables, headings with the anchors that GitHub gives them, links
as the site needs them, code in colours."""

import html
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from pages import Section

MARKED = {"wrong", "rejected"}  # code that shows a mistake; tests/docs/extract.py explains these
HEADER = re.compile(r"<?(weir/[\w/]+\.hpp)>?$")


def style_sheet():
    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="monokai").get_style_defs(".code")
    # The comments of that style are too dark to read.
    dark += "\n.code :is(.c, .c1, .cm, .cp) { color: var(--quiet); }"
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


class Renderer:
    def __init__(self, links):
        self._links = links
        self._markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        self._markdown.add_render_rule("fence", lambda _, tokens, index, *rest:
                                       fence(tokens[index]))
        self._markdown.add_render_rule("code_block", lambda _, tokens, index, *rest:
                                       code(tokens[index].content, "cpp"))

    def render(self, page):
        """Fills in title, HTML and sections of the page."""
        tokens = [token for token in self._markdown.parse(page.markdown) if not is_comment(token)]
        anchors = {}
        for position, token in enumerate(tokens):
            if token.type == "heading_open":
                heading(page, token, tokens[position + 1], anchors)
            elif token.type == "inline":
                self._links_of(page, token, tokens[position - 1].type != "heading_open")
                self._text_of(page, plain(token), tokens[position - 1].type)
            elif token.type in ("fence", "code_block"):
                self._text_of(page, token.content, token.type)
        page.title = page.sections[0].title
        page.html = self._markdown.renderer.render(tokens, self._markdown.options, {})

    @staticmethod
    def _text_of(page, text, before):
        if page.sections and before != "heading_open":
            page.sections[-1].text.append(text)

    def _links_of(self, page, inline, link_headers):
        children, inside_link = [], False
        for child in inline.children:
            if child.type == "link_open":
                child.attrs["href"] = self._links.resolve(page, child.attrs["href"])
            elif child.type == "image":
                child.attrs["src"] = self._links.resolve(page, child.attrs["src"])
            inside_link = child.type == "link_open" or inside_link and child.type != "link_close"
            children += [child] if inside_link or not link_headers else self._linked(page, child)
        inline.children = children

    def _linked(self, page, child):
        """A header in backquotes becomes a link to its page."""
        name = HEADER.match(child.content) if child.type == "code_inline" else None
        target = name and self._links.header(page, name[1])
        if not target or target == page.target.split("/")[-1]:
            return [child]
        return [Token("link_open", "a", 1, attrs={"href": target}), child,
                Token("link_close", "a", -1)]


def is_comment(token):
    return token.type == "html_block" and token.content.lstrip().startswith("<!--")


def plain(inline):
    return "".join(" " if child.type in ("softbreak", "hardbreak") else child.content
                   for child in inline.children if child.type != "html_inline")


def heading(page, token, inline, anchors):
    """The anchor as GitHub makes it: lower case, no punctuation, hyphens for spaces, and a number
    for the second of its name."""
    title = plain(inline)
    anchor = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
    count = anchors.setdefault(anchor, 0)
    anchors[anchor] += 1
    token.attrs["id"] = f"{anchor}-{count}" if count else anchor
    page.sections.append(Section(title, token.attrs["id"], int(token.tag[1])))


def fence(token):
    language, _, kind = token.info.strip().partition(" ")
    return code(token.content, language or "text", "wrong" if kind in MARKED else language)


def code(text, language, kind=""):
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
        coloured = highlight(text, lexer, HtmlFormatter(nowrap=True))
    except ClassNotFound:
        coloured = html.escape(text, quote=False)
    return f'<pre class="code {html.escape(kind)}"><code>{coloured}</code></pre>\n'
