# SPDX-License-Identifier: MIT
"""Exceptions: those that handlers raise to say what becomes of a task, and those of the client."""

from __future__ import annotations

from typing import Any, Optional


class WeirError(Exception):
    """The base of all exceptions of this package."""


class Permanent(WeirError):
    """Raised by a handler: the task has failed, and is not tried again."""


class RetryLater(WeirError):
    """Raised by a handler: this attempt failed; the next begins after `after` seconds."""

    def __init__(self, after: float, message: str = "") -> None:
        super().__init__(message or f"retry after {after:g} s")
        if not 0 <= after < float("inf"):
            raise ValueError(f"RetryLater: after is {after}, expected seconds >= 0")
        self.after = float(after)


class Postpone(WeirError):
    """Raised by a handler: run the task again in `by` seconds. No attempt is spent, and it is no
    failure; `reason` is what the service answers when asked why the task waits."""

    def __init__(self, reason: str, by: float) -> None:
        super().__init__(reason)
        if not 0 <= by < float("inf"):
            raise ValueError(f"Postpone: by is {by}, expected seconds >= 0")
        self.reason = reason
        self.by = float(by)


class Cancelled(WeirError):
    """Raised in threads by `Job.check()` when the task was cancelled or its time is over. Handlers
    that are coroutines get asyncio.CancelledError instead."""


class Unavailable(WeirError):
    """No answer from the service: the connection was refused, cut, or silent for too long."""


class ServiceError(WeirError):
    """The service refused a request."""

    def __init__(self, status: int, detail: str, member: Optional[str] = None) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail
        self.member = member


class TaskFailed(WeirError):
    """`Client.result()`: the task has failed, or was cancelled. `task` is its last state."""

    def __init__(self, task: Any) -> None:
        super().__init__(f"task {task.id} {task.state}: {task.error}")
        self.task = task
