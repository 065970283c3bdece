# SPDX-License-Identifier: MIT
"""How each participant of suite crawl is called. All get the same number of requests in flight and robots.txt switched off;
everybody writes a record of each page, but wget2, which drops the pages.

A job says what is to be crawled; command() makes the words of it, or None if the participant has no such way.
"""
from dataclasses import dataclass, field
from pathlib import Path

CONCURRENCY = 16


@dataclass
class Job:
    folder: str  # for outputs
    urls: list = field(default_factory=list)
    list_file: str = ""
    follow: bool = True
    pages: int = 0  # at most; 0: all
    retries: int = 0  # with a time limit of 2 s for an answer
    check: bool = False  # links are to be reported, too
    rate: int = 0  # requests a second to each host


class Weir:
    def __init__(self, program, is_durable=True):
        self.program, self.is_durable = program, is_durable
        self.has_page_limit = False

    def command(self, job):
        # With a rate the hosts set the pace; each keeps its connection.
        words = [*self.program, "crawl", "--concurrency", 2_000 if job.rate else CONCURRENCY]
        words += ["--per-host", CONCURRENCY, "--per-address", 0, "--rate", job.rate]
        words += ["--ignore-robots", "*", "--progress", "none"]
        if self.is_durable:
            words += ["--state", f"{job.folder}/state"]
        words += ["--output", f"{job.folder}/{'report' if job.check else 'pages'}.json"]
        if not job.follow:
            words += ["--depth", 0]
        if job.check:
            words += ["--check", "--format", "json"]
        if job.pages:
            words += ["--max-pages", job.pages]
        if job.retries:
            words += ["--attempts", job.retries + 1, "--timeout", 2]
        if job.list_file:
            words += ["--list", job.list_file]
        return [str(word) for word in [*words, *job.urls]]


class Wget2:
    """Threads instead of requests in flight. It keeps no state, and pages are read and dropped."""

    has_page_limit = False

    def command(self, job):
        if job.check:
            return None  # with --spider and --recursive it leaves pages out
        words = ["wget2", "--quiet", "--no-config", "--no-robots", "--max-threads", CONCURRENCY, "--no-hsts"]
        words += ["--output-document", "/dev/null"]
        if job.follow:
            words += ["--recursive", "--level", 0]
        if job.retries:  # which does not mean 503
            words += ["--tries", job.retries + 1, "--timeout", 2, "--waitretry", 1]
        if job.list_file:
            words += ["--input-file", job.list_file]
        return [str(word) for word in [*words, *job.urls]]


class Scrapy:
    has_page_limit = True

    def __init__(self, words):
        self.words = words

    def command(self, job):
        if job.check:
            return None
        words = [*self.words, job.pages or 10**9, CONCURRENCY, f"{job.folder}/pages.jsonl", "yes" if job.follow else "no"]
        words += ["--retries", job.retries, *job.urls]
        return [str(word) for word in [*words, *([f"@{job.list_file}"] if job.list_file else [])]]


class Crawlee:
    has_page_limit = True

    def __init__(self, words):
        self.words = words

    def command(self, job):
        if job.check or job.retries:
            return None
        words = [*self.words, job.pages or 10**9, CONCURRENCY, f"{job.folder}/pages.jsonl", "yes" if job.follow else "no"]
        return [str(word) for word in [*words, *job.urls, *([f"@{job.list_file}"] if job.list_file else [])]]


class Linkchecker:
    has_page_limit = False

    def command(self, job):
        if not job.check:
            return None
        Path(job.folder, "rc").write_text("[checking]\nmaxrequestspersecond=100000\n")  # its default is 10
        words = ["linkchecker", "--config", f"{job.folder}/rc", "--threads", CONCURRENCY, "--no-robots", "--no-status", "--no-warnings"]
        words += ["--output", "csv"]
        return [str(word) for word in [*words, *job.urls]]


def crawler_of(parts):
    who, words = parts["who"], parts["command"]
    if who == "weir":
        return Weir(words, parts["is_durable"])
    return {"wget2": Wget2, "linkchecker": Linkchecker}[who]() if who in ("wget2", "linkchecker") else {
        "scrapy": Scrapy,
        "crawlee": Crawlee,
    }[who](words)
