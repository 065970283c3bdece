# SPDX-License-Identifier: MIT
"""Workers behind a proxy that cuts, delays, duplicates, reorders and half-opens their requests:
nothing is lost, nothing is completed twice, nothing is stuck.

A run is a seed: some tasks, a worker, a proxy between it and the service. In some runs the worker
stops before its tasks have ended, behind the same faults, and another one goes on.
`WEIR_FAULT_RUNS=N` sets the number of runs (`WEIR_STRESS=1` plays 10,000), `WEIR_FAULT_SEED=S` the
first seed. Other runs cut one message, of each endpoint and at each of its bytes;
`WEIR_FAULT_BYTES=N` takes every N-th of these runs. `WEIR_FAULT_PART=I/N` plays the I-th of N parts
of both, `WEIR_FAULT_PARALLEL=N` so many runs at a time.
"""

import asyncio
import os
import random
import re
import sys
import threading
import time
import traceback
import unittest
from concurrent.futures import ThreadPoolExecutor

from fault_proxy import FaultProxy, Plan
from service import Serve
from support import IS_STRESS, Running

import weir

RUNS = int(os.environ.get("WEIR_FAULT_RUNS") or (10000 if IS_STRESS else 30))
FIRST = int(os.environ.get("WEIR_FAULT_SEED") or 1)
EVERY = int(os.environ.get("WEIR_FAULT_BYTES") or (1 if IS_STRESS else 300))
PART, PARTS = map(int, (os.environ.get("WEIR_FAULT_PART") or "0/1").split("/"))
PARALLEL = int(os.environ.get("WEIR_FAULT_PARALLEL") or 20)
LONGEST = 60.0      # a run that takes longer is stuck
ENDPOINTS = ("POST /workers", "POST /workers/poll", "POST /workers/steps", "POST /workers/results",
             "POST /workers/heartbeat", "POST /workers/drain", "DELETE /workers")
NOT_ALWAYS = {"POST /workers/drain"}    # a worker whose poll has just ended needs none

TIMING = weir.Timing(connect=1.0, read_margin=0.3, request=0.6, backoff_first=0.01,
                     backoff_most=0.2, progress=0.1, grace=0.2, wait=0.5)


class Scenario:
    """One seed: what the tasks do follows from it, as the faults do. Or one fault, as planned."""

    def __init__(self, service, seed, slot, plan=None):
        self._rng = random.Random(seed)
        self._plan = plan
        self.lengths = None     # of the messages
        self._seed = seed
        # The port of this proxy may have been that of a worker elsewhere, which still tries it.
        self._kind = f"fault{os.getpid()}-{slot}"
        self._service = service
        self._returned = {}     # task -> results that a handler has returned for it
        self._lock = threading.Lock()

    def run(self):
        """None, or what is wrong."""
        rng = self._rng
        rate = 0 if self._plan else rng.choice((0.1, 0.3, 0.5))
        with FaultProxy(self._service.url, self._seed, rate, plan=self._plan) as proxy, \
                self._service.client() as client:
            tasks = {}
            if not self._plan and rng.random() < 0.25:
                with Running(self._worker(proxy, drain=rng.choice((0.05, 2.0)))):
                    tasks = self._submit(client, slowest=0.3)
            app = self._worker(proxy)
            with Running(app):
                tasks = tasks or self._submit(client)
                problem = self._check(client, tasks)
                if problem:
                    problem += f"; the worker: {state_of(app)}"
                proxy.is_on = False     # the end is checked elsewhere: here it is to be quick
            if proxy.plan and proxy.plan.endpoint in set(ENDPOINTS) - NOT_ALWAYS:
                problem = problem or f"no {proxy.plan.endpoint}"
            self.lengths = proxy.lengths
            return problem or self._check_again(client, tasks)

    def _worker(self, proxy, drain=2.0):
        timing = TIMING._replace(drain=drain, heartbeat=0.05 if self._plan else 0.5)
        app = weir.Worker(proxy.url, concurrency=self._rng.randint(1, 4), timing=timing)
        self._register(app)
        return app

    def _register(self, app):
        def outcome(job, count):
            result = {"n": job.payload["n"], "run": job.run, "count": count}
            with self._lock:
                self._returned.setdefault(job.id, []).append(result)
            return result

        @app.task(self._kind)
        async def handle(job, n: int, seconds: float, steps: int, fails: bool):
            counts = []
            for number in range(steps):
                counts.append(await job.step(f"step {number}", lambda: number))
            await asyncio.sleep(seconds)
            if fails and job.attempt == 1:
                raise weir.RetryLater(0.01, "not yet")
            job.progress(1.0, "done")
            return outcome(job, counts)

    def _submit(self, client, slowest=0.05):
        rng = self._rng
        if self._plan:
            payloads = [{"n": n, "seconds": 0.1, "steps": n, "fails": n == 1} for n in range(2)]
        else:
            payloads = [{"n": n, "seconds": rng.choice((0.0, 0.001, slowest)),
                         "steps": rng.choice((0, 0, 0, 1, 2)), "fails": rng.random() < 0.15}
                        for n in range(rng.randint(1, 8))]
        first = len(payloads) // 2
        ids = []
        for part in (payloads[:first], payloads[first:]):
            ids += client.submit_many([{"kind": self._kind, "payload": each,
                                        "backoff": {"initial": 0.01}} for each in part])
            time.sleep(rng.random() * 0.2)
        return dict(zip(ids, payloads))

    def _check(self, client, tasks):
        deadline = time.monotonic() + LONGEST
        for task, payload in tasks.items():
            try:
                ended = client.wait(task, max(0.1, deadline - time.monotonic()))
            except TimeoutError as error:
                return f"stuck: {error}; why: {self._service.ask(f'/tasks/{task}/why')}"
            if ended.state != "completed":
                return f"task {task} {ended.state}: {ended.error}"
            if ended.result not in self._returned.get(task, ()):
                return f"task {task}: the result {ended.result} is none that a handler returned"
            if ended.result["n"] != payload["n"]:
                return f"task {task}: the result of another task"
            if ended.result["count"] != list(range(payload["steps"])):
                return f"task {task}: its steps are {ended.result['count']}"
            if len(ended.raw["attempts"]) != payload["fails"]:
                return f"task {task}: attempts were spent: {ended.raw['attempts']}"
            tasks[task] = ended.result
        return None

    @staticmethod
    def _check_again(client, tasks):
        """Late requests have changed nothing."""
        for task, result in tasks.items():
            now = client.get(task)
            if now.state != "completed" or now.result != result:
                return f"task {task} was {result} and is {now.state} {now.result}"
        return None


def state_of(app):
    """What an engine knows, and where its threads are."""
    engine = app._engines[0]
    frames = sys._current_frames()
    link = engine.link
    session = vars(link.session) if link.session else None
    where = {thread.name: [f"{frame.name}:{frame.lineno}" for frame in
                           traceback.extract_stack(frames[thread.ident])[-4:]]
             for thread in engine.threads if thread.ident in frames}
    return {"session": session, **engine.ledger.snapshot(), "may_poll": link.may_poll(),
            "results_fail": link.results_fail, "polls": engine.ledger.is_polling,
            "ended": link.ended.is_set(), "now": time.monotonic(), "threads": where}


class Faults(unittest.TestCase):
    def test_nothing_lost_nothing_twice_nothing_stuck(self):
        with Serve("--remote-kinds", "fault*", memory=True) as service:
            seeds = range(FIRST, FIRST + RUNS)[PART::PARTS]
            self._play(service, [(seed, None) for seed in seeds])
            self._check_counters(service, len(seeds))

    def test_every_endpoint_at_every_byte(self):
        with Serve("--remote-kinds", "fault*", memory=True) as service:
            usual = Scenario(service, 0, 0, Plan("none", "none", 0))
            self.assertIsNone(usual.run())
            self.assertEqual(set(usual.lengths) | NOT_ALWAYS, set(ENDPOINTS))
            plans = [Plan(endpoint, fault + part, byte)
                     for endpoint, lengths in sorted(usual.lengths.items())
                     for part, length in zip(("request", "answer"), lengths)
                     for fault in ("cut_", "stall_") for byte in range(length)]
            plans = plans[FIRST % EVERY::EVERY][PART::PARTS]
            self._play(service, [(FIRST, plan) for plan in plans])
            self._check_counters(service, len(plans))

    def _play(self, service, runs):
        free = list(range(PARALLEL))
        lock, problems = threading.Lock(), []

        def one(run):
            with lock:
                if len(problems) > 5:
                    return
                slot = free.pop()
            seed, plan = run
            try:
                problem = Scenario(service, seed, slot, plan).run()
            except Exception as error:
                problem = repr(error)
            with lock:
                free.append(slot)
                if problem:
                    problems.append(f"seed {seed}, {plan}: {problem}")

        with ThreadPoolExecutor(PARALLEL) as pool:
            list(pool.map(one, runs))
        self.assertFalse(problems, "\n".join(problems))

    def _check_counters(self, service, least):
        """The service has completed each task once."""
        metrics = service.ask("/metrics")
        submitted, completed = (
            float(re.search(rf"^weir_service_{name}_total (\S+)", metrics, re.M)[1])
            for name in ("submitted", "completed"))
        self.assertEqual(submitted, completed)
        self.assertGreaterEqual(submitted, least)


if __name__ == "__main__":
    unittest.main()
