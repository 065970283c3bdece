# SPDX-License-Identifier: MIT
"""Stops handlers whose time is over, and all of them when the lease is."""

from __future__ import annotations

import logging
import queue
import time

from . import _outcome
from ._link import Link
from ._session import Session

log = logging.getLogger("weir")


class Clock:
    def __init__(self, link: Link) -> None:
        self._link = link

    def run(self) -> None:
        link = self._link
        while not link.ended.is_set():
            now = time.monotonic()
            session = link.session
            link.clock_at = float("inf")  # what begins from here on wakes this thread
            wake = now + 3600.0
            if session is not None and not session.is_expired:
                if session.lease_until <= now:
                    self._lease_ran_out(session)
                else:
                    wake = session.lease_until
            for job in link.ledger.held():
                if job.deadline > now:
                    wake = min(wake, job.deadline)
                elif job.stop_reason is None:
                    job.stop(_outcome.TIMEOUT)
            link.clock_at = min(link.clock_at, wake)
            try:
                link.clock.get(timeout=max(0.0, link.clock_at - time.monotonic()))
            except queue.Empty:
                pass

    def _lease_ran_out(self, session: Session) -> None:
        """The service may have given the tasks to others. The results of handlers that ended are
        still sent: the service knows whether they count."""
        session.is_expired = True
        running = self._link.ledger.running()
        log.warning("no heartbeat was answered for %g s: %d handlers are stopped",
                    session.lease, len(running))
        for job in running:
            job.stop(_outcome.RELEASE)
