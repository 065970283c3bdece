#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one participant of suite workers, in the protocol that run.py speaks:

  drive.py '{"who": "weir", "program": [...], "disk": FOLDER}' --workload NAME [--quick]

Ours is the program of users with its database on disk, and workers in Python on its SDK. Celery is Debian's, with a Redis
of its own in memory, as most of its users have it. Workers are processes of their own; nobody is bound to a processor.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "db"))
sys.path.insert(0, str(HERE.parents[1] / "clients" / "python" / "src"))
from processes import NotPlayed, Watch, start  # noqa: E402

import weir  # noqa: E402

PYTHON = "/usr/bin/python3"
WORKERS = 4
LONGEST_S = 160
MOST_TASKS = 10_000  # of a request


class OurService:
    """`weir serve` on a file, and the processes that work for it."""

    def __init__(self, parts, *flags):
        sys.path.insert(0, str(HERE.parent / "service"))
        from served import Served  # noqa: PLC0415

        def words(path):
            return [*parts["program"], "serve", "--listen", "127.0.0.1:0", "--database", path, *flags]

        def port_in(line):
            found = re.search(r"listening on http://[^\s,]*:(\d+)", line)
            return int(found[1]) if found else None

        self._served = Served(parts["disk"], words, port_in)
        self.pid = self._served.process.pid
        self.url = f"http://127.0.0.1:{self._served.port}"
        self.client = weir.Client(self.url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self._served.__exit__()

    def completed(self):
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=30) as answer:
            return int(float(re.search(rb"^weir_service_completed_total (\S+)", answer.read(), re.M)[1]))  # 1e+05

    def sessions(self):
        with urllib.request.urlopen(f"{self.url}/workers", timeout=30) as answer:
            return len(json.load(answer)["workers"])

    def submit(self, count):
        self.client.submit_many([("noop", None)] * count)

    def submit_group(self, count):
        """As members of one group, in requests as large as they may be."""
        group = self._served.ask("POST", "/groups", {"sealed": False, "callback": {"kind": "noop"}})["group"]["id"]
        for _ in range(0, count, MOST_TASKS):
            self._served.ask("POST", f"/groups/{group}/tasks", {"tasks": [{"kind": "noop"}] * min(count, MOST_TASKS)})
        self._served.ask("POST", f"/groups/{group}/seal")
        return group

    def check_group(self, group, count):
        """All members have been counted, and there is a callback."""
        found = self._served.ask("GET", f"/groups/{group}")
        if found["state"] != "completed" or found["completed"] != count or not found["callback_task"]:
            raise RuntimeError(f"the group has not ended as it should: {found}")

    def most_memory(self):
        """Of the process so far, in megabytes."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"^VmHWM:\s+(\d+) kB", text, re.M)[1]) / 1024

    def left(self, count):
        return count - self.completed()

    @contextmanager
    def workers(self, count):
        with processes([PYTHON, str(HERE / "weir_worker.py"), self.url], count) as started:
            yield started

    def latency(self):
        task = self.client.submit("stamp", {"at": time.monotonic()})
        return self.client.result(task, 30)

    def wait_for_workers(self, count):
        wait_until(lambda: self.sessions() >= count)


class CeleryService:
    """Celery with a Redis that keeps everything in memory."""

    def __init__(self, parts):
        import servers  # noqa: PLC0415

        servers.SERVER_CPU = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
        self._redis = servers.Redis(parts["disk"])
        self.pid = self._redis.process.pid
        os.environ["BENCH_REDIS"] = f"redis://127.0.0.1:{self._redis.port}/0"
        sys.path.insert(0, str(HERE))
        import celery_app  # noqa: PLC0415

        self.app = celery_app

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._redis.stop()

    def submit(self, count):
        # One message at a time, as its users do: Celery has no batch of submits.
        with self.app.app.producer_or_acquire() as producer:
            for _ in range(count):
                self.app.noop.apply_async(producer=producer)

    def left(self, _count):
        """Messages that are not acknowledged. Workers acknowledge when they begin, so the last ones may still run."""
        with self.app.app.connection_for_read() as connection:
            redis = connection.default_channel.client
            return redis.llen("celery") + redis.hlen("unacked")

    @contextmanager
    def workers(self, count):
        """One worker with a process for each of `count`: that is how Celery runs tasks at the same time."""
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"]
        words = [PYTHON, "-m", "celery", "-A", "celery_app", "worker", "--concurrency", str(count), *quiet]
        with processes(words, 1, cwd=HERE) as started:
            yield started

    def latency(self):
        result = self.app.stamp.apply_async((time.monotonic(),))
        seconds = result.get(timeout=30)
        result.forget()
        return seconds

    def wait_for_workers(self, _count):
        self.latency()


@contextmanager
def processes(command, count, **options):
    started = [start(command, None, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options) for _ in range(count)]
    try:
        yield started
    finally:
        for each in started:
            each.terminate()
        for each in started:
            try:
                each.wait(10)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()


def wait_until(condition):
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("it takes too long")
        time.sleep(0.005)


def process(parts, quick):
    """Tasks that wait in the queue when the workers start, from the first that is done to the last."""
    is_ours = parts["who"] == "weir"
    count = (30_000 if quick else 100_000) if is_ours else (4_000 if quick else 15_000)
    service = OurService(parts, "--remote-kinds", "noop") if is_ours else CeleryService(parts)
    with service:
        service.submit(count)
        return run_down(service, count)


def run_down(service, count):
    """What processes make of the tasks that wait."""
    with service.workers(WORKERS) as workers:
        wait_until(lambda: service.left(count) < count)
        began, first = time.monotonic(), service.left(count)
        watch, counterparts = Watch(service.pid), [Watch(each.pid) for each in workers]
        wait_until(lambda: service.left(count) <= 0)
        seconds = time.monotonic() - began
        busy, load = watch.busy()[0], sum(each.busy()[0] for each in counterparts)
    return {
        "value": first / seconds,
        "unit": "1/s",
        "busy": round(busy, 3),
        "load_busy": round(load, 3),
        "own_ns": round((busy + load) * seconds / first * 1e9),
    }


def group(parts, quick):
    """The rate of `process` with all tasks in one group, as a part of that without, and the memory of both."""
    if parts["who"] != "weir":
        raise NotPlayed("its results would be in Redis, and a chord of so many takes minutes")
    count = 30_000 if quick else 100_000
    seconds, memory = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}
    for is_group in (False, True, True, False):
        with OurService(parts, "--remote-kinds", "noop") as service:
            made = service.submit_group(count) if is_group else service.submit(count)
            seconds[is_group] += 1 / run_down(service, count)["value"]
            memory[is_group] = max(memory[is_group], service.most_memory())
            if is_group:
                service.check_group(made, count)
    return {
        "value": seconds[False] / seconds[True] * 100,
        "unit": "%",
        "memory_mb": round(memory[True], 1),
        "memory_percent": round(memory[True] / memory[False] * 100, 1),
    }


def start_p50(parts, quick):
    """From before the submit to the first line of the handler, one task at a time, with a worker that waits."""
    service = OurService(parts, "--remote-kinds", "stamp") if parts["who"] == "weir" else CeleryService(parts)
    with service, service.workers(1):
        service.wait_for_workers(1)
        for _ in range(20):
            service.latency()
        seconds = [service.latency() for _ in range(200 if quick else 1000)]
    return {"value": statistics.median(seconds) * 1000, "unit": "ms"}


def idle_1000(parts, quick):
    """Of two cores, what the service needs for 1000 workers that only wait."""
    if parts["who"] != "weir":
        raise NotPlayed("a worker of Celery is a process")
    with OurService(parts) as service, ExitStack() as stack:
        words = [sys.executable, str(HERE / "idle.py"), service.url, "1000"]
        idle = start(words, None, stdout=subprocess.PIPE, text=True)
        stack.callback(idle.wait)
        stack.callback(idle.kill)
        if idle.stdout.readline().strip() != "ready":
            raise RuntimeError("the idle workers did not become ready")
        watch = Watch(service.pid)
        time.sleep(10 if quick else 30)
        busy = watch.busy()[0]
        if idle.poll() is not None or service.sessions() < 1000:
            raise RuntimeError("the idle workers have ended")
    return {"value": busy / 2 * 100, "unit": "%"}


WORKLOADS = {"process": process, "group": group, "start_p50": start_p50, "idle_1000": idle_1000}


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
        reading = WORKLOADS[options.workload](options.parts, options.quick)
    except NotPlayed:
        return 64
    except (OSError, RuntimeError, ValueError, KeyError, weir.WeirError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(json.dumps({"workload": options.workload, **reading}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
