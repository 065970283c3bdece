# SPDX-License-Identifier: MIT
"""A session with the service, and the times by which the worker keeps."""

from __future__ import annotations

import random
from typing import Any, Dict, NamedTuple


class Timing(NamedTuple):
    """Times in seconds. The service chooses lease, heartbeat and wait, unless they are set here to
    be shorter."""

    connect: float = 5.0
    read_margin: float = 10.0    # a poll is given up after the service's wait and this
    request: float = 10.0        # other requests
    backoff_first: float = 0.1
    backoff_most: float = 10.0
    progress: float = 1.0        # progress is sent this often at most
    drain: float = 25.0          # for running handlers at shutdown
    grace: float = 2.0           # for handlers that were told to stop at shutdown
    busy: float = 2.0            # between heartbeats while no poll is open, by which cancels come
    heartbeat: float = 3600.0
    wait: float = 3600.0


class Session:
    """What the service knows this process as. Its lease counts from before the request that
    renewed it was sent: the service cannot end it sooner."""

    def __init__(self, answer: Dict[str, Any], asked_at: float, timing: Timing) -> None:
        self.id = str(answer["worker"])
        self.lease = float(answer["lease"])
        self.heartbeat = min(float(answer["heartbeat"]), timing.heartbeat)
        self.wait = min(float(answer["wait"]), timing.wait)
        self.lease_until = asked_at + self.lease
        self.poll = 0               # number of the last poll
        self.answered = 0           # of the last that was answered; another one is repeated
        self.is_expired = False     # the lease ran out, and no heartbeat was answered since
        self.is_over = False        # the service does not know it any more
        self.is_drained = False     # the service wants no more polls
        self.path = f"/workers/{self.id}"

    def renewed(self, asked_at: float) -> None:
        self.lease_until = max(self.lease_until, asked_at + self.lease)
        self.is_expired = False


class Backoff:
    """Pauses between repeats: doubling, with jitter, without an end."""

    def __init__(self, first: float, most: float) -> None:
        self._first, self._most, self._count = first, most, 0

    def reset(self) -> None:
        self._count = 0

    def next(self) -> float:
        pause = min(self._most, self._first * 2.0 ** min(self._count, 30))
        self._count += 1
        return pause * random.uniform(0.5, 1.0)

    @property
    def count(self) -> int:
        return self._count
