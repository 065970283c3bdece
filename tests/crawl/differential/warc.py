#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Archives a site of this machine with `weir crawl --warc` and reads the archive with npm's warcio,
which has no command `check` as Python's has: warc.mjs checks the digests of every record itself.

warc.py PROGRAM FOLDER. Exits with 77, for 'skipped', where there is no npm."""

import gzip
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import zlib

import run

PAGES = 60


def body_of(number):
    if number % 10 == 9:
        return "<title>the same</title>"
    links = "".join(f"<a href='/{(number * 3 + i) % PAGES}'>x</a>" for i in range(1, 5))
    return f"<title>{number}</title>{links}" + "text \u00fc " * (number * 20)


class Site(http.server.BaseHTTPRequestHandler):
    """Each page in another form: plain, gzip, deflate, chunks, until the end, redirect, error."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/robots.txt":
            self.answer(404, "", {})
            return
        number = int(self.path[1:])
        if number % 8 == 6:
            self.answer(301, "moved", {"Location": f"/{(number + 1) % PAGES}"})
        elif number % 8 == 7:
            self.answer(404, "not here", {})
        else:
            self.answer(200, body_of(number), {}, number % 8)

    def answer(self, status, text, fields, form=0):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        for name, value in fields.items():
            self.send_header(name, value)
        if form in (1, 3):
            self.send_header("Content-Encoding", "gzip")
            body = gzip.compress(body)
        if form == 2:
            self.send_header("Content-Encoding", "deflate")
            body = zlib.compress(body)
        if form in (3, 4):
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        elif form == 5:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def expected_of(origin):
    pages = {}
    pending = [0]
    while pending:
        number = pending.pop()
        url = f"{origin}/{number}"
        if url in pages:
            continue
        if number % 8 == 6:
            pages[url] = {"status": 301, "body": "moved"}
            pending.append((number + 1) % PAGES)
        elif number % 8 == 7:
            pages[url] = {"status": 404, "body": "not here"}
        else:
            pages[url] = {"status": 200, "body": body_of(number)}
            if number % 10 != 9:
                pending += [(number * 3 + i) % PAGES for i in range(1, 5)]
    return pages


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    node = run.installed_node(folder)
    if node is None:
        return 77
    archive = folder / "site.warc.gz"
    archive.unlink(missing_ok=True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_port}"
        crawl = subprocess.run([program, "crawl", origin + "/0", "--warc", str(archive),
                                "--progress", "none"], check=False, stdout=subprocess.DEVNULL)
        server.shutdown()
    if crawl.returncode != 0:
        print(f"weir crawl exited with {crawl.returncode}")
        return 1
    (folder / "expected.json").write_text(json.dumps(expected_of(origin)))
    return subprocess.run([node, "warc.mjs", str(archive), "expected.json"], cwd=folder,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
