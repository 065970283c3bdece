# SPDX-License-Identifier: MIT
"""Scrapy, its queue and its filter in memory: scrapy_crawl.py PAGES CONCURRENCY OUTPUT FOLLOW [--retries N] URL...

PAGES: at most about so many; FOLLOW: yes or no. '@FILE' in place of a URL is a file with one a line.
"""
import argparse
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess


class Pages(scrapy.Spider):
    name = "pages"

    def __init__(self, urls, follow):
        super().__init__()
        self.start_urls = urls
        self.follow = follow

    def parse(self, response):
        yield {"url": response.url, "status": response.status, "title": response.css("title::text").get()}
        if self.follow:
            yield from response.follow_all(css="a", callback=self.parse)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", type=int)
    parser.add_argument("concurrency", type=int)
    parser.add_argument("output")
    parser.add_argument("follow", choices=("yes", "no"))
    parser.add_argument("--retries", type=int, default=0)
    parser.add_argument("urls", nargs="+")
    options = parser.parse_args()
    urls = []
    for word in options.urls:
        urls += Path(word[1:]).read_text().split() if word.startswith("@") else [word]
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": options.concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": options.concurrency,
            "CLOSESPIDER_PAGECOUNT": options.pages,
            "COOKIES_ENABLED": False,
            "DOWNLOAD_TIMEOUT": 2 if options.retries else 30,
            "FEEDS": {options.output: {"format": "jsonlines"}},
            "LOG_ENABLED": False,
            "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
            "RETRY_ENABLED": options.retries > 0,
            "RETRY_TIMES": options.retries,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Pages, urls=urls[: options.pages], follow=options.follow == "yes")
    process.start()


if __name__ == "__main__":
    main()
