#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one participant of suite service, in the protocol that run.py speaks:

  drive.py '{"weir": [...], "program": [...], "load": "...", "audience": "...", "disk": FOLDER}' --workload NAME [--quick]
  drive.py '{"peer": [...], "at": URL_OR_PORT, "server": PID}' --workload NAME [--quick]

Ours is a server of its own process, on a fresh file on the disk, and is given its tasks over HTTP; peers are libraries in
one process of Node with the producer, on a server that is as durable. Nobody is bound to a processor.
"""
import argparse
import json
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from deliver import deliver, deliver_by_peer  # noqa: E402
from processes import NotPlayed, start  # noqa: E402
from served import Served  # noqa: E402

LENGTHS = {True: ("0.7", "1.5"), False: ("1", "4")}
PROCESSED = {True: 20_000, False: 60_000}
SAMPLES = {True: 150, False: 500}
BACKLOG = {True: 100_000, False: 1_000_000}


class Service(Served):
    """Our server with handlers that do nothing, which prints its port."""

    def __init__(self, parts, workers=64):
        self.parts = parts
        super().__init__(
            parts["disk"],
            lambda file: [*parts["weir"], file, str(workers)],
            lambda line: int(line) if line.strip().isdigit() else None,
        )

    def submit(self, queue, in_flight, each, lengths, most=0):
        command = [self.parts["load"], str(self.port), queue, str(in_flight), str(each), *lengths]
        done = subprocess.run(command + ([str(most)] if most else []), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        said = json.loads(done.stdout.splitlines()[-1])
        return said["requests"] / said["seconds"]

    def fill(self, queue, count):
        """Tasks that wait."""
        self.ask("POST", f"/queues/{queue}/pause")
        self.submit(queue, 2, 1000, ("0", "0"), count)

    def completed(self, queue):
        return self.ask("GET", f"/queues/{queue}")["counts"]["completed"]

    def drain(self, queue, warm, count):
        """Tasks a second, of those that wait: from a moment when some are done to one when enough are."""
        self.ask("POST", f"/queues/{queue}/resume")
        began = first = None
        while True:
            done, now = self.completed(queue), time.monotonic()
            if began is None and done >= warm:
                began, first = now, done
            if began is not None and done >= first + count:
                return (done - first) / (now - began)
            time.sleep(0.01)

    def megabytes(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
        return 0


def submit_16(parts, quick):
    with Service(parts) as one:
        # What is submitted is not run meanwhile, as with the peers.
        one.ask("POST", "/queues/bench/pause")
        return {"value": one.submit("bench", 16, 1, LENGTHS[quick]), "unit": "1/s"}


def submit_bulk(parts, quick):
    with Service(parts) as one:
        one.ask("POST", "/queues/bench/pause")
        return {"value": one.submit("bench", 2, 1000, LENGTHS[quick]), "unit": "1/s"}


def process(parts, quick):
    count = PROCESSED[quick]
    with Service(parts, workers=1000) as one:
        one.fill("bench", count + count // 2)
        return {"value": one.drain("bench", count // 4, count), "unit": "1/s"}


def latency_p50(parts, quick):
    with Service(parts) as one:
        return latency_of(one, quick)


def latency_of(one, quick):
    """From before the request to the moment when the handler runs, by one clock."""
    body = b'{"kind":"stamp","payload":{"number":1,"text":"a small task"}}'
    request = b"POST /tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    samples, count = [], SAMPLES[quick]
    with socket.create_connection(("127.0.0.1", one.port)) as on:
        on.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(count):
            started = time.time()
            on.sendall(request + body)
            answer = on.recv(65536)
            made = json.loads(answer[answer.index(b"\r\n\r\n") + 4 :])["id"]
            time.sleep(0.005)
            while True:
                found = one.ask("GET", f"/tasks/{made}")
                if found["state"] == "completed":
                    break
            if i >= count // 5:
                samples.append(found["result"] / 1e6 - started)
    samples.sort()
    return {"value": statistics.median(samples) * 1000, "unit": "ms", "p99": samples[int(len(samples) * 0.99)] * 1000}


def slower(without, having):
    """By how many percent, at the median of rounds that follow each other."""
    return max(0.0, (1 - statistics.median(b / a for a, b in zip(without, having))) * 100)


def backlog(parts, quick, which):
    """An empty one and one in which many wait, in turns."""
    turns, lengths = (3, ("0.2", "0.7")) if quick else (7, ("0.3", "1.5"))
    with Service(parts, workers=1000) as empty, Service(parts, workers=1000) as full:
        full.fill("bench", BACKLOG[quick])
        rates = {empty: [], full: []}
        if which == "submit":
            for one in (empty, full):
                one.ask("POST", "/queues/other/pause")
            for _ in range(turns):
                for one, kept in rates.items():
                    kept.append(one.submit("other", 16, 1, lengths))
        else:
            count = 4_000 if quick else 10_000
            for turn in range(turns):
                empty.fill("bench", 3 * count)
                for one, kept in rates.items():
                    kept.append(one.drain("bench", one.completed("bench") + count // 2, count))
                    one.ask("POST", "/queues/bench/pause")
                empty.ask("POST", "/queues/bench/resume")
                while empty.ask("GET", "/queues/bench")["counts"]["pending"] > 0:
                    time.sleep(0.02)
        return {"value": slower(rates[empty], rates[full]), "unit": "%"}


def memory(parts, quick):
    """What a service grows by from the time when a fifth of its tasks has been run."""
    count = 100_000 if quick else 1_000_000
    with Service(parts, workers=1000) as one:
        at_first = None
        for part in range(10):
            one.submit("bench", 2, 1000, ("0", "0"), count // 10)
            while True:
                counts = one.ask("GET", "/queues/bench")["counts"]
                if counts["pending"] + counts["running"] == 0:
                    break
                time.sleep(0.05)
            if part == 1:
                at_first = one.megabytes()
        return {"value": max(0.0, one.megabytes() - at_first), "unit": "MB", "all": one.megabytes()}


def dashboards_1000(parts, quick):
    count, turns, lengths = (200, 3, ("0.3", "1")) if quick else (1000, 7, ("0.3", "1.5"))
    with Service(parts) as alone, Service(parts) as watched:
        command = [parts["audience"], str(watched.port), str(count), "10"]
        audience = start(command, None, stdout=subprocess.PIPE, text=True)
        try:
            if audience.stdout.readline() != "ready\n":
                raise RuntimeError("the dashboards did not connect")
            before = watched.megabytes()
            rates = {alone: [], watched: []}
            for _ in range(turns):
                for one, kept in rates.items():
                    kept.append(one.submit("bench", 16, 1, lengths))
            grown = watched.megabytes() - before
        finally:
            audience.kill()
            audience.wait()
        if grown > 256:
            raise RuntimeError(f"memory grew by {grown:.0f} MB")
        return {"value": slower(rates[alone], rates[watched]), "unit": "%", "grown_mb": round(grown, 1)}


WORKLOADS = {
    "submit_16": submit_16,
    "submit_bulk": submit_bulk,
    "process": process,
    "latency_p50": latency_p50,
    # The same without a disk: what is left is ours.
    "latency_memory": lambda parts, quick: latency_p50({**parts, "disk": "/dev/shm"}, quick),
    "backlog_submit": lambda parts, quick: backlog(parts, quick, "submit"),
    "backlog_process": lambda parts, quick: backlog(parts, quick, "process"),
    "memory_growth": memory,
    "dashboards_1000": dashboards_1000,
    "deliver": deliver,
}


def peer(parts, workload, quick):
    if workload == "deliver":
        return deliver_by_peer(parts, quick)
    count = SAMPLES[quick] if workload == "latency_p50" else PROCESSED[quick]
    return peer_reading([*parts["peer"], workload, str(parts["at"]), str(count), *LENGTHS[quick]], workload)


def peer_reading(command, workload):
    done = subprocess.run(command, capture_output=True, text=True, timeout=150)
    if done.returncode == 64:
        raise NotPlayed(workload)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    said = json.loads(done.stdout.splitlines()[-1])
    if "median_ms" in said:
        return {"value": said["median_ms"], "unit": "ms", "p99": said["p99_ms"]}
    return {"value": said["requests"] / said["seconds"], "unit": "1/s"}


def main(workloads, peer):
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", type=json.loads)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--reps")
    options = parser.parse_args()
    if options.workload not in workloads:
        return 64
    try:
        if "peer" in options.parts:
            reading = peer(options.parts, options.workload, options.quick)
        else:
            reading = workloads[options.workload](options.parts, options.quick)
    except NotPlayed:
        return 64
    except (OSError, RuntimeError, ValueError, KeyError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(json.dumps({"workload": options.workload, **reading}))
    return 0


if __name__ == "__main__":
    sys.exit(main(WORKLOADS, peer))
