# SPDX-License-Identifier: MIT
"""The same tasks for Celery with Redis. Results are not kept, messages are acknowledged before they are run, and
processes take many at a time: its fastest way, which loses tasks that a dying process has taken."""
import os
import time

from celery import Celery

url = os.environ["BENCH_REDIS"]
app = Celery("bench", broker=url, backend=url)
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=250,
    task_acks_late=False,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)


@app.task(name="noop")
def noop():
    return None


@app.task(name="stamp", ignore_result=False)
def stamp(at):
    return time.monotonic() - at
