# SPDX-License-Identifier: MIT
"""Workload `deliver` of suite service: webhooks to many hosts. All tasks wait before the first one is run. What was
delivered, and when, is taken from nginx's log; a delivery that is missing or came twice is no measurement."""
import collections
import contextlib
import http.client
import json
import re
import subprocess
import tempfile
import time
from pathlib import Path

from nginx import Server, addresses
from processes import NotPlayed, start

HOSTS = {True: 100, False: 1_000}
DELIVERIES = {True: 5_000, False: 50_000}
HOOK = "location /hook { return 204; }"
LONGEST_S = 150


def written_by(pid):
    """Bytes that a process has caused to be written to disks so far."""
    for line in Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("write_bytes:"):
            return int(line.split()[1])
    return 0


def urls(server, quick):
    return [server.url(f"/hook/{i}", server.hosts[i % HOSTS[quick]]) for i in range(DELIVERIES[quick])]


def reading(server, quick, written):
    requests, count = server.requests(), DELIVERIES[quick]
    seen = collections.Counter(each.path for each in requests if each.status == 204)
    if len(seen) != count or max(seen.values()) > 1:
        raise RuntimeError(f"{len(seen)} of {count} deliveries arrived, in {len(requests)} requests")
    times = [each.at for each in requests]
    return {"value": count / (max(times) - min(times)), "unit": "1/s", "written_bytes": round(written / count)}


class Program:
    """`weir serve` as a user starts it, on a file of its own."""

    def __init__(self, command, disk):
        self.folder = tempfile.TemporaryDirectory(prefix="deliver-", dir=disk)
        words = ["serve", "--port", "0", "--database", f"{self.folder.name}/tasks.db", "--allow-address", "127.0.0.0/8"]
        self.process = start([*command, *words], None, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
        raise RuntimeError("weir serve did not say its address")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def post(self, path, body=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as on:
            on.request("POST", path, json.dumps(body or {}), {"Content-Type": "application/json"})
            answer = on.getresponse()
            text = answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{path}: {answer.status} {text[:200]}")

    def pending(self):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as on:
            on.request("GET", "/queues/hooks")
            counts = json.loads(on.getresponse().read())["counts"]
            return counts["pending"] + counts["running"]


def deliver(parts, quick):
    with Server("/nonexistent", addresses(HOSTS[quick]), HOOK) as server, Program(parts["program"], parts["disk"]) as ours:
        ours.post("/queues/hooks/pause")
        tasks = [
            {"kind": "http", "queue": "hooks", "payload": {"url": url, "body": {"number": i, "text": "a small event"}}}
            for i, url in enumerate(urls(server, quick))
        ]
        for i in range(0, len(tasks), 1000):
            ours.post("/tasks/batch", {"tasks": tasks[i : i + 1000]})
        before = written_by(ours.process.pid)
        ours.post("/queues/hooks/resume")
        wait_until(lambda: ours.pending() == 0)
        return reading(server, quick, written_by(ours.process.pid) - before)


def deliver_by_peer(parts, quick):
    """The peer adds its tasks, says 'filled', and delivers them at 'go'."""
    with Server("/nonexistent", addresses(HOSTS[quick]), HOOK) as server:
        command = [*parts["peer"], "deliver", str(parts["at"]), str(DELIVERIES[quick]), "0", "0"]
        pipe = subprocess.PIPE
        process = start(command, None, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        try:
            process.stdin.write("\n".join(urls(server, quick)) + "\n")
            process.stdin.flush()
            if process.stdout.readline() != "filled\n":
                if process.wait(10) == 64:
                    raise NotPlayed("deliver")
                raise RuntimeError((process.stderr.read().strip().splitlines() or ["no message"])[-1])
            before = written_by(parts["server"]) + written_by(process.pid)
            process.stdin.write("go\n")
            process.stdin.flush()
            if process.stdout.readline() != "done\n":
                raise RuntimeError("it did not deliver all")
            return reading(server, quick, written_by(parts["server"]) + written_by(process.pid) - before)
        finally:
            process.kill()
            process.wait()


def wait_until(is_so):
    deadline = time.monotonic() + LONGEST_S
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the deliveries did not end within {LONGEST_S} s")
        time.sleep(0.05)
