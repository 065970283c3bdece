# SPDX-License-Identifier: MIT
"""Where links between files of the repository lead on the site."""

import posixpath
import re

from pages import REFERENCE
from reference import page_of

IMAGES = (".svg", ".png")


class Links:
    def __init__(self, root, pages):
        self._root = root
        self._targets = {page.source: page.target for page in pages}
        self.assets = set()   # images that pages show
        self.sources = set()  # files and folders that pages link to
        self.broken = []

    def resolve(self, page, link):
        """The link as the page on the site has it."""
        if re.match(r"[a-z]+:|#", link):
            return link
        path, hash_sign, fragment = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
        target = self._target(path)
        if target is None:
            self.broken.append(f"{page.source}: {link} leads nowhere")
            return link
        relative = posixpath.relpath(target, posixpath.dirname(page.target) or ".")
        return relative + hash_sign + fragment

    def header(self, page, name):
        """The link to the reference of a header such as `weir/task.hpp`; None if it has no page."""
        target = self._header(name)
        return target and posixpath.relpath(target, posixpath.dirname(page.target) or ".")

    def _target(self, path):
        known = self._targets.get(path) or self._targets.get(posixpath.join(path, "README.md")) \
            or self._header(path.removeprefix("include/"))
        if known:
            return known
        if not (self._root / path).exists():
            return None
        if path.endswith(IMAGES):
            self.assets.add(path)
            return path
        self.sources.add(path)
        return source_target(self._root, path)

    def _header(self, name):
        if name == "weir":
            return self._targets[f"{REFERENCE}/README.md"]
        return self._targets.get(f"{REFERENCE}/{page_of(name.removeprefix('weir/'))}") \
            if name.startswith("weir/") else None


def source_target(root, path):
    return path + ("/index.html" if (root / path).is_dir() else ".html")
