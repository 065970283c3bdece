# SPDX-License-Identifier: MIT
"""The session: registered, kept alive by heartbeats, begun anew when it is over."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Dict, Optional

from . import _outcome
from ._link import TEMPORARY, Link, report_failure
from ._session import Backoff, Session
from .errors import ServiceError, Unavailable, WeirError
from .job import Job

log = logging.getLogger("weir")


class Heart:
    def __init__(self, link: Link, registration: Dict[str, Any]) -> None:
        self._link = link
        self._registration = registration
        self.registered = threading.Event()   # or refused
        self.refusal: Optional[ServiceError] = None

    def run(self) -> None:
        link, backoff = self._link, self._link.backoff()
        while not link.ended.is_set():
            session = link.session
            if session is None:
                if not self._open(backoff):
                    link.ended.wait(backoff.next())
            elif self._beat(session, backoff):
                backoff.reset()
                self._pause(session)
            elif not session.is_over:
                link.ended.wait(min(backoff.next(), session.heartbeat / 2))

    def _open(self, backoff: Backoff) -> bool:
        link, asked_at = self._link, time.monotonic()
        where = link.transport.address.url
        try:
            answer = link.ask("/workers", self._registration, link.timing.request)
            if answer.status != 201:
                raise answer.error()
            session = Session(answer.json(), asked_at, link.timing)
        except ServiceError as error:
            if not self.registered.is_set() and error.status not in TEMPORARY:
                self.refusal = error
                self.registered.set()
            report_failure(f"cannot register this worker at {where}", error, backoff)
            return False
        except (Unavailable, KeyError, TypeError, ValueError) as error:
            problem = WeirError(repr(error) if isinstance(error, KeyError) else str(error))
            report_failure(f"cannot register this worker at {where}", problem, backoff)
            return False
        backoff.reset()
        link.beat_due = time.monotonic() + session.heartbeat
        link.session = session
        link.wake_clock(session.lease_until)
        self.refusal = None
        self.registered.set()
        log.info("worker %s runs %s for %s, %d at a time", session.id[:8],
                 ", ".join(self._registration["kinds"]), where, link.places)
        link.ledger.notify()
        self._pause(session)
        return True

    def _pause(self, session: Session) -> None:
        """Until the next heartbeat is due."""
        link = self._link
        while not link.ended.is_set() and not session.is_over:
            left = link.beat_due - time.monotonic()
            if left <= 0 or not link.beat_now.wait(left):
                return
            link.beat_now.clear()

    def _beat(self, session: Session, backoff: Backoff) -> bool:
        link = self._link
        # What asks for a heartbeat from here on may come too late for this one.
        link.beat_due = time.monotonic() + session.heartbeat
        answered = session.answered   # first: tasks of later answers may be in the list
        held = link.ledger.held()
        if held and not link.ledger.is_polling:
            link.beat_within(link.timing.busy)
        asked_at = time.monotonic()
        beat = {"running": [describe_run(job) for job in held],
                "free": max(0, link.places - len(held) - link.ledger.strays),
                "poll_age": 0.0 if link.ledger.is_polling else asked_at - link.polled_at,
                "answered_poll": answered}
        # Short enough for several tries on new connections before the lease is over.
        timeout = min(link.timing.request, max(1.0, session.lease / 4),
                      max(0.2, session.lease_until - asked_at))
        try:
            answer = link.ask(f"{session.path}/heartbeat", beat, timeout)
            if answer.status == 410:
                link.end_session(session)
                return False
            if answer.status != 200:
                raise answer.error()
            news = answer.json()
        except WeirError as error:
            report_failure("heartbeat", error, backoff)
            return False
        session.renewed(asked_at)
        link.wake_clock(session.lease_until)
        self._handle_news(session, news)
        return True

    def _handle_news(self, session: Session, news: Dict[str, Any]) -> None:
        ledger = self._link.ledger
        for job in ledger.find_all(news.get("cancel", ())):
            job.stop(_outcome.CANCEL)
        lost = ledger.find_all(news.get("lost", ()))
        if lost:
            # Not those whose results were accepted while the heartbeat was on its way.
            running = set(map(id, ledger.running()))
            for job in lost:
                if id(job) in running and job.session is session:
                    log.warning("task %s is not ours any more and is stopped", job.id)
                    job.stop(_outcome.RELEASE)
        is_drained = news.get("state") == "drain"
        if is_drained != session.is_drained:
            session.is_drained = is_drained
            if not self._link.is_draining:
                log.info("the service %s", "wants this worker drained" if is_drained
                         else "takes this worker back")
        ledger.notify()


def describe_run(job: Job) -> Dict[str, Any]:
    entry: Dict[str, Any] = {"id": job.id, "run": job.run}
    if job.progress_now is not None:
        fraction, message = job.progress_now
        if fraction is not None:
            entry["progress"] = fraction
        if message:
            entry["message"] = message
    return entry


