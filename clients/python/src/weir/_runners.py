# SPDX-License-Identifier: MIT
"""Where handlers run: coroutines on the caller's loop, plain functions in threads."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from typing import List, Optional

from . import _outcome
from .job import Job

log = logging.getLogger("weir")


class Runner:
    """Starts jobs, from the network's thread, and tells their handlers to stop, from any."""

    def start(self, jobs: List[Job]) -> None:
        raise NotImplementedError

    def stop(self, job: Job) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class LoopRunner(Runner):
    """Coroutines, on the loop of whoever started the worker."""

    def __init__(self) -> None:
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def use(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def start(self, jobs: List[Job]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._begin, jobs)
        except RuntimeError:  # the loop was closed
            for job in jobs:
                job.engine.finish(job, _outcome.released(job))

    def stop(self, job: Job) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._cancel, job)
        except RuntimeError:
            pass

    def _begin(self, jobs: List[Job]) -> None:
        create_task = asyncio.get_running_loop().create_task
        for job in jobs:
            job.task = create_task(self._run(job))
            if job.stop_reason is not None:
                job.task.cancel()

    def _cancel(self, job: Job) -> None:
        if job.task is not None:
            job.task.cancel()

    async def _run(self, job: Job) -> None:
        handler = job.handler
        try:
            if handler.binding.takes_job:
                value = await handler.function(job, **handler.binding.arguments(job.payload))
            else:
                value = await handler.function(**handler.binding.arguments(job.payload))
            text = _outcome.completed(job, value)
        except (SystemExit, KeyboardInterrupt) as error:
            job.engine.finish(job, _outcome.of_error(job, error))
            raise
        except BaseException as error:
            text = _outcome.of_error(job, error)
        job.engine.finish(job, text)


class ThreadRunner(Runner):
    """Plain functions, each in a thread while it runs. Threads are made when they are needed, and
    do not keep the process from ending."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._queue: queue.SimpleQueue[Optional[Job]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._count = 0

    def start(self, jobs: List[Job]) -> None:
        with self._lock:
            # A job is held by one place, and there are as many threads as places at most.
            reused = min(self._idle, len(jobs))
            self._idle -= reused
            for _ in range(min(len(jobs) - reused, self._most - self._count)):
                self._count += 1
                threading.Thread(target=self._work, args=(self._queue,), name="weir-handler",
                                 daemon=True).start()
        for job in jobs:
            self._queue.put(job)

    def stop(self, job: Job) -> None:
        pass  # the handler looks at job.is_cancelled

    def close(self) -> None:
        with self._lock:
            for _ in range(self._count):
                self._queue.put(None)
            # Threads that still run a handler end with the old queue.
            self._queue = queue.SimpleQueue()
            self._count = self._idle = 0

    def _work(self, jobs: queue.SimpleQueue[Optional[Job]]) -> None:
        while True:
            job = jobs.get()
            if job is None:
                return
            text = _outcome.released(job)
            try:
                text = self.run(job)
            except BaseException:  # whatever a handler does, its place becomes free
                log.exception("internal error")
            finally:
                with self._lock:
                    self._idle += jobs is self._queue
                job.engine.finish(job, text)

    def run(self, job: Job) -> str:
        """The outcome."""
        return run_plain(job)


def run_plain(job: Job) -> str:
    """Calls the handler in this thread."""
    handler = job.handler
    try:
        job.check()
        arguments = handler.binding.arguments(job.payload)
        if handler.binding.takes_job:
            return _outcome.completed(job, handler.function(job, **arguments))
        return _outcome.completed(job, handler.function(**arguments))
    except BaseException as error:
        return _outcome.of_error(job, error)
