# SPDX-License-Identifier: MIT
"""What a run comes to, as the JSON that the service gets."""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from typing import TYPE_CHECKING, Any

from .errors import Cancelled, Permanent, Postpone, RetryLater

if TYPE_CHECKING:
    from .job import Job

# ensure_ascii: whatever a text has in it, the result is valid UTF-8.
encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

MAX_ERROR = 3900
HERE = os.path.dirname(os.path.abspath(__file__))

# Why a handler was told to stop.
CANCEL = "cancelled"
TIMEOUT = "timeout"
RELEASE = "released"


def completed(job: Job, value: Any) -> str:
    if value is None:
        return f'{{{job.key_json},"outcome":"completed","result":null}}'
    try:
        return f'{{{job.key_json},"outcome":"completed","result":{encode(value)}}}'
    except (TypeError, ValueError, RecursionError) as error:
        # Another attempt would do the work again, and return no better value.
        return failed(job, f"the result is no JSON: {error}", permanent=True)


def failed(job: Job, error: str, *, permanent: bool = False, retry_after: float = -1.0) -> str:
    more = ',"permanent":true' if permanent else ""
    if retry_after >= 0:
        more += f',"retry_after":{retry_after!r}'
    return f'{{{job.key_json},"outcome":"failed","error":{encode(_cut(error))}{more}}}'


def released(job: Job) -> str:
    return f'{{{job.key_json},"outcome":"released"}}'


def cancelled(job: Job) -> str:
    return f'{{{job.key_json},"outcome":"cancelled"}}'


def of_error(job: Job, error: BaseException) -> str:
    """The outcome of a handler that raised. Once it was told to stop, that is the reason."""
    stop = job.stop_reason
    if isinstance(error, Permanent):
        return failed(job, str(error) or "Permanent", permanent=True)
    if stop == TIMEOUT:
        return failed(job, f"timed out after {job.time_limit:g} s")
    if stop == CANCEL:
        return cancelled(job)
    if stop == RELEASE or isinstance(error, (SystemExit, KeyboardInterrupt)):
        return released(job)
    if isinstance(error, RetryLater):
        return failed(job, str(error), retry_after=error.after)
    if isinstance(error, Postpone):
        by = f'"outcome":"postponed","reason":{encode(_cut(error.reason))},"by":{error.by!r}'
        return f"{{{job.key_json},{by}}}"
    if isinstance(error, (asyncio.CancelledError, Cancelled)):
        return failed(job, f"{type(error).__name__}, though nobody cancelled the task")
    return failed(job, describe(error))


def describe(error: BaseException) -> str:
    """The type and the message, then where it was raised, without the frames of this package."""
    head = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith(HERE)]
    return head + "\n" + "".join(traceback.format_list(frames[-8:])) if frames else head


def _cut(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_ERROR:
        return data.decode("utf-8")
    return data[:MAX_ERROR].decode("utf-8", "ignore") + " ..."
