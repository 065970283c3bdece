# SPDX-License-Identifier: MIT
"""The conversation with the service, on threads of its own.

Four threads, each with one job and one blocking request at a time: the heart (the session and its
heartbeats), the poller, the sender of results, and a clock that stops handlers whose time or lease
is over. Handlers run elsewhere, so one that blocks its thread or the caller's loop delays none of
this. Each thread goes on after any error, with growing pauses: a worker that gives up is a worker
that nobody notices.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from . import _outcome
from ._clock import Clock
from ._heart import Heart
from ._http import Transport
from ._ledger import Ledger
from ._link import TEMPORARY, Link
from ._poller import Poller
from ._sender import ResultSender, StepSender
from ._session import Backoff, Timing
from .errors import ServiceError, Unavailable
from .job import Job

if TYPE_CHECKING:
    from .worker import Handler

log = logging.getLogger("weir")


class Engine:
    """One session: the kinds in `handlers`, `places` of them at a time."""

    def __init__(self, transport: Transport, name: str, handlers: Dict[str, Handler], places: int,
                 queues: List[str], timing: Timing, start: Callable[[List[Job]], None]) -> None:
        self.link = Link(transport, places, timing)
        registration: Dict[str, Any] = {"name": name, "kinds": sorted(handlers),
                                        "sdk": "python/0.1.0"}
        if queues:
            registration["queues"] = queues
        self._heart = Heart(self.link, registration)
        self._steps = StepSender(self.link)
        self._parts = {"heart": self._heart.run,
                       "poll": Poller(self.link, self, handlers, start).run,
                       "results": ResultSender(self.link).run,
                       "clock": Clock(self.link).run}
        self.threads: List[threading.Thread] = []

    @property
    def ledger(self) -> Ledger:
        return self.link.ledger

    @property
    def is_decided(self) -> bool:
        """The service has accepted or refused this worker."""
        return self._heart.registered.is_set()

    @property
    def refusal(self) -> Optional[ServiceError]:
        return self._heart.refusal

    def begin(self) -> None:
        for name, part in self._parts.items():
            thread = threading.Thread(target=self._forever, args=(part,), daemon=True,
                                      name=f"weir-{name}")
            self.threads.append(thread)
            thread.start()

    def _forever(self, part: Callable[[], None]) -> None:
        backoff = self.link.backoff()
        while not self.link.ended.is_set():
            try:
                part()
            except Exception:
                log.exception("internal error; going on")
                self.link.ended.wait(backoff.next())

    # For jobs.

    def finish(self, job: Job, text: str) -> None:
        self.link.ledger.finish(job, text)

    def progress_changed(self, job: Job) -> None:
        self.link.beat_within(self.link.timing.progress)

    def keep_step(self, job: Job, name: str, value: Any) -> Any:
        return self._steps.keep(job, name, value)

    async def keep_step_async(self, job: Job, name: str, value: Any) -> Any:
        return await self._steps.keep_async(job, name, value)

    # The end.

    def shut_down(self, limit: float, hurry: threading.Event) -> None:
        """Takes no more tasks, lets handlers end for `limit` seconds, gives the rest back and ends
        the session. The open poll is not aborted: the service ends it, and what it assigned at the
        last moment is run."""
        ledger, deadline = self.ledger, time.monotonic() + limit
        self.link.is_draining = True
        ledger.notify()
        self._drain(deadline, hurry)
        ledger.wait_until(lambda: hurry.is_set() or ledger.is_empty, deadline)
        running = ledger.running()
        for job in running:
            job.stop(_outcome.RELEASE)
        if running:
            log.warning("%d tasks still run and are given back", len(running))
        grace = time.monotonic() + (0.5 if hurry.is_set() else self.link.timing.grace)
        ledger.wait_until(lambda: ledger.is_empty, grace)
        self._end_session(2.0 if hurry.is_set() else 5.0)

    def _drain(self, deadline: float, hurry: threading.Event) -> None:
        link, backoff = self.link, Backoff(self.link.timing.backoff_first, 1.0)
        limit = min(5.0, link.timing.request)
        while link.ledger.is_polling and not hurry.is_set() and time.monotonic() < deadline:
            session = link.session
            if session is None or session.is_over:
                return
            try:
                answer = link.transport.request("POST", f"{session.path}/drain", timeout=limit)
                if answer.status not in TEMPORARY:
                    break
            except Unavailable as error:
                log.debug("drain: %s", error)
            hurry.wait(backoff.next())
        # What the service has just assigned is on its way.
        link.ledger.wait_until(lambda: not link.ledger.is_polling or hurry.is_set(),
                               min(deadline, time.monotonic() + 2.0))

    def _end_session(self, limit: float) -> None:
        """The service runs the rest again, without spending an attempt."""
        session, deadline = self.link.session, time.monotonic() + limit
        once = min(limit / 2, self.link.timing.request)
        backoff = Backoff(self.link.timing.backoff_first, 1.0)
        self.link.end()  # first: no thread is to begin anew when the session is over
        while session is not None and not session.is_over and time.monotonic() < deadline:
            try:
                answer = self.link.transport.request("DELETE", session.path, timeout=once)
                if answer.status not in TEMPORARY:
                    break
            except Unavailable as error:
                log.debug("end of session: %s", error)
            time.sleep(min(backoff.next(), max(0.0, deadline - time.monotonic())))
        self._steps.close()
