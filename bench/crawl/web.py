# SPDX-License-Identifier: MIT
"""The web that suite crawl crawls: generated pages and one worker of nginx on loopback addresses. nginx logs every request,
so that the driver knows what a crawler requested, when, and how often, without asking the crawler."""
import collections
import contextlib
import os
import random
import shutil
import signal
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from processes import start

NGINX = "/usr/sbin/nginx"
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


def addresses(count):
    """127.1.0.1 and so on."""
    return [f"127.{1 + i // 62500}.{i // 250 % 250}.{1 + i % 250}" for i in range(count)]


@dataclass(frozen=True)
class Request:
    at: float  # seconds since the epoch, to a millisecond
    host: str  # the address that it came to
    status: int
    path: str


class Server:
    """One worker of nginx, which serves the folder. `hosts`: the addresses; `locations`: more of nginx's configuration."""

    def __init__(self, folder, hosts=("127.0.0.1",), locations="", top=""):
        self.hosts = list(hosts)
        self.work = tempfile.TemporaryDirectory(prefix="weir-bench-")
        self.log = Path(self.work.name, "requests")
        self._held = []  # connections that get no answer
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._configure(folder, locations, top)
        command = [NGINX, "-e", "stderr", "-p", self.work.name, "-c", f"{self.work.name}/nginx.conf"]
        self.process = start(command, None)
        for _ in range(2000):
            if self.process.poll() is not None:
                raise RuntimeError("nginx has ended")
            with contextlib.suppress(OSError), socket.create_connection((self.hosts[-1], self.port)):
                break
            time.sleep(0.005)

    def _configure(self, folder, locations, top):
        work = self.work.name
        paths = "".join(f"{kind}_temp_path {work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        listens = "".join(f"listen {host}:{self.port};\n" for host in self.hosts)
        Path(work, "nginx.conf").write_text(
            f"daemon off; master_process off; worker_processes 1; worker_rlimit_nofile 20000; pid {work}/pid;\n"
            "error_log stderr crit; events { worker_connections 16000; }\n"
            "http { log_format seen '$msec $server_addr $status $request_uri'; sendfile on; tcp_nopush on;\n"
            f"access_log {self.log} seen buffer=256k flush=1s;\n"
            f"keepalive_requests 1000000000; default_type text/html; {paths}\n"
            f"reset_timedout_connection on;\n{top}\n"
            f"server {{ {listens} root {folder}; location = /robots.txt {{ return 404; }}\n{locations}\n}} }}\n"
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for each in self._held:
            each.close()
        self.work.cleanup()

    def url(self, path="/p/0.html", host=None):
        return f"http://{host or self.hosts[0]}:{self.port}{path}"

    def requests(self):
        """All requests so far, in the order of the log. nginx writes its buffer when it opens its log again."""
        os.kill(self.process.pid, signal.SIGUSR1)
        time.sleep(0.1)
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            at, host, status, path = line.split(" ", 3)
            found.append(Request(float(at), host, int(status), unquote(path)))
        return found

    def forget(self):
        """Later calls of requests() begin here."""
        self.requests()
        os.truncate(self.log, 0)


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
