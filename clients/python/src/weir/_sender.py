# SPDX-License-Identifier: MIT
"""Results and steps: sent until the service has decided on them."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List, Optional

from . import _outcome
from ._ledger import Result
from ._link import Link, report_failure
from ._session import Session
from .errors import Cancelled, Permanent, ServiceError, Unavailable, WeirError
from .job import Job

log = logging.getLogger("weir")

# The service will not take these, however often they are sent.
INVALID = (400, 413, 422)


class ResultSender:
    def __init__(self, link: Link) -> None:
        self._link = link

    def run(self) -> None:
        link = self._link
        while not link.ended.is_set():
            batch = link.ledger.wait_for_results()
            session = link.session
            if batch and session is not None:
                self._deliver(session, batch)
                link.ledger.delivered(batch)

    def _deliver(self, session: Session, batch: List[Result]) -> None:
        """Returns when the service has decided on each result, or the session is over."""
        link, backoff = self._link, self._link.backoff()
        body = ("[" + ",".join([text for _, text in batch]) + "]").encode()
        while not link.ended.is_set() and not session.is_over:
            try:
                answer = link.transport.request("POST", f"{session.path}/results", body,
                                                timeout=link.timing.request)
                if answer.status == 200:
                    self._check_verdicts(batch, answer.json())
                elif answer.status == 410:
                    link.end_session(session)
                elif answer.status in INVALID:
                    self._deliver_parts(session, batch, answer.error())
                else:
                    raise answer.error()
                break
            except WeirError as error:
                report_failure("results", error, backoff)
                link.results_fail = True   # results first: no polls until they are delivered
                link.ended.wait(backoff.next())
        if link.results_fail:
            link.results_fail = False
            link.ledger.notify()

    @staticmethod
    def _check_verdicts(batch: List[Result], verdicts: Any) -> None:
        if not isinstance(verdicts, list) or len(verdicts) != len(batch):
            raise Unavailable("the answer does not have a verdict for each result")
        for (job, _), verdict in zip(batch, verdicts):
            if not verdict.get("accepted"):
                log.warning("the result of task %s was refused: %s", job.id,
                            verdict.get("why", "no reason"))

    def _deliver_parts(self, session: Session, batch: List[Result], error: ServiceError) -> None:
        """One result that the service cannot read or keep must not hold up the others."""
        if len(batch) > 1:
            middle = len(batch) // 2
            self._deliver(session, batch[:middle])
            self._deliver(session, batch[middle:])
            return
        job, text = batch[0]
        log.error("the result of task %s was refused: %s", job.id, error)
        if '"outcome":"failed"' not in text:
            failure = _outcome.failed(job, f"the result was refused: {error}", permanent=True)
            self._deliver(session, [(job, failure)])


class StepSender:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._threads: Optional[ThreadPoolExecutor] = None

    def keep(self, job: Job, name: str, value: Any) -> Any:
        """Returns when the service has kept the result, or has one already: that is returned."""
        try:
            body = (f'{{{job.key_json},"name":{_outcome.encode(name)},'
                    f'"result":{_outcome.encode(value)}}}').encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise Permanent(f"step '{name}': the result is no JSON: {error}") from None
        link, backoff, session = self._link, self._link.backoff(), job.session
        while session is not None and not link.ended.is_set():
            if session.is_over or session.is_expired:
                break
            try:
                answer = link.transport.request("POST", f"{session.path}/steps", body,
                                                timeout=link.timing.request)
                if answer.status == 200:
                    return answer.json()["result"]
                if answer.status in (409, 410):
                    break
                if answer.status in INVALID:
                    raise Permanent(f"step '{name}': {answer.error().detail}")
                raise answer.error()
            except (Unavailable, ServiceError) as error:
                report_failure(f"step '{name}'", error, backoff)
                link.ended.wait(backoff.next())
        job.stop(_outcome.RELEASE)
        raise Cancelled("the task is not ours any more")

    async def keep_async(self, job: Job, name: str, value: Any) -> Any:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(8, "weir-steps")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.keep, job, name, value)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False)
