# SPDX-License-Identifier: MIT
"""Plain functions in processes of their own, for work that needs a processor each.

A thread of the worker owns each process: it sends a job, then answers what the process asks (steps,
progress) until the outcome comes. A process that ignores a stop is killed; one that dies fails its
task and is replaced.
"""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import sys
import threading
import time
from typing import Any, Callable, Dict, Optional, Tuple

from . import _outcome
from ._runners import ThreadRunner, run_plain
from .errors import Cancelled, Permanent
from .job import Job

log = logging.getLogger("weir")

GRACE = 2.0     # seconds that a process has after it was told to stop
Connection = Any


class ProcessRunner(ThreadRunner):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        # Not fork: this process has threads.
        self._context = multiprocessing.get_context("spawn")
        self._own = threading.local()
        self._children: Dict[str, Child] = {}

    def stop(self, job: Job) -> None:
        for child in list(self._children.values()):
            if child.job is job:
                child.send(("stop", job.stop_reason))

    def run(self, job: Job) -> str:
        child: Optional[Child] = getattr(self._own, "child", None)
        if child is None or not child.is_alive:
            try:
                child = self._own.child = Child(self._context)
            except OSError as error:
                return _outcome.failed(job, f"cannot start a process: {error}")
            self._children[child.name] = child
        try:
            return child.run(job)
        finally:
            if not child.is_alive:
                self._children.pop(child.name, None)

    def close(self) -> None:
        super().close()
        for child in list(self._children.values()):
            child.kill()


class Child:
    """The process, seen from the worker."""

    def __init__(self, context: Any) -> None:
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=child_main, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._lock = threading.Lock()
        self.name = str(self._process.pid)
        self.job: Optional[Job] = None
        self.is_alive = True

    def send(self, message: Tuple[Any, ...]) -> None:
        try:
            with self._lock:
                self._pipe.send(message)
        except (OSError, ValueError):
            pass  # it has died, which its thread sees

    def kill(self) -> None:
        self.is_alive = False
        try:
            self._process.kill()
        except (OSError, ValueError):
            pass

    def run(self, job: Job) -> str:
        self.job = job
        function = job.handler.function
        self.send(("job", _module_of(function), function.__qualname__, job.kind,
                   job.handler.timeout, job.fields()))
        if job.stop_reason is not None:
            self.send(("stop", job.stop_reason))
        try:
            return self._converse(job)
        except (EOFError, OSError):
            self._process.join(1.0)
            code = self._process.exitcode
            self.kill()
            how = f"was killed by signal {-code}" if code is not None and code < 0 else (
                f"ended with status {code}")
            return _outcome.of_error(job, RuntimeError(f"the process of the handler {how}"))
        finally:
            self.job = None

    def _converse(self, job: Job) -> str:
        while True:
            ready = multiprocessing.connection.wait([self._pipe, self._process.sentinel], 1.0)
            if self._pipe in ready:
                kind, *rest = self._pipe.recv()
                if kind == "outcome":
                    return str(rest[0])
                if kind == "progress":
                    job.progress(*rest)
                elif kind == "step":
                    self._keep_step(job, *rest)
            elif ready:
                raise EOFError
            elif job.stop_reason is not None and time.monotonic() > job.stopped_at + GRACE:
                self.kill()
                return _outcome.of_error(job, Cancelled("killed, since it did not stop"))

    def _keep_step(self, job: Job, name: str, value: Any) -> None:
        try:
            self.send(("kept", job.engine.keep_step(job, name, value)))
        except Permanent as error:
            self.send(("refused", str(error)))
        except Cancelled as error:
            self.send(("lost", str(error)))


def _module_of(function: Callable[..., Any]) -> str:
    return function.__module__


class ChildEngine:
    """What a job talks to inside of the process: the worker, over the pipe."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.answers: queue.SimpleQueue[Tuple[str, Any]] = queue.SimpleQueue()

    def progress_changed(self, job: Job) -> None:
        assert job.progress_now is not None
        self._pipe.send(("progress", *job.progress_now))

    def keep_step(self, job: Job, name: str, value: Any) -> Any:
        self._pipe.send(("step", name, value))
        verdict, answer = self.answers.get()
        if verdict == "refused":
            raise Permanent(answer)
        if verdict == "lost":
            job.stop(_outcome.RELEASE)
            raise Cancelled(answer)
        return answer


def child_main(pipe: Connection) -> None:
    """Runs one job after the other. Signals for the group are the worker's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    engine = ChildEngine(pipe)
    threading.Thread(target=_receive, args=(pipe, engine, jobs), daemon=True).start()
    while True:
        job = jobs.get()
        pipe.send(("outcome", run_plain(job)))


def _receive(pipe: Connection, engine: ChildEngine, jobs: queue.SimpleQueue[Job]) -> None:
    from .worker import Handler
    job: Optional[Job] = None
    while True:
        try:
            kind, *rest = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)  # the worker is no more
        if kind == "job":
            module, name, task_kind, timeout, raw = rest
            handler = Handler(_find(module, name), task_kind, timeout, PLAIN)
            job = Job(raw, handler, engine, None, time.monotonic())  # type: ignore[arg-type]
            jobs.put(job)
        elif kind == "stop" and job is not None:
            job.stop(rest[0])
        elif kind in ("kept", "refused", "lost"):
            engine.answers.put((kind, rest[0]))


def _find(module: str, name: str) -> Callable[..., Any]:
    """The function, in the module that was imported again here."""
    if module == "__main__" and "__mp_main__" in sys.modules:
        module = "__mp_main__"
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)
    return found  # type: ignore[no-any-return]


class _Plain(ThreadRunner):
    def __init__(self) -> None:
        super().__init__(0)


PLAIN = _Plain()
