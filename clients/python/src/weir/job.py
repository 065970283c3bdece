# SPDX-License-Identifier: MIT
"""A task as its handler sees it."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import (TYPE_CHECKING, Any, Callable, Dict, Generator, List, NamedTuple, Optional,
                    Tuple)

from .errors import Cancelled

if TYPE_CHECKING:
    from ._engine import Engine
    from ._session import Session
    from .worker import Handler

MISSING = object()
LONGEST_MESSAGE = 900


class Done:
    """What `progress()` returns, so that coroutines may await it and plain functions need not."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


DONE = Done()


class Dependency(NamedTuple):
    """A task that another one came after."""

    task: str
    on_failure: str     # cancel, run or hold
    outcome: str        # completed, failed, cancelled or gone


class Job:
    """One run of a task. In coroutines `await job.step(...)`; in plain functions call it."""

    __slots__ = ("id", "run", "kind", "payload", "key", "key_json", "stop_reason", "stopped_at",
                 "progress_now", "handler", "engine", "session", "task", "deadline",
                 "_raw", "_steps", "_on_stop")

    def __init__(self, raw: Dict[str, Any], handler: Handler, engine: Engine,
                 session: Optional[Session], now: float) -> None:
        self._raw = raw
        self.id: str = raw["id"]
        self.run: int = raw["run"]
        self.kind: str = raw["kind"]
        self.payload: Any = raw.get("payload")
        self.key: Tuple[str, int] = (self.id, self.run)
        self.key_json = f'"id":"{self.id}","run":{self.run}'
        self.handler = handler
        self.engine = engine
        self.session = session
        self.stop_reason: Optional[str] = None
        self.stopped_at = 0.0
        self.progress_now: Optional[Tuple[Optional[float], str]] = None
        self.task: Optional[asyncio.Task[None]] = None
        self._steps: Optional[Dict[str, Any]] = None
        self._on_stop: Optional[Callable[[], None]] = None
        left = raw.get("seconds_left")
        limit = handler.timeout
        if left is None or (limit is not None and limit < left):
            left = limit
        self.deadline = float("inf") if left is None else now + left

    # What is known about the task.

    @property
    def queue(self) -> str:
        return str(self._raw.get("queue", "default"))

    @property
    def attempt(self) -> int:
        """From 1."""
        return int(self._raw.get("attempt", 1))

    @property
    def max_attempts(self) -> int:
        return int(self._raw.get("max_attempts", 1))

    @property
    def is_last_attempt(self) -> bool:
        return self.attempt >= self.max_attempts

    @property
    def tags(self) -> List[str]:
        return list(self._raw.get("tags", ()))

    @property
    def group(self) -> Optional[str]:
        """The id of the group that the task is a member of."""
        return self._raw.get("group")

    @property
    def after(self) -> List[Dependency]:
        """The tasks that it came after, and how they have ended."""
        return [Dependency(each["task"], each["on_failure"], each["outcome"])
                for each in self._raw.get("after", ())]

    @property
    def traceparent(self) -> Optional[str]:
        """The W3C trace context that the task was submitted with."""
        return self._raw.get("traceparent")

    @property
    def seconds_left(self) -> float:
        """Until the time limit stops the handler."""
        return self.deadline - time.monotonic()

    @property
    def time_limit(self) -> float:
        left, limit = self._raw.get("seconds_left"), self.handler.timeout
        return min(each for each in (left, limit, float("inf")) if each is not None)

    # What a handler does with it.

    @property
    def is_cancelled(self) -> bool:
        """The handler is to stop: cancelled, out of time, or the worker shuts down. Handlers in
        threads look at it between the parts of their work."""
        return self.stop_reason is not None

    def check(self) -> None:
        """Raises Cancelled if the handler is to stop."""
        if self.stop_reason is not None:
            raise Cancelled(self.stop_reason)

    def progress(self, fraction: Optional[float] = None, message: str = "") -> Done:
        """Shown with the task, within a second or so. Cheap: call it as often as you like."""
        if fraction is not None:
            fraction = min(1.0, max(0.0, float(fraction)))
        self.progress_now = (fraction, message[:LONGEST_MESSAGE])
        self.engine.progress_changed(self)
        return DONE

    def step(self, name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of `work(*arguments)`, kept with the task: a later run of it gets the kept
        result and does not call `work`. To be awaited in handlers that are coroutines, where `work`
        may be a coroutine function, too."""
        if self.handler.is_async:
            return self._step_async(name, work, arguments)
        known = self._known_step(name)
        if known is not MISSING:
            return known
        value = work(*arguments)
        return self._keep(name, self.engine.keep_step(self, name, value))

    async def _step_async(self, name: str, work: Callable[..., Any], arguments: Any) -> Any:
        known = self._known_step(name)
        if known is not MISSING:
            return known
        value = work(*arguments)
        if inspect.isawaitable(value):
            value = await value
        # The work is done: a stop that comes now waits until its result is kept.
        kept = asyncio.ensure_future(self.engine.keep_step_async(self, name, value))
        try:
            return self._keep(name, await asyncio.shield(kept))
        except asyncio.CancelledError:
            await asyncio.wait([kept])
            kept.exception()  # the stop counts, whatever became of it
            raise

    def _known_step(self, name: str) -> Any:
        if self._steps is None:
            self._steps = {each["name"]: each["result"] for each in self._raw.get("steps", ())}
        return self._steps.get(name, MISSING)

    def _keep(self, name: str, result: Any) -> Any:
        assert self._steps is not None
        self._steps[name] = result
        return result

    # For the engine.

    def stop(self, reason: str) -> None:
        """Tells the handler to stop, from any thread; the first reason counts."""
        if self.stop_reason is not None:
            return
        self.stopped_at = time.monotonic()
        self.stop_reason = reason
        self.handler.runner.stop(self)

    def fields(self) -> Dict[str, Any]:
        """What another process needs to make such a job."""
        return self._raw

    def __repr__(self) -> str:
        return f"<weir.Job {self.kind} {self.id} run {self.run}>"
