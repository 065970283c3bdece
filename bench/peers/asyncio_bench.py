#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workloads of suite core on asyncio, and with --uvloop on uvloop.

The same protocol as harness.hpp: the best of N repetitions, those with less than 95 % of a core
left out, one line of JSON per workload. Counts are a tenth of everybody else's.
"""
import argparse
import asyncio
import json
import os
import subprocess
import sys
import time

SHARE = 0.95


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Stopwatch:
    def __init__(self):
        self.wall, self.cpu = time.perf_counter_ns(), time.process_time_ns()

    def per_operation(self, operations):
        cpu, wall = time.process_time_ns() - self.cpu, time.perf_counter_ns() - self.wall
        return wall / operations, cpu / wall

    def cpu_per_operation(self, operations):
        cpu, wall = time.process_time_ns() - self.cpu, time.perf_counter_ns() - self.wall
        return cpu / operations, cpu / wall


async def yields(count, tasks):
    each = count(5_000_000) // tasks

    async def yielder():
        for _ in range(each):
            await asyncio.sleep(0)

    watch = Stopwatch()
    await asyncio.gather(*(yielder() for _ in range(tasks)))
    return watch.per_operation(each * tasks)


async def await_call(count):
    times, total = count(20_000_000), 0

    async def child(value):
        return value + 1

    watch = Stopwatch()
    for i in range(times):
        total += await child(i) - i
    reading = watch.per_operation(times)
    assert total == times
    return reading


async def spawn_join(count):
    groups = count(1_000_000) // 1000

    async def trivial():
        pass

    watch = Stopwatch()
    for _ in range(groups):
        async with asyncio.TaskGroup() as group:
            for _ in range(1000):
                group.create_task(trivial())
    return watch.per_operation(groups * 1000)


async def queues(items, pairs):
    each, total = items // pairs, 0
    queue = asyncio.Queue(100)

    async def producer():
        for i in range(each):
            await queue.put(i + 1)

    async def consumer():
        nonlocal total
        for _ in range(each):
            item = await queue.get()  # not total += await: that would read total before the wait
            total += item

    watch = Stopwatch()
    await asyncio.gather(*(producer() for _ in range(pairs)), *(consumer() for _ in range(pairs)))
    reading = watch.per_operation(each * pairs)
    assert total == pairs * (each * (each + 1) // 2)
    return reading


async def locks(lock, tasks, each):
    total = 0

    async def locker():
        nonlocal total
        for _ in range(each):
            async with lock:
                await asyncio.sleep(0)
                total += 1

    watch = Stopwatch()
    await asyncio.gather(*(locker() for _ in range(tasks)))
    reading = watch.per_operation(tasks * each)
    assert total == tasks * each
    return reading


async def timers(count):
    tasks = 20_000  # also in a quick run: the cost depends on the number
    watch = Stopwatch()
    await asyncio.gather(*(asyncio.sleep(i * 7919 % 500_000 / 1e6) for i in range(tasks)))
    return watch.cpu_per_operation(tasks)


async def timeout(count):
    times = count(2_000_000)
    watch = Stopwatch()
    for _ in range(times):
        async with asyncio.timeout(1):
            await asyncio.sleep(0)
    return watch.per_operation(times)


async def cancelled(count, with_spawn):
    tasks = count(100_000)
    whole = Stopwatch()
    sleeping = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(tasks)]
    await asyncio.sleep(0)
    second = Stopwatch()
    for task in sleeping:
        task.cancel()
    results = await asyncio.gather(*sleeping, return_exceptions=True)
    reading = (whole if with_spawn else second).per_operation(tasks)
    assert all(isinstance(r, asyncio.CancelledError) for r in results)
    return reading


async def memory(count):
    tasks = count(1_000_000)
    before = resident_bytes()
    sleeping = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(tasks)]
    await asyncio.sleep(0)
    return (resident_bytes() - before) / len(sleeping), 1.0


WORKLOADS = {
    "yield_1": lambda count: yields(count, 1),
    "yield_100": lambda count: yields(count, 100),
    "await_call": await_call,
    "spawn_join": spawn_join,
    "queue_spsc": lambda count: queues(count(5_000_000), 1),
    "queue_mpmc": lambda count: queues(count(4_000_000), 4),
    "mutex": lambda count: locks(asyncio.Lock(), 100, count(20_000)),
    "semaphore": lambda count: locks(asyncio.Semaphore(10), 1000, count(1_000)),
    "timers": timers,
    "timeout": timeout,
    "cancel": lambda count: cancelled(count, with_spawn=False),
    "spawn_cancel": lambda count: cancelled(count, with_spawn=True),
    "memory": memory,
}


async def repetition(workload, count):
    # Inside the loop, since locks and queues belong to it.
    return await WORKLOADS[workload](count)


def measure(name, runner, options):
    divisor = 100 if options.quick else 10
    wanted = 1 if name == "memory" else options.reps or (3 if options.quick else 5)
    attempts = 1 if name == "memory" else 2 * wanted
    budget = 0.6 if options.quick else 6
    begin, good, reliable, best = time.monotonic(), 0, False, None
    for attempt in range(attempts):
        if good >= wanted or (attempt and time.monotonic() - begin > budget):
            break
        value, share = runner(repetition(name, lambda full: full // divisor))
        counts = name in ("timers", "memory") or share >= SHARE
        good += counts
        if best is None or (counts and not reliable) or (counts == reliable and value < best[0]):
            best = value, share
        reliable = reliable or counts
    line = {"workload": name, "value": round(best[0], 3), "cpu_share": round(best[1], 3)}
    line["unit"] = "bytes" if name == "memory" else "ns"
    if not reliable:
        line["unreliable"] = True
    print(json.dumps(line), flush=True)
    if name == "memory":
        os._exit(0)  # cancelling so many tasks takes longer than the measurement


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="all", choices=["all", *WORKLOADS])
    parser.add_argument("--reps", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--uvloop", action="store_true")
    options = parser.parse_args()
    if options.uvloop:
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    if options.workload != "all":
        return measure(options.workload, asyncio.run, options)
    for name in WORKLOADS:  # each in a process of its own, so that none warms the heap for the next
        subprocess.run([sys.executable, *sys.argv, "--workload", name], check=True)


if __name__ == "__main__":
    main()
