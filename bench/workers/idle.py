#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers that only wait: `idle.py URL COUNT`. Each has a session, an open poll and heartbeats, as the SDKs have them;
one loop serves them all. Prints 'ready' when all polls are open."""
import asyncio
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python" / "src"))
from weir._async_http import AsyncTransport  # noqa: E402

ready = 0


async def worker(url, number, count):
    global ready
    transport = AsyncTransport(url)
    kinds = [f"idle{number % 20}"]
    answer = await transport.request(
        "POST", "/workers", json.dumps({"name": f"idle/{number}", "kinds": kinds}).encode(), timeout=60
    )
    session = answer.json()
    path = f"/workers/{session['worker']}"

    async def beat():
        pause = random.random() * session["heartbeat"]
        while True:
            await asyncio.sleep(pause)
            pause = session["heartbeat"]
            body = json.dumps({"running": [], "free": 32, "poll_age": 0.0}).encode()
            beaten = await transport.request("POST", f"{path}/heartbeat", body)
            if beaten.status != 200:
                sys.exit(f"heartbeat: {beaten.status}")

    asyncio.ensure_future(beat())
    ready += 1
    if ready == count:
        asyncio.get_running_loop().call_later(2, print, "ready")
        asyncio.get_running_loop().call_later(2.01, sys.stdout.flush)
    poll = 0
    while True:
        poll += 1
        body = json.dumps({"poll": poll, "free": 32, "wait": session["wait"]}).encode()
        polled = await transport.request("POST", f"{path}/poll", body, timeout=session["wait"] + 10)
        if polled.status != 204:
            sys.exit(f"poll: {polled.status}")


async def main():
    url, count = sys.argv[1], int(sys.argv[2])
    gate = asyncio.Semaphore(1)
    workers = []
    for number in range(count):
        async with gate:
            workers.append(asyncio.ensure_future(worker(url, number, count)))
            await asyncio.sleep(0.001)
    await asyncio.gather(*workers)


asyncio.run(main())
