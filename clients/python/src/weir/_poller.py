# SPDX-License-Identifier: MIT
"""Polls: one at a time, repeated under its number until it is answered."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List

from ._link import Link, report_failure
from ._session import Backoff, Session
from .errors import WeirError
from .job import Job

if TYPE_CHECKING:
    from ._engine import Engine
    from .worker import Handler

log = logging.getLogger("weir")


class Poller:
    def __init__(self, link: Link, engine: Engine, handlers: Dict[str, Handler],
                 start: Callable[[List[Job]], None]) -> None:
        self._link = link
        self._engine = engine
        self._handlers = handlers
        self._start = start

    def run(self) -> None:
        link, backoff = self._link, self._link.backoff()
        while not link.ended.is_set():
            free = link.ledger.wait_for_place()
            if free == 0:
                continue
            session = link.session
            try:
                if session is None:
                    continue
                if session.answered == session.poll:
                    session.poll += 1
                is_good = self._poll(session, free, backoff)
            finally:
                link.polled_at = time.monotonic()
                link.poll_connection.clear()
                link.ledger.poll_ended()
            if is_good:
                backoff.reset()
            else:
                link.ended.wait(0.05 if session.is_over else backoff.next())

    def _poll(self, session: Session, free: int, backoff: Backoff) -> bool:
        """False: not answered, or answered with nothing too soon; pause before the next."""
        link, began = self._link, time.monotonic()
        poll = {"poll": session.poll, "free": free, "wait": session.wait}
        try:
            answer = link.ask(f"{session.path}/poll", poll, session.wait + link.timing.read_margin,
                              link.poll_connection)
            if answer.status == 200:
                tasks = answer.json()["tasks"]
                try:
                    self._accept(session, tasks)
                finally:
                    session.answered = session.poll
                return True
            if answer.status == 204:
                session.answered = session.poll
                took = time.monotonic() - began
                if took < session.wait * 0.9:
                    # Something has changed: a cancel, a drain. The heartbeat's answer says what.
                    link.beat_within(0.0)
                    return backoff.count > 0 or took > 0.05
                return True
            if answer.status == 410:
                link.end_session(session)
                return False
            if answer.status == 409:
                session.answered = session.poll   # a later number was seen: go on with the next
                return False
            raise answer.error()
        except (WeirError, KeyError, TypeError) as error:
            report_failure("poll", WeirError(str(error)), backoff)
            return False

    def _accept(self, session: Session, tasks: List[Dict[str, Any]]) -> None:
        link, now = self._link, time.monotonic()
        jobs, unknown = [], []
        for raw in tasks:
            handler = self._handlers.get(raw["kind"])
            if handler is None:
                unknown.append(raw["kind"])
            else:
                jobs.append(Job(raw, handler, self._engine, session, now))
        if unknown:
            log.error("got tasks of kinds that were not asked for: %s", ", ".join(unknown))
        jobs = link.ledger.take(session, jobs)
        if jobs:
            link.wake_clock(min(job.deadline for job in jobs))
            # An open poll ends when a task is cancelled. The next may have to wait for a place.
            link.beat_within(link.timing.busy)
            self._start(jobs)
