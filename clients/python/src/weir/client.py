# SPDX-License-Identifier: MIT
"""Submits tasks, waits for them, cancels them: `Client` for threads, `AsyncClient` for asyncio.

Both repeat requests whose answer did not come, for `timeout` seconds. A submit is safe to repeat,
because each has an idempotency key: one of its own if the caller gives none.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import secrets
import ssl
import time
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union
from urllib.parse import quote

from ._async_http import AsyncTransport
from ._http import Response, Transport
from ._session import Backoff
from .errors import ServiceError, TaskFailed, Unavailable, WeirError

DEFAULT_URL = "http://127.0.0.1:8080"
ENDED = frozenset(("completed", "failed", "cancelled"))
LONGEST_WAIT = 25.0      # of one request that waits for the end of a task
MAX_BATCH = 1000
MAX_BATCH_BYTES = 768 * 1024


class Task:
    """A task as the service last described it; `raw` has every member."""

    def __init__(self, raw: Dict[str, Any]) -> None:
        self.raw = raw
        self.id: str = raw["id"]
        self.state: str = raw["state"]
        self.kind: str = raw.get("kind", "")
        self.queue: str = raw.get("queue", "default")
        self.result: Any = raw.get("result")
        self.error: Optional[str] = raw.get("error")
        self.progress: Optional[float] = raw.get("progress")
        self.message: Optional[str] = raw.get("message")

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def created_at(self) -> Optional[datetime.datetime]:
        return _moment(self.raw.get("created_at"))

    @property
    def started_at(self) -> Optional[datetime.datetime]:
        return _moment(self.raw.get("started_at"))

    @property
    def finished_at(self) -> Optional[datetime.datetime]:
        return _moment(self.raw.get("finished_at"))

    def __repr__(self) -> str:
        return f"<weir.Task {self.id} {self.kind} {self.state}>"


class New(NamedTuple):
    """One of many tasks to submit."""

    kind: str
    payload: Any = None
    options: Mapping[str, Any] = {}


Submission = Union[New, Tuple[str, Any], Mapping[str, Any]]


class _Requests:
    """What both clients ask, without how it is sent."""

    @staticmethod
    def url(url: Optional[str]) -> str:
        return url or os.environ.get("WEIR_SERVER") or DEFAULT_URL

    @staticmethod
    def token(token: Optional[str]) -> Optional[str]:
        return token or os.environ.get("WEIR_TOKEN") or None

    @staticmethod
    def submit(kind: str, payload: Any, options: Dict[str, Any]) -> bytes:
        options.setdefault("idempotency_key", secrets.token_hex(16))
        return _encode({"kind": kind, "payload": payload, **options})

    @staticmethod
    def batches(tasks: Iterable[Submission]) -> Iterable[bytes]:
        """Bodies of at most MAX_BATCH tasks, and of MAX_BATCH_BYTES unless one is larger."""
        key, count = secrets.token_hex(16), 0
        texts: List[bytes] = []
        size = 0
        for task in tasks:
            if isinstance(task, New):
                members: Dict[str, Any] = {"kind": task.kind, "payload": task.payload}
                members.update(task.options)
            elif isinstance(task, tuple):
                members = {"kind": task[0], "payload": task[1]}
            else:
                members = dict(task)
            members.setdefault("idempotency_key", f"{key}/{count}")
            count += 1
            text = _encode(members)
            if texts and (len(texts) == MAX_BATCH or size + len(text) > MAX_BATCH_BYTES):
                yield b"[" + b",".join(texts) + b"]"
                texts, size = [], 0
            texts.append(text)
            size += len(text) + 1
        if texts:
            yield b"[" + b",".join(texts) + b"]"

    @staticmethod
    def ids(answer: Response) -> List[Union[str, ServiceError]]:
        ids: List[Union[str, ServiceError]] = []
        for each in answer.json()["results"]:
            error = each.get("error")
            ids.append(each["id"] if error is None else ServiceError(
                int(error.get("status", 422)), str(error.get("detail", "")), error.get("member")))
        return ids

    @staticmethod
    def path(task: Union[str, Task], rest: str = "") -> str:
        return f"/tasks/{quote(task.id if isinstance(task, Task) else task, safe='')}{rest}"

    @staticmethod
    def checked(answer: Response, *also: int) -> Response:
        if answer.status >= 300 and answer.status not in also:
            raise answer.error()
        return answer


class Client:
    """For threads; any number of them may share one."""

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None,
                 timeout: float = 30.0, tls: Optional[ssl.SSLContext] = None) -> None:
        self._timeout = timeout
        self._transport = Transport(_Requests.url(url), _Requests.token(token), tls=tls)

    def submit(self, kind: str, payload: Any = None, **options: Any) -> str:
        """The id of the new task, which is on disk by then. Options are the members of a submit:
        queue, priority, delay, expires_in, max_attempts, timeout, idempotency_key, unique_key,
        tags, ..."""
        body = _Requests.submit(kind, payload, options)
        answer = _Requests.checked(self._ask("POST", "/tasks", body))
        return str(answer.json()["id"])

    def submit_many(self, tasks: Iterable[Submission]) -> List[Union[str, ServiceError]]:
        """Ids in the order of the tasks, which are `(kind, payload)`, `weir.client.New`, or a dict
        of members. A task that is refused has its ServiceError in the list; others are not
        affected."""
        ids: List[Union[str, ServiceError]] = []
        for body in _Requests.batches(tasks):
            ids += _Requests.ids(_Requests.checked(self._ask("POST", "/tasks/batch", body)))
        return ids

    def get(self, task: Union[str, Task]) -> Task:
        return Task(_Requests.checked(self._ask("GET", _Requests.path(task))).json())

    def wait(self, task: Union[str, Task], timeout: Optional[float] = None) -> Task:
        """The task when it has ended; raises TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            wait, began = _next_wait(deadline), time.monotonic()
            path = _Requests.path(task, f"?wait={wait:.3f}")
            found = Task(_Requests.checked(self._ask("GET", path, wait=wait)).json())
            if found.has_ended:
                return found
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"task {found.id} is {found.state} after {timeout:g} s")
            if time.monotonic() - began < wait * 0.9:
                time.sleep(0.2)  # the service shuts down, and answers at once

    def result(self, task: Union[str, Task], timeout: Optional[float] = None) -> Any:
        """The result of the task when it has completed; raises TaskFailed if it does not."""
        ended = self.wait(task, timeout)
        if ended.state != "completed":
            raise TaskFailed(ended)
        return ended.result

    def cancel(self, task: Union[str, Task]) -> bool:
        """False: the task had ended. A running one is stopped; `wait` tells when it has."""
        answer = self._ask("POST", _Requests.path(task, "/cancel"))
        return _Requests.checked(answer, 409).status != 409

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, body: Optional[bytes] = None,
             wait: float = 0.0) -> Response:
        deadline, backoff = time.monotonic() + self._timeout, Backoff(0.1, 2.0)
        while True:
            try:
                answer = self._transport.request(method, path, body, timeout=wait + 10.0)
                if answer.status != 503:
                    return answer
                error: WeirError = answer.error()
            except Unavailable as problem:
                error = problem
            pause = backoff.next()
            if time.monotonic() + pause > deadline:
                raise error
            time.sleep(pause)


class AsyncClient:
    """The same for asyncio, on sockets of its own."""

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None,
                 timeout: float = 30.0, tls: Optional[ssl.SSLContext] = None) -> None:
        self._timeout = timeout
        self._transport = AsyncTransport(_Requests.url(url), _Requests.token(token), tls=tls)

    async def submit(self, kind: str, payload: Any = None, **options: Any) -> str:
        body = _Requests.submit(kind, payload, options)
        answer = _Requests.checked(await self._ask("POST", "/tasks", body))
        return str(answer.json()["id"])

    async def submit_many(self, tasks: Iterable[Submission]) -> List[Union[str, ServiceError]]:
        ids: List[Union[str, ServiceError]] = []
        for body in _Requests.batches(tasks):
            ids += _Requests.ids(_Requests.checked(await self._ask("POST", "/tasks/batch", body)))
        return ids

    async def get(self, task: Union[str, Task]) -> Task:
        return Task(_Requests.checked(await self._ask("GET", _Requests.path(task))).json())

    async def wait(self, task: Union[str, Task], timeout: Optional[float] = None) -> Task:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            wait, began = _next_wait(deadline), time.monotonic()
            path = _Requests.path(task, f"?wait={wait:.3f}")
            found = Task(_Requests.checked(await self._ask("GET", path, wait=wait)).json())
            if found.has_ended:
                return found
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"task {found.id} is {found.state} after {timeout:g} s")
            if time.monotonic() - began < wait * 0.9:
                await asyncio.sleep(0.2)  # the service shuts down, and answers at once

    async def result(self, task: Union[str, Task], timeout: Optional[float] = None) -> Any:
        ended = await self.wait(task, timeout)
        if ended.state != "completed":
            raise TaskFailed(ended)
        return ended.result

    async def cancel(self, task: Union[str, Task]) -> bool:
        answer = await self._ask("POST", _Requests.path(task, "/cancel"))
        return _Requests.checked(answer, 409).status != 409

    async def close(self) -> None:
        self._transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ask(self, method: str, path: str, body: Optional[bytes] = None,
                   wait: float = 0.0) -> Response:
        deadline, backoff = time.monotonic() + self._timeout, Backoff(0.1, 2.0)
        while True:
            try:
                answer = await self._transport.request(method, path, body, timeout=wait + 10.0)
                if answer.status != 503:
                    return answer
                error: WeirError = answer.error()
            except Unavailable as problem:
                error = problem
            pause = backoff.next()
            if time.monotonic() + pause > deadline:
                raise error
            await asyncio.sleep(pause)


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _next_wait(deadline: Optional[float]) -> float:
    if deadline is None:
        return LONGEST_WAIT
    return min(LONGEST_WAIT, max(0.0, deadline - time.monotonic()))


def _moment(text: Optional[str]) -> Optional[datetime.datetime]:
    if not text:
        return None
    # fromisoformat() knows neither 'Z' nor other numbers of digits before Python 3.11.
    date, _, fraction = text.rstrip("Z").partition(".")
    moment = datetime.datetime.strptime(date, "%Y-%m-%dT%H:%M:%S")
    return moment.replace(microsecond=int((fraction + "000000")[:6]), tzinfo=datetime.timezone.utc)
