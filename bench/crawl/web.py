# SPDX-License-Identifier: MIT
"""The web that suite crawl crawls: generated pages, a server that never answers, and what can be read from nginx's log."""
import collections
import random
import shutil
import socket
import threading
from pathlib import Path

PAGE_BYTES = 20_000
NAVIGATION, LINKS = 40, 60
PARAGRAPH = '<p class="text" id="t%d">%s <a href="/p/%d.html">page %d</a> &amp; more.</p>\n'
WORDS = "lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor invidunt".split()
FILLER = " ".join(random.Random(1).choices(WORDS, k=5000))


def page_text(number, count, choose, extra=""):
    """About 20 KB with 60 links: the navigation, which is on every page, and 20 pages at random."""
    navigation = "".join(
        f'<li class="nav-item"><a class="nav-link" href="/p/{i % count}.html">Section {i}</a></li>\n' for i in range(NAVIGATION)
    )
    others = [choose.randrange(count) for _ in range(LINKS - NAVIGATION)]
    head = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Page {number}</title>\n'
        f"<style>body {{ margin: 0 auto; }}</style></head>\n<body>\n<nav><ul>\n{navigation}</ul></nav>\n<main>\n"
    )
    tail = f"{extra}</main></body></html>\n"
    room = (PAGE_BYTES - len(head) - len(tail)) // len(others) - len(PARAGRAPH) - 10
    paragraphs = []
    for i, target in enumerate(others):
        first = choose.randrange(len(FILLER) - room)
        paragraphs.append(PARAGRAPH % (i, FILLER[first : first + room], target, target))
    return head + "".join(paragraphs) + tail


def make_pages(folder, count, broken=0):
    """Pages /p/0.html to /p/{count - 1}.html below the folder. The first pages have one broken link each, `broken` in all.
    A folder that is there is used again."""
    folder = Path(folder)
    done = folder / "complete"
    if done.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "p").mkdir(parents=True)
    choose = random.Random(count)
    for number in range(count):
        extra = f'<a href="/p/missing-{number}.html">gone</a>\n' if number < broken else ""
        (folder / "p" / f"{number}.html").write_text(page_text(number, count, choose, extra))
    done.touch()
    return folder


def black_hole():
    """The port of a server that accepts connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    kept = []

    def accept():
        while True:
            kept.append(listener.accept())

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def most_in_a_second(requests):
    """The largest number of requests that a host got within less than a second."""
    times = collections.defaultdict(list)
    for each in requests:
        times[each.host].append(round(each.at * 1000))
    worst = 0
    for found in times.values():
        found.sort()
        first = 0
        for last, at in enumerate(found):
            while at - found[first] >= 1000:
                first += 1
            worst = max(worst, last - first + 1)
    return worst
