# SPDX-License-Identifier: MIT
"""Runs handlers without a service, for tests.

    outcome = weir.testing.run(app, "resize", {"path": "cat.png"})
    assert outcome.result == {"path": "cat.png"}

What the service would do is done here: arguments are checked, steps kept, progress recorded, and
the outcome is what the service would get.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

from . import _outcome
from ._runners import run_plain
from .errors import Permanent
from .job import Job
from .worker import Handler, Worker


class Outcome:
    """What became of a run. `state` is completed, failed, postponed or cancelled."""

    def __init__(self, raw: Dict[str, Any], engine: TestEngine) -> None:
        self.raw = raw
        self.state: str = raw["outcome"]
        self.result: Any = raw.get("result")
        self.error: Optional[str] = raw.get("error")
        self.is_permanent: bool = bool(raw.get("permanent"))
        self.retry_after: Optional[float] = raw.get("retry_after")
        self.reason: Optional[str] = raw.get("reason")
        self.by: Optional[float] = raw.get("by")
        self.progress: List[Tuple[Optional[float], str]] = engine.progress
        self.steps: Dict[str, Any] = engine.steps

    def __repr__(self) -> str:
        return f"<weir.testing.Outcome {self.raw}>"


class TestEngine:
    """Takes the place of the connection to the service."""

    __test__ = False  # pytest takes the name for a test

    def __init__(self, steps: Dict[str, Any]) -> None:
        self.progress: List[Tuple[Optional[float], str]] = []
        self.steps = dict(steps)

    def progress_changed(self, job: Job) -> None:
        assert job.progress_now is not None
        self.progress.append(job.progress_now)

    def keep_step(self, job: Job, name: str, value: Any) -> Any:
        try:
            self.steps[name] = json.loads(_outcome.encode(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise Permanent(f"step '{name}': the result is no JSON: {error}") from None
        return self.steps[name]

    async def keep_step_async(self, job: Job, name: str, value: Any) -> Any:
        return self.keep_step(job, name, value)


def run(app: Worker, kind: str, payload: Any = None, *, attempt: int = 1, max_attempts: int = 5,
        steps: Optional[Dict[str, Any]] = None, cancel_after: Optional[float] = None,
        **members: Any) -> Outcome:
    """Runs the handler of a kind to its end. `steps` are results that an earlier run has kept,
    `cancel_after` cancels the task after these seconds. Inside a running loop, use `run_async`."""
    job, engine = _job(app, kind, payload, attempt, max_attempts, steps, members)
    if job.handler.is_async:
        return asyncio.run(_run_coroutine(job, engine, cancel_after))
    return _run_function(job, engine, cancel_after)


async def run_async(app: Worker, kind: str, payload: Any = None, *, attempt: int = 1,
                    max_attempts: int = 5, steps: Optional[Dict[str, Any]] = None,
                    cancel_after: Optional[float] = None, **members: Any) -> Outcome:
    """`run` for tests that are coroutines."""
    job, engine = _job(app, kind, payload, attempt, max_attempts, steps, members)
    if job.handler.is_async:
        return await _run_coroutine(job, engine, cancel_after)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, _run_function, job, engine, cancel_after)


def _job(app: Worker, kind: str, payload: Any, attempt: int, max_attempts: int,
         steps: Optional[Dict[str, Any]], members: Dict[str, Any]) -> Tuple[Job, TestEngine]:
    handler: Optional[Handler] = app.handlers.get(kind)
    if handler is None:
        raise KeyError(f"no handler for {kind!r}; there are {', '.join(sorted(app.handlers))}")
    engine = TestEngine(steps or {})
    raw = {"id": "0000000000000", "run": 1, "kind": kind, "queue": "default", "tags": [],
           "attempt": attempt, "max_attempts": max_attempts,
           # As it would arrive: what is no JSON could not have been submitted.
           "payload": json.loads(json.dumps(payload, allow_nan=False)),
           "steps": [{"name": name, "result": result} for name, result in engine.steps.items()],
           **members}
    return Job(raw, handler, engine, None, time.monotonic()), engine  # type: ignore[arg-type]


async def _run_coroutine(job: Job, engine: TestEngine, cancel_after: Optional[float]) -> Outcome:
    handler = job.handler

    async def call() -> str:
        try:
            arguments = handler.binding.arguments(job.payload)
            leading = (job,) if handler.binding.takes_job else ()
            return _outcome.completed(job, await handler.function(*leading, **arguments))
        except BaseException as error:
            return _outcome.of_error(job, error)

    task = asyncio.ensure_future(call())
    stops = [(cancel_after, _outcome.CANCEL), (handler.timeout, _outcome.TIMEOUT)]
    for seconds, reason in sorted((s, r) for s, r in stops if s is not None):
        await asyncio.wait([task], timeout=max(0.0, seconds))
        if not task.done() and job.stop_reason is None:
            job.stop_reason = reason
            task.cancel()
    return Outcome(json.loads(await task), engine)


def _run_function(job: Job, engine: TestEngine, cancel_after: Optional[float]) -> Outcome:
    timers = []
    for seconds, reason in ((cancel_after, _outcome.CANCEL),
                            (job.handler.timeout, _outcome.TIMEOUT)):
        if seconds is not None:
            timer = threading.Timer(seconds, setattr, (job, "stop_reason", reason))
            timer.start()
            timers.append(timer)
    try:
        return Outcome(json.loads(run_plain(job)), engine)
    finally:
        for timer in timers:
            timer.cancel()
