#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants each problem that site_links.py finds, and expects it to be found."""

import pathlib
import sys
import tempfile
import unittest

import site_links


class SiteLinks(unittest.TestCase):
    def check(self, files, expected):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, text in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
            self.assertEqual(list(site_links.problems(folder)), expected)

    def test_a_right_site(self):
        self.check({"index.html": '<a href="a/b.html#c">b</a><a href="https://example.com">e</a>',
                    "a/b.html": '<h2 id="c">c</h2><a href="#c">c</a><a href="../index.html">i</a>'},
                   [])

    def test_a_missing_page(self):
        self.check({"index.html": '<a href="b.html">b</a>'}, ["index.html: b.html leads nowhere"])

    def test_a_link_out_of_the_site(self):
        self.check({"index.html": '<a href="../b.html">b</a>'},
                   ["index.html: ../b.html leads nowhere"])

    def test_a_missing_anchor(self):
        self.check({"index.html": '<a href="#c">c</a>'}, ["index.html: #c has no such anchor"])

    def test_a_script_from_elsewhere(self):
        self.check({"index.html": '<script src="https://example.com/x.js"></script>'},
                   ["index.html: loads https://example.com/x.js from elsewhere"])

    def test_a_page_without_a_way_to_it(self):
        self.check({"index.html": "", "b.html": ""},
                   ["b.html: no way from index.html leads here"])

    def test_an_id_used_twice(self):
        self.check({"index.html": '<p id="a"></p><p id="a"></p>'},
                   ["index.html: 2 elements have the id a"])


if __name__ == "__main__":
    sys.exit(unittest.main())
