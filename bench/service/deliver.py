# SPDX-License-Identifier: MIT
"""Workload `deliver` of suite service: webhooks to many hosts. All tasks wait before the first one is run. What was
delivered, and when, is taken from nginx's log; a delivery that is missing or came twice is no measurement."""
import collections
import re
import subprocess
import time
from pathlib import Path

from nginx import Server, addresses
from processes import NotPlayed, start
from served import Served

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


def program(parts):
    """`weir serve` as a user starts it."""
    options = ["--port", "0", "--allow-address", "127.0.0.0/8"]

    def port_in(line):
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        return int(found[1]) if found else None

    return Served(parts["disk"], lambda file: [*parts["program"], "serve", "--database", file, *options], port_in)


def pending(service):
    counts = service.ask("GET", "/queues/hooks")["counts"]
    return counts["pending"] + counts["running"]


def deliver(parts, quick):
    with Server("/nonexistent", addresses(HOSTS[quick]), HOOK) as server, program(parts) as ours:
        ours.ask("POST", "/queues/hooks/pause")
        tasks = [
            {"kind": "http", "queue": "hooks", "payload": {"url": url, "body": {"number": i, "text": "a small event"}}}
            for i, url in enumerate(urls(server, quick))
        ]
        for i in range(0, len(tasks), 1000):
            ours.ask("POST", "/tasks/batch", {"tasks": tasks[i : i + 1000]})
        before = written_by(ours.process.pid)
        ours.ask("POST", "/queues/hooks/resume")
        wait_until(lambda: pending(ours) == 0)
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
