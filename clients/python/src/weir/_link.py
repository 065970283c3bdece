# SPDX-License-Identifier: MIT
"""What the threads of the network share: the session, the tasks that are held, and how to ask."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from typing import Any, List, Optional

from . import _outcome
from ._http import Connection, Response, Transport
from ._ledger import Ledger
from ._session import Backoff, Session, Timing
from .errors import WeirError

log = logging.getLogger("weir")

# Answers after which the same request may succeed later.
TEMPORARY = frozenset((408, 425, 429, 500, 502, 503, 504))


class Link:
    def __init__(self, transport: Transport, places: int, timing: Timing) -> None:
        self.transport = transport
        self.places = places
        self.timing = timing
        self.ledger = Ledger(places)
        self.ledger.may_poll = self.may_poll
        self.session: Optional[Session] = None
        self.is_draining = False
        self.results_fail = False       # the last results could not be delivered
        self.ended = threading.Event()
        self.polled_at = time.monotonic()
        self.poll_connection: List[Connection] = []
        self.beat_now = threading.Event()
        self.beat_due = float("inf")
        self.clock: queue.SimpleQueue[Optional[float]] = queue.SimpleQueue()
        self.clock_at = 0.0

    def may_poll(self) -> bool:
        session = self.session
        return (session is not None and not self.is_draining and not self.results_fail
                and not session.is_expired and not session.is_drained)

    def ask(self, path: str, value: Any, timeout: float,
            used: Optional[List[Connection]] = None) -> Response:
        body = json.dumps(value, separators=(",", ":")).encode()
        return self.transport.request("POST", path, body, timeout=timeout, used=used)

    def backoff(self) -> Backoff:
        return Backoff(self.timing.backoff_first, self.timing.backoff_most)

    def beat_within(self, seconds: float) -> None:
        """The next heartbeat is sent sooner than usual."""
        due = time.monotonic() + seconds
        if due < self.beat_due:
            self.beat_due = due
            self.beat_now.set()

    def wake_clock(self, at: float) -> None:
        """Something is to be looked at then."""
        if at < self.clock_at:
            self.clock_at = at
            self.clock.put(at)

    def end_session(self, session: Session) -> None:
        """It is unknown to the service, or expired: others may run its tasks by now."""
        forgotten = self.ledger.forget(session)
        if forgotten is None:
            return  # another thread has heard of it, too
        stray, lost = forgotten
        self.session = None
        if not self.ended.is_set():
            log.warning("the session is over: %d handlers are stopped, %d results lost; "
                        "beginning anew", len(stray), lost)
        for job in stray:
            job.stop(_outcome.RELEASE)
        for connection in list(self.poll_connection):
            connection.abort()   # a poll of the old session, if it is still open
        self.beat_now.set()

    def end(self) -> None:
        """All threads end."""
        self.ended.set()
        self.beat_now.set()
        self.clock.put(None)
        self.ledger.close()


def report_failure(what: str, error: WeirError, backoff: Backoff) -> None:
    """The first failure of a row is a warning, the others are for those who look closer."""
    log.log(logging.WARNING if backoff.count == 0 else logging.DEBUG,
            "%s: %s; trying again", what, error)
