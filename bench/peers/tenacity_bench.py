#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workload of suite flow that tenacity has: a retry around a coroutine that succeeds at once."""
import argparse
import asyncio
import json

from tenacity import retry, stop_after_attempt, wait_random_exponential

from asyncio_bench import SHARE, Stopwatch


async def retry_ready(times):
    total = 0

    @retry(stop=stop_after_attempt(5), wait=wait_random_exponential(multiplier=0.1, max=2))
    async def call():
        return 1

    watch = Stopwatch()
    for _ in range(times):
        total += await call()
    reading = watch.per_operation(times)
    assert total == times
    return reading


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="all")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.workload not in ("all", "retry_ready"):
        raise SystemExit(64)
    times = 10_000 if options.quick else 100_000
    readings = [asyncio.run(retry_ready(times)) for _ in range(options.reps or 3)]
    good = [r for r in readings if r[1] >= SHARE]
    value, share = min(good or readings)
    line = {"workload": "retry_ready", "value": round(value, 3), "cpu_share": round(share, 3), "unit": "ns"}
    if not good:
        line["unreliable"] = True
    print(json.dumps(line))


if __name__ == "__main__":
    main()
