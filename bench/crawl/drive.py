#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one participant of suite crawl, in the protocol that run.py speaks:

  drive.py '{"who": "weir", "command": [...], "is_durable": true, "disk": FOLDER}' --workload NAME [--quick]

The crawler is a process of its own and nginx another one; nobody is bound to a processor. What was requested is taken from
nginx's log, and the time runs from the first request to the end of the crawler, so that nobody pays for the start of an
interpreter. A crawl that misses pages, or fetches one twice, is no measurement.
"""
import argparse
import collections
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from crawlers import Job, Weir, crawler_of  # noqa: E402
from nginx import Server, addresses  # noqa: E402
from processes import NotPlayed, Watch, cpu_times, start  # noqa: E402
from web import black_hole, make_pages, most_in_a_second  # noqa: E402

LONGEST_S = 170
SMALL_PAGE = "<!DOCTYPE html><html><head><title>Item</title></head><body><p>" + "An item of a list. " * 50 + "</p></body></html>"
ITEMS = f"location /item/ {{ return 200 '{SMALL_PAGE}'; }}"


@contextmanager
def work_folder(parts):
    with tempfile.TemporaryDirectory(prefix="crawl-", dir=parts["disk"]) as folder:
        os.chmod(folder, 0o755)
        yield folder


class Run:
    """A crawler that runs to its end: what it took, and what the server saw of it."""

    def __init__(self, command, server, ends_with=(0,)):
        self.server = server
        watch, errors = Watch(server.process.pid), tempfile.TemporaryFile()
        began = time.monotonic()
        process = start(command, None, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
        try:
            self.status, usage = wait(process, LONGEST_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        ended = time.time()
        self.server_busy = watch.busy()[0]
        if self.status not in ends_with:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise RuntimeError(f"{command[0]} ended with {self.status}: {said[-1][:200]}")
        self.wall = time.monotonic() - began
        self.cpu, self.megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        self.requests = [each for each in server.requests() if each.path != "/robots.txt"]
        if not self.requests:
            raise RuntimeError(f"{command[0]} requested nothing")
        self.seconds = ended - self.requests[0].at
        self.pages = {(each.host, each.path) for each in self.requests if each.status == 200}

    def expect(self, count, is_once=True):
        if len(self.pages) != count:
            raise RuntimeError(f"{len(self.pages)} of {count} pages were fetched")
        if is_once and len(self.requests) > count:
            raise RuntimeError(f"{len(self.requests)} requests for {count} pages")

    def reading(self, **more):
        """Pages a second. CPU time and memory are those of the crawler."""
        count = len(self.pages)
        return {
            "value": count / self.seconds,
            "unit": "1/s",
            "busy": round(self.cpu / self.wall, 3),
            "load_busy": round(self.server_busy, 3),
            "own_ns": round(self.cpu / count * 1e9),
            "cpu_us": self.cpu / count * 1e6,
            "memory_mb": round(self.megabytes),
            **more,
        }


def wait(process, seconds):
    """The exit status and the resources of a process and its children."""
    deadline = time.monotonic() + seconds
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > deadline:
            raise RuntimeError(f"it did not end within {seconds} s")
        time.sleep(0.002)


def only_ours(crawler):
    if not isinstance(crawler, Weir) or not crawler.is_durable:
        raise NotPlayed("only ours has such a state")


def site(crawler, parts, quick):
    """W1: a whole site. Participants that are slower by orders crawl a part of it."""
    count = 5_000 if quick else 20_000
    pages = make_pages(parts["disk"] + f"/crawl-site-{count}", count)
    few = 0 if not crawler.has_page_limit else 500 if quick else 3_000
    with work_folder(parts) as folder, Server(pages) as server:
        run = Run(crawler.command(Job(folder, [server.url()], pages=few)) or not_played(), server)
        if not few:
            run.expect(count)
        elif len(run.pages) < few * 0.95:
            raise RuntimeError(f"{len(run.pages)} of {few} pages were fetched")
        check_records(crawler, folder, run.pages)
        return run.reading()


def url_list(crawler, parts, quick):
    """W2: a list of URLs, without following links."""
    count = 10_000 if quick else 100_000
    few = count if not crawler.has_page_limit else 1_000 if quick else 5_000
    with work_folder(parts) as folder, Server(folder, locations=ITEMS) as server:
        listed = Path(folder, "list")
        listed.write_text("".join(server.url(f"/item/{i}\n") for i in range(few)))
        run = Run(crawler.command(Job(folder, list_file=str(listed), follow=False)) or not_played(), server)
        run.expect(few)
        check_records(crawler, folder, run.pages)
        return run.reading()


def polite(crawler, parts, quick):
    """W3: many hosts at a rate each. By how much the crawl was longer than that allows, and the most that a host saw."""
    only_ours(crawler)
    hosts, rate, pages = addresses(200 if quick else 2_000), 5, 20 if quick else 50
    links = "".join(f'<a href="/item/{i}">{i}</a>' for i in range(1, pages))
    locations = f"location = / {{ return 200 '<!DOCTYPE html><title>Host</title>{links}'; }}\n{ITEMS}"
    with work_folder(parts) as folder, Server(folder, hosts, locations) as server:
        listed = Path(folder, "list")
        listed.write_text("".join(server.url("/\n", host) for host in hosts))
        run = Run(crawler.command(Job(folder, list_file=str(listed), rate=rate)), server)
        run.expect(len(hosts) * pages)
        times = [each.at for each in run.requests]
        ideal = (pages - 1) / rate
        return run.reading(
            value=max(0.0, ((max(times) - min(times)) / ideal - 1) * 100), unit="%", most=most_in_a_second(run.requests)
        )


def faults(crawler, parts, quick):
    """W4: of the requests, 5 % get 503 with Retry-After, 1 % no answer, 1 % a reset. Pages a second, of which none may be
    missing; `early` counts requests to a host that had said to wait."""
    slow = crawler.has_page_limit
    hosts, pages = addresses(10 if quick or slow else 200), 100
    links = "".join(f'<a href="/item/{i}">{i}</a>' for i in range(1, pages))
    top = "split_clients $request_id $fault { 5% busy; 1% stall; 1% reset; * none; }"
    rules = (
        "if ($fault = busy) { add_header Retry-After 1 always; return 503; } if ($fault = reset) { return 444; }\n"
        f"if ($fault = stall) {{ proxy_pass http://127.0.0.1:{black_hole()}; }}"
    )
    locations = (
        f"location = / {{ return 200 '<!DOCTYPE html><title>Host</title>{links}'; }}\n"
        f"location /item/ {{ {rules} try_files /item =404; }}"
    )
    with work_folder(parts) as folder:
        Path(folder, "item").write_text(SMALL_PAGE)
        with Server(folder, hosts, locations, top) as server:
            listed = Path(folder, "list")
            listed.write_text("".join(server.url("/\n", host) for host in hosts))
            job = Job(folder, list_file=str(listed), retries=7)
            run = Run(crawler.command(job) or not_played(), server, ends_with=(0, 8))
            lost = len(hosts) * pages - len(run.pages)
            return run.reading(lost=lost, early=early_requests(run.requests))


def early_requests(requests):
    """Requests that came within a second of a 503 with Retry-After: 1, without those that were under way."""
    early, until = 0, {}
    for each in sorted(requests, key=lambda request: request.at):
        busy = until.get(each.host, -1.0)
        early += busy + 0.1 < each.at < busy + 0.99 and each.status in (200, 503)
        if each.status == 503:
            until[each.host] = each.at
    return early


def kills(crawler, parts, quick):
    """W5: kill -9 at intervals, and the same command again. The pages that were fetched again, for each kill."""
    only_ours(crawler)
    count, copies, interval = (5_000, 2, 0.7) if quick else (20_000, 6, 3.0)
    pages = make_pages(parts["disk"] + f"/crawl-site-{count}", count)
    with work_folder(parts) as folder, Server(pages, addresses(copies)) as server:  # the same site on several hosts
        listed = Path(folder, "list")
        listed.write_text("".join(server.url("/p/0.html\n", host) for host in server.hosts))
        command = crawler.command(Job(folder, list_file=str(listed)))
        killed, began = 0, time.monotonic()
        while True:
            process = start(command, None, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                status = process.wait(interval)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
            if time.monotonic() - began > LONGEST_S:
                raise RuntimeError(f"not complete after {killed} kills")
        if status != 0:
            raise RuntimeError(f"the last run ended with {status}: {process.stderr.read().decode()[-200:]}")
        requests = server.requests()
        found = {(each.host, each.path) for each in requests if each.status == 200}
        check_records(crawler, folder, found)
        again = len(requests) - len(found)
        return {
            "value": again / max(1, killed),
            "unit": "pages",
            "lost": count * copies - len(found),
            "kills": killed,
            "again_percent": round(100 * again / len(found), 2),
        }


def known(crawler, parts, quick):
    """W6: a crawl that knows many URLs, half of them pending, is started again. Its memory, and the time until its first
    request. The file is in the system's cache."""
    only_ours(crawler)
    count, hosts = 1_000_000 if quick else 10_000_000, addresses(100)
    with work_folder(parts) as folder, Server(folder, hosts, ITEMS) as server:
        command = crawler.command(Job(folder, [server.url("/item/0", host) for host in hosts]))
        make_state(Path(folder), count, command, server)
        server.forget()
        began = time.time()
        process = start(command, None, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not (seen := server.requests()):
                if time.time() - began > 60 or process.poll() is not None:
                    raise RuntimeError("the crawl requested nothing")
            cpu = cpu_times(process.pid)[0]
            time.sleep(1)
            megabytes = peak_megabytes(process.pid)
        finally:
            process.kill()
            process.wait()
        return {"value": megabytes, "unit": "MB", "start_s": round(seen[0].at - began, 2), "start_cpu_s": round(cpu, 2)}


def make_state(folder, count, command, server):
    """A state of a crawl that was stopped: rows as a crawl writes them, but for their fingerprints, which are random."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the first crawl ended with {done.returncode}: {done.stderr[-200:]}")
    with sqlite3.connect(folder / "state") as on:
        on.execute("PRAGMA journal_mode = DELETE")
        on.execute("PRAGMA synchronous = OFF")
        hosts = len(server.hosts)
        numbers = f"WITH RECURSIVE n(i) AS (SELECT {hosts + 1} UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        names = [row[1] for row in on.execute("PRAGMA table_info(urls)")]
        fixed = {
            "id": "n.i",
            "host": f"1 + n.i % {hosts}",
            "fingerprint": "random()",
            "depth": "1 + n.i % 9",
            "found_as": "'a'",
            "url": "h.origin || '/item/section-' || (n.i % 977) || '/article-' || n.i || '.html'",
        }
        columns = ", ".join(fixed.get(name, f"u.{name}") for name in names)
        on.execute(
            f"{numbers} INSERT INTO urls SELECT {columns} FROM n, (SELECT * FROM urls LIMIT 1) u "
            f"JOIN hosts h ON h.id = 1 + n.i % {hosts}"
        )
        names = [row[1] for row in on.execute("PRAGMA table_info(pages)")]
        columns = ", ".join("n.i" if name == "id" else f"p.{name}" for name in names)
        numbers = numbers.replace(f"< {count})", f"< {count // 2})")
        on.execute(f"{numbers} INSERT INTO pages SELECT {columns} FROM n, (SELECT * FROM pages LIMIT 1) p")
        on.execute(f"UPDATE counters SET value = {count} WHERE name = 'discovered'")
        on.execute(f"UPDATE counters SET value = {count // 2} WHERE name = 'done'")


def peak_megabytes(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the crawl has ended")


def check_links(crawler, parts, quick):
    """W7: links of a site, 40 of which are broken, are checked. Pages a second."""
    broken = 40
    count = 2_000 if quick else 10_000
    if not isinstance(crawler, Weir):
        count = 100 if quick else 500
    pages = make_pages(parts["disk"] + f"/crawl-check-{count}", count, broken)
    # The header allows linkchecker more than 10 requests a second.
    with work_folder(parts) as folder, Server(pages, locations="add_header LinkChecker yes always;") as server:
        run = Run(crawler.command(Job(folder, [server.url()], check=True)) or not_played(), server, ends_with=(0, 1, 3, 8))
        run.expect(count, is_once=False)
        missing = {each.path for each in run.requests if each.status == 404}
        if len(missing) != broken:
            raise RuntimeError(f"{len(missing)} of {broken} broken links were requested")
        return run.reading()


def check_records(crawler, folder, pages):
    """The lines of our output: one for each page."""
    if not isinstance(crawler, Weir):
        return
    lines = collections.Counter()
    for line in Path(folder, "pages.json").read_text().splitlines():
        lines[json.loads(line)["url"]] += 1
    if len(lines) != len(pages) or max(lines.values()) != 1:
        raise RuntimeError(f"{sum(lines.values())} lines of output for {len(pages)} pages")


def not_played():
    raise NotPlayed("the participant has no such way")


WORKLOADS = {
    "site": site,
    "list": url_list,
    "polite": polite,
    "faults": faults,
    "kills": kills,
    "known": known,
    "check": check_links,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", type=json.loads)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--reps")
    options = parser.parse_args()
    if options.workload not in WORKLOADS:
        return 64
    try:
        reading = WORKLOADS[options.workload](crawler_of(options.parts), options.parts, options.quick)
    except NotPlayed:
        return 64
    except (OSError, RuntimeError, ValueError, KeyError, sqlite3.Error) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(json.dumps({"workload": options.workload, **reading}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
