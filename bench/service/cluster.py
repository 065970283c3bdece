#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one participant of suite cluster, in the protocol that run.py speaks:

  cluster.py '{"weir": [...], "load": "...", "postgres": URL}' --workload NAME [--quick]
  cluster.py '{"peer": [...], "at": URL, "server": PID}' --workload NAME [--quick]

Ours are nodes, each a process with handlers that do nothing, on one PostgreSQL server, in a schema that each
measurement makes anew; they are given tasks over HTTP. Peers are libraries in processes of Node on the same server.
"""
import json
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import drive  # noqa: E402
from processes import NotPlayed  # noqa: E402
from served import Served  # noqa: E402

LENGTHS = {True: ("0.7", "1.5"), False: ("1", "4")}
PROCESSED = {True: 40_000, False: 200_000}
LIMITED = {True: 20_000, False: 60_000}
HELD_S = {True: 20, False: 120}
SHARED = 60_000  # tasks of which WAL and commits are counted


def psql(url, sql):
    done = subprocess.run(["psql", "-XAtq", url, "-c", sql], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout.strip()


class Node(drive.Service):
    """drive.Service on the server in place of a file."""

    def __init__(self, parts, workers=1000):
        self.parts = parts
        Served.__init__(
            self,
            None,
            lambda _: [*parts["weir"], parts["postgres"], str(workers)],
            lambda line: int(line) if line.strip().isdigit() else None,
        )

    def load(self, *words):
        done = subprocess.run([self.parts["load"], str(self.port), *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        said = json.loads(done.stdout.splitlines()[-1])
        return said["requests"] / said["seconds"]


class Cluster:
    """So many nodes with tables of their own, which the last measurement has not left full of dead rows."""

    def __init__(self, parts, count, workers=1000):
        self.parts, self.count, self.workers = parts, count, workers
        self.nodes = []
        self.stack = ExitStack()

    def __enter__(self):
        psql(self.parts["postgres"], "SET client_min_messages = error; DROP SCHEMA IF EXISTS weir CASCADE; CHECKPOINT")
        for _ in range(self.count):
            self.nodes.append(self.stack.enter_context(Node(self.parts, self.workers)))
        return self.nodes

    def __exit__(self, *failure):
        self.stack.close()


def submit(parts, quick, in_flight, each=1, nodes=1, kind=""):
    """Nothing is run meanwhile. With several nodes, each gets its part at the same time."""
    with Cluster(parts, nodes) as all_nodes:
        all_nodes[0].ask("POST", "/queues/bench/pause")
        share = max(1, in_flight // nodes)
        words = ["bench", str(share), str(each), *LENGTHS[quick], "0", *([kind] if kind else [])]
        commands = [[parts["load"], str(node.port), *words] for node in all_nodes]
        running = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in commands]
        rate = 0
        for one in running:
            text, problem = one.communicate()
            if one.returncode != 0:
                raise RuntimeError(problem.strip())
            said = json.loads(text.splitlines()[-1])
            rate += said["requests"] / said["seconds"]
        return {"value": rate, "unit": "1/s"}


def process(parts, quick, nodes):
    count = PROCESSED[quick]
    with Cluster(parts, nodes) as all_nodes:
        one = all_nodes[0]
        one.fill("bench", count + count // 2)
        psql(parts["postgres"], "ANALYZE")
        time.sleep(1)
        return {"value": one.drain("bench", count // 3, count), "unit": "1/s"}


def limited(parts, quick, nodes, kind, limits):
    count = LIMITED[quick]
    with Cluster(parts, nodes) as all_nodes:
        one = all_nodes[0]
        one.ask("POST", "/queues/bench/pause")
        one.ask("PATCH", "/queues/bench", limits)
        one.load("bench", 2, 1000, "0", "0", count + count // 2, *([kind] if kind else []))
        psql(parts["postgres"], "ANALYZE")
        return {"value": one.drain("bench", count // 4, count), "unit": "1/s"}


def latency(parts, quick, nodes):
    """With two nodes, the tasks are submitted to one that has no free worker for them."""
    if nodes == 1:
        with Cluster(parts, 1) as (one,):
            return drive.latency_of(one, quick)
    with Cluster(parts, 0), ExitStack() as stack:
        one = stack.enter_context(Node(parts, workers=0))
        stack.enter_context(Node(parts))
        time.sleep(1.5)
        return drive.latency_of(one, quick)


def held_snapshot(parts, quick, kind):
    """The throughput of runs while another session holds a snapshot, in percent of that before."""
    seconds = HELD_S[quick]
    limits = {"key_max_running": 1} if kind else {}

    def rate(one):
        """Fills and drains for some seconds; the rate of the draining."""
        count = LIMITED[quick]
        one.ask("POST", "/queues/bench/pause")
        done = one.completed("bench")
        one.load("bench", 2, 1000, "0", "0", count, *([kind] if kind else []))
        return one.drain("bench", done + count // 5, count // 2)

    with Cluster(parts, 1) as (one,):
        one.ask("PATCH", "/queues/bench", limits or {"max_running": 0})
        before = statistics.median(rate(one) for _ in range(3))
        sql = f"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class; SELECT pg_sleep({10 * seconds + 60});"
        holder = subprocess.Popen(["psql", "-XAtq", parts["postgres"], "-c", sql], stdout=subprocess.DEVNULL)
        try:
            end = time.monotonic() + seconds
            rates = []
            while time.monotonic() < end:
                rates.append(rate(one))
        finally:
            holder.kill()
            holder.wait()
        return {"value": 100 * statistics.median(rates[-3:]) / before, "unit": "%"}


def counted(parts, what):
    """WAL or commits of a task, from its submit to its completion, in batches of 1000."""
    url = parts["postgres"]
    now = {
        "wal": "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')",
        "commits": "SELECT sum(xact_commit) FROM pg_stat_database",
    }[what]
    with Cluster(parts, 1) as (one,):
        one.fill("bench", 10_000)  # pages are written whole after a checkpoint
        one.drain("bench", 9_000, 1_000)
        time.sleep(1)
        before = float(psql(url, now))
        one.fill("bench", SHARED)
        one.drain("bench", 10_000, SHARED)
        time.sleep(1)
        return {"value": (float(psql(url, now)) - before) / SHARED, "unit": "bytes" if what == "wal" else ""}


WORKLOADS = {
    "submit_16": lambda parts, quick: submit(parts, quick, 16),
    "submit_64": lambda parts, quick: submit(parts, quick, 64),
    "submit_64_4": lambda parts, quick: submit(parts, quick, 64, nodes=4),
    "submit_bulk": lambda parts, quick: submit(parts, quick, 2, 1000),
    "submit_once": lambda parts, quick: submit(parts, quick, 2, 1000, kind="once"),
    "process_1": lambda parts, quick: process(parts, quick, 1),
    "process_2": lambda parts, quick: process(parts, quick, 2),
    "process_4": lambda parts, quick: process(parts, quick, 4),
    "limited": lambda parts, quick: limited(parts, quick, 1, "", {"max_running": 1000}),
    "keys": lambda parts, quick: limited(parts, quick, 1, "keys:10000", {"key_max_running": 1}),
    "latency_p50": lambda parts, quick: latency(parts, quick, 1),
    "latency_other": lambda parts, quick: latency(parts, quick, 2),
    "held": lambda parts, quick: held_snapshot(parts, quick, ""),
    "held_keys": lambda parts, quick: held_snapshot(parts, quick, "keys:10000"),
    "wal": lambda parts, quick: counted(parts, "wal"),
    "commits": lambda parts, quick: counted(parts, "commits"),
}
# What a peer calls it, and its processes.
PEERS = {
    "submit_16": ("submit_16", 1),
    "submit_64": ("submit_64", 1),
    "submit_bulk": ("submit_bulk", 1),
    "process_1": ("process", 1),
    "process_2": ("process", 2),
    "process_4": ("process", 4),
    "latency_p50": ("latency_p50", 1),
}


def peer(parts, workload, quick):
    if workload not in PEERS:
        raise NotPlayed(workload)
    name, processes = PEERS[workload]
    count = drive.SAMPLES[quick] if name == "latency_p50" else PROCESSED[quick]
    command = [*parts["peer"], name, str(parts["at"]), str(count), *LENGTHS[quick], str(processes)]
    return drive.peer_reading(command, workload)


if __name__ == "__main__":
    sys.exit(drive.main(WORKLOADS, peer))
