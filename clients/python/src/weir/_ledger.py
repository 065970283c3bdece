# SPDX-License-Identifier: MIT
"""The tasks that this process holds, from the poll's answer until the service has the result.

A task keeps its place until then, so a worker never takes more than it can run and deliver; and
it is in the list that heartbeats send until then, since the service gives back what is not.
"""

from __future__ import annotations

import collections
import threading
import time
from typing import Any, Callable, Deque, Dict, Iterable, List, Optional, Tuple

from ._session import Session
from .job import Job

MAX_RESULTS = 1000
MAX_BYTES = 512 * 1024   # of results in a request, unless a single one is larger

Result = Tuple[Job, str]


class Ledger:
    def __init__(self, places: int) -> None:
        self._places = places
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)      # for the poller, and shutdown
        self._has_results = threading.Condition(self._lock)  # for the sender
        self._held: Dict[Tuple[str, int], Job] = {}
        self._outbox: Deque[Result] = collections.deque()
        self._sending: List[Result] = []
        self._strays = 0        # handlers of a session that is over, and that still run
        self._is_closed = False
        self._waits_for_results = False
        self.is_polling = False
        self.may_poll: Callable[[], bool] = lambda: True

    # For the poller.

    def wait_for_place(self) -> int:
        """The number of free places, when there is one and polling is allowed; 0: closed. From
        then on `is_polling` is set, until `poll_ended()`."""
        with self._changed:
            while not self._is_closed:
                free = self._free()
                if free > 0 and self.may_poll():
                    self.is_polling = True
                    return free
                self._changed.wait()
            return 0

    def poll_ended(self) -> None:
        with self._lock:
            self.is_polling = False
            self._changed.notify_all()

    def _free(self) -> int:
        return self._places - len(self._held) - self._strays

    def take(self, session: Session, jobs: List[Job]) -> List[Job]:
        """Those that are to be run: not held already, and of a session that is not over."""
        with self._lock:
            if session.is_over:
                return []
            new = [job for job in jobs if job.key not in self._held]
            for job in new:
                self._held[job.key] = job
            return new

    # For handlers.

    def finish(self, job: Job, text: str) -> None:
        with self._lock:
            if job.session is not None and job.session.is_over:
                self._strays -= 1
                self._changed.notify_all()
                return
            self._outbox.append((job, text))
            if self._waits_for_results:
                self._waits_for_results = False
                self._has_results.notify()

    # For the sender.

    def wait_for_results(self) -> List[Result]:
        """A batch to send, or the last one until `delivered()`; empty: closed."""
        with self._lock:
            while not self._outbox and not self._sending:
                if self._is_closed:
                    return []
                self._waits_for_results = True
                self._has_results.wait()
            if not self._sending:
                self._sending = self._next_batch()
            return list(self._sending)

    def _next_batch(self) -> List[Result]:
        batch: List[Result] = []
        size = 0
        while self._outbox and len(batch) < MAX_RESULTS:
            size += len(self._outbox[0][1]) + 1
            if size > MAX_BYTES and batch:
                break
            batch.append(self._outbox.popleft())
        return batch

    def delivered(self, batch: List[Result]) -> None:
        with self._lock:
            for job, _ in batch:
                self._held.pop(job.key, None)
            self._sending = []
            self._changed.notify_all()

    # For heartbeats and shutdown.

    def held(self) -> List[Job]:
        with self._lock:
            return list(self._held.values())

    def find_all(self, entries: Iterable[Dict[str, Any]]) -> List[Job]:
        """Those of the entries `{"id", "run"}` that are held."""
        with self._lock:
            found = [self._held.get((entry["id"], entry["run"])) for entry in entries]
        return [job for job in found if job is not None]

    def running(self) -> List[Job]:
        """Held, and the handler has not ended."""
        with self._lock:
            ended = {job.key for job, _ in self._outbox}
            ended.update(job.key for job, _ in self._sending)
            return [job for key, job in self._held.items() if key not in ended]

    def forget(self, session: Session) -> Optional[Tuple[List[Job], int]]:
        """The session is over: its results are worthless. The handlers that still run keep their
        places until they end; they, and the number of results. None: it was over before."""
        with self._lock:
            if session.is_over:
                return None
            lost = len(self._outbox) + len(self._sending)
            ended = {job.key for job, _ in self._outbox}
            ended.update(job.key for job, _ in self._sending)
            session.is_over = True
            stray = [job for key, job in self._held.items() if key not in ended]
            self._strays += len(stray)
            self._held.clear()
            self._outbox.clear()
            self._sending = []
            self._changed.notify_all()
            return stray, lost

    def notify(self) -> None:
        """Something that `may_poll` looks at has changed."""
        with self._lock:
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[], bool], deadline: float) -> bool:
        """Waits until the condition holds, which is looked at after each change."""
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 0.5))
            return True

    @property
    def is_empty(self) -> bool:
        return not self._held

    @property
    def strays(self) -> int:
        return self._strays

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._changed.notify_all()
            self._has_results.notify_all()

    def snapshot(self) -> Dict[str, Any]:
        with self._lock:
            return {"held": len(self._held), "results": len(self._outbox) + len(self._sending),
                    "strays": self._strays, "free": self._free()}
