# SPDX-License-Identifier: MIT
"""The client of suite http on aiohttp, with uvloop where there is one.

  aiohttp_client.py PORT CONCURRENCY WARM_UP_SECONDS SECONDS
"""
import asyncio
import json
import os
import sys
import time

import aiohttp

try:
    import uvloop
except ImportError:
    uvloop = None

requests = 0


async def worker(session, url):
    global requests
    while True:
        async with session.get(url) as response:
            body = await response.read()
            if response.status != 200 or not body:
                raise RuntimeError(f"status {response.status}")
        requests += 1


async def main():
    port, concurrency, warm_up, seconds = sys.argv[1:]
    connector = aiohttp.TCPConnector(limit=int(concurrency))
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        workers = [asyncio.create_task(worker(session, f"http://127.0.0.1:{port}/")) for _ in range(int(concurrency))]
        await asyncio.sleep(float(warm_up))
        print("ready", flush=True)
        before, began = requests, time.monotonic()
        await asyncio.sleep(float(seconds))
        print(json.dumps({"requests": requests - before, "seconds": time.monotonic() - began}), flush=True)
        failed = [w.exception() for w in workers if w.done()]
        if failed:
            raise failed[0]
        time.sleep(0.1)  # until its times have been read
        os._exit(0)


if uvloop is not None:
    uvloop.install()
asyncio.run(main())
