#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Searches the site in a browser, from the disk: site_search_test.py FOLDER CHROMIUM."""

import html.parser
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

SEARCHES = {  # words -> a result that is among the first three
    "token bucket": "docs/patterns.html#5-token-bucket",
    "weir::token_bucket": "docs/reference/flow-token_bucket.html",
    "gather": "docs/reference/gather.html",
    "schedules": "docs/service.html#schedules",
}
NOTHING = "xyzzyplugh"


class Results(html.parser.HTMLParser):
    """The links in the list of results."""

    def __init__(self, text):
        super().__init__()
        self.links, self._inside = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._inside = self._inside or dict(attrs).get("id") == "results"
        if tag == "a" and self._inside:
            self.links.append(dict(attrs)["href"].removeprefix("./"))

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "ol"


def search(folder, chromium, words):
    address = f"{(folder / 'index.html').as_uri()}?q={urllib.parse.quote(words)}"
    with tempfile.TemporaryDirectory() as profile:
        page = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
             "--virtual-time-budget=10000", "--dump-dom", address],
            check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return Results(page).links


def main():
    folder, chromium = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    failed = 0
    for words, expected in SEARCHES.items():
        found = search(folder, chromium, words)[:3]
        if expected not in found:
            print(f"'{words}' finds {found}, not {expected}")
            failed = 1
    if found := search(folder, chromium, NOTHING):
        print(f"'{NOTHING}' finds {found}")
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
