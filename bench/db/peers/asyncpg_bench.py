# SPDX-License-Identifier: MIT
"""The part of suite db on PostgreSQL, played by asyncpg: a pool of connections, which prepare statements by
themselves; with uvloop where there is one.

  asyncpg_bench.py WORKLOAD URL IN_FLIGHT WARM_UP_SECONDS SECONDS
"""
import asyncio
import json
import os
import random
import sys
import time

import asyncpg

try:
    import uvloop
except ImportError:
    uvloop = None

ROWS = 10000
SELECT = "SELECT id, name, price FROM items WHERE id = $1"
INSERT = "INSERT INTO events(kind, payload) VALUES ($1, $2)"
MOVE = "UPDATE accounts SET balance = balance + $2 WHERE id = $1"
CHECK = "SELECT balance FROM accounts WHERE id = $1"
done = 0


async def pg_64(pool):
    wanted = random.randint(1, ROWS)
    found = await pool.fetchrow(SELECT, wanted)
    if found["id"] != wanted:
        raise RuntimeError("another answer")


async def pg_insert(pool):
    if await pool.execute(INSERT, 7, "a small event") != "INSERT 0 1":
        raise RuntimeError("nothing was inserted")


async def pg_transaction(pool):
    async with pool.acquire() as own, own.transaction():
        wanted = random.randint(1, ROWS)
        await own.execute(MOVE, wanted, 1)
        if await own.fetchval(CHECK, wanted) is None:
            raise RuntimeError("another answer")


OPERATIONS = {"pg_64": pg_64, "pg_insert": pg_insert, "pg_transaction": pg_transaction}


async def worker(operation, pool):
    global done
    while True:
        await operation(pool)
        done += 1


async def main():
    workload, url, in_flight, warm_up, seconds = sys.argv[1:]
    if workload not in OPERATIONS:
        sys.exit(64)
    # As many as are good for it: tried from 4 to 64.
    size = int(os.environ.get("POOL", "32"))
    pool = await asyncpg.create_pool(url, min_size=size, max_size=size)
    workers = [asyncio.create_task(worker(OPERATIONS[workload], pool)) for _ in range(int(in_flight))]
    await asyncio.sleep(float(warm_up))
    print("ready", flush=True)
    before, began = done, time.monotonic()
    await asyncio.sleep(float(seconds))
    print(json.dumps({"requests": done - before, "seconds": time.monotonic() - began}), flush=True)
    failed = [w.exception() for w in workers if w.done()]
    if failed:
        raise failed[0]
    time.sleep(0.1)  # until its times have been read
    os._exit(0)


if uvloop is not None:
    uvloop.install()
asyncio.run(main())
