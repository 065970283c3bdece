# SPDX-License-Identifier: MIT
"""Background tasks of an application: submit by id, state, result, error, times, cancel, shutdown.
The worker runs inside of the application; any number of others may run elsewhere."""
import asyncio
import sys
import time

import weir

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
app = weir.Worker(URL, concurrency=5)


@app.task("process")
async def process(job: weir.Job, data: dict):
    await asyncio.sleep(0.1)
    return {"count": len(data["items"])}


@app.task("crunch")
def crunch(job: weir.Job, rounds: int):     # in a thread: it may block
    for done in range(rounds):
        if job.is_cancelled:
            return None
        time.sleep(0.01)
        job.progress(done / rounds, f"{done} of {rounds} rounds")
    return rounds


async def main():
    async with app, weir.AsyncClient(URL) as client:
        first = await client.submit("process", {"data": {"items": [1, 2, 3]}})
        second = await client.submit("crunch", {"rounds": 5}, idempotency_key="report 2026-11")
        again = await client.submit("crunch", {"rounds": 5}, idempotency_key="report 2026-11")
        wrong = await client.submit("process", {"date": {}})
        slow = await client.submit("crunch", {"rounds": 1000000})
        print("pending or running:", not (await client.get(slow)).has_ended)
        await client.cancel(slow)

        task = await client.wait(first, timeout=10)
        print("state:", task.state, "result:", task.result)
        print("times:", task.created_at <= task.started_at <= task.finished_at)
        print("the same task:", again == second, "result:", await client.result(second, timeout=10))
        print("error:", (await client.wait(wrong, timeout=10)).error)
        print("cancelled:", (await client.wait(slow, timeout=10)).has_ended)
    # The worker has ended: running handlers had their time, and what was left was given back.


if __name__ == "__main__":
    asyncio.run(main())
