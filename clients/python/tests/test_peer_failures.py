# SPDX-License-Identifier: MIT
"""Failures of other systems' workers, each a test of this one: the numbers are those of the
project's list of peers' failures. Against a service in memory that fails on request."""

import asyncio
import threading
import time
import unittest

from fake_service import FakeService
from support import QUICK, Running, eventually

import weir


class PeerFailures(unittest.TestCase):
    def setUp(self):
        self.service = FakeService(lease=1.0, heartbeat=0.1, wait=1.0)
        self.addCleanup(self.service.close)
        self.app = weir.Worker(self.service.url, concurrency=4, timing=QUICK)

    def test_PeerFailure05_work_stops_when_heartbeats_are_refused(self):
        stopped = []

        @self.app.task("long")
        async def long():
            try:
                await asyncio.sleep(60)
            finally:
                stopped.append(time.monotonic())

        task = self.service.submit("long")
        with Running(self.app):
            self.service.wait_for(lambda: self.service.tasks[task]["state"] == "running")
            self.service.hook = lambda method, path, body: 503 if "heartbeat" in path else None
            refused = time.monotonic()
            eventually(lambda: stopped)
            self.assertLess(stopped[0] - refused, 5.0)     # the lease, on a busy machine
            self.assertGreater(stopped[0] - refused, 0.3)  # and not before its end
            self.service.hook = lambda method, path, body: None
            # The task was given back without spending an attempt, and runs again.
            self.service.wait_for(lambda: self.service.tasks[task]["run"] == 2)
            self.service.cancel(task)
            self.service.wait_ended(task)
        self.assertEqual(self.service.tasks[task]["state"], "cancelled")

    def test_PeerFailure05_expired_session_stops_handlers_and_begins_anew(self):
        begun, stopped = [], []

        @self.app.task("long")
        async def long(seconds: float):
            begun.append(1)
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                stopped.append(1)
                raise

        task = self.service.submit("long", {"seconds": 60})
        with Running(self.app):
            eventually(lambda: begun)
            self.service.tasks[task]["payload"] = {"seconds": 0}
            self.service.expire()
            self.service.wait_ended(task)
        self.assertEqual((stopped, self.service.completions), ([1], [task]))
        self.assertEqual(self.service.count("/workers"), 2)

    def test_PeerFailure06_polls_go_on_after_any_answer(self):
        answers = [500, 503, 404, 401, 429, 409, 422, "cut", "refuse", 301]

        @self.app.task("echo")
        async def echo(value):
            return value

        def hook(method, path, body):
            return answers.pop() if answers and path.endswith("/poll") else None

        self.service.hook = hook
        with Running(self.app):
            task = self.service.submit("echo", {"value": 1})
            self.service.wait_ended(task)
        self.assertEqual(answers, [])

    def test_PeerFailure06_room_that_strays_take_is_not_offered(self):
        """A handler that outlives its session keeps its place, so the worker does not poll for it:
        a heartbeat that offers the place makes it look stuck."""
        released = threading.Event()
        self.addCleanup(released.set)

        @self.app.task("deaf")
        def deaf():
            released.wait(30)

        tasks = [self.service.submit("deaf", max_attempts=1) for _ in range(4)]
        with Running(self.app):
            self.service.wait_for(lambda: all(self.service.tasks[task]["state"] == "running"
                                              for task in tasks))
            self.service.expire()
            for task in tasks:
                self.service.tasks[task]["state"] = "cancelled"
            self.service.wait_for(lambda: self.service.count("/workers") == 2)
            second = list(self.service.sessions)[-1]
            beats = self.beats_of(second, 3)
            self.assertEqual([beat["free"] for beat in beats], [0] * len(beats))
            released.set()
            self.service.wait_for(lambda: self.beats_of(second, 1)[-1]["free"] == 4)

    def beats_of(self, session, least):
        def found():
            return [body for _, path, body in list(self.service.requests)
                    if path == f"/workers/{session}/heartbeat"]
        eventually(lambda: len(found()) >= least)
        return found()

    def test_PeerFailure07_one_heartbeat_for_all_tasks(self):
        app = weir.Worker(self.service.url, concurrency=100, timing=QUICK)

        @app.task("hold")
        async def hold():
            await asyncio.sleep(0.5)

        tasks = [self.service.submit("hold") for _ in range(100)]
        with Running(app):
            for task in tasks:
                self.service.wait_ended(task)
        beats = [body for _, path, body in self.service.requests if path.endswith("/heartbeat")]
        self.assertLess(len(beats), 100)
        self.assertEqual(max(len(beat["running"]) for beat in beats), 100)

    def test_PeerFailure15_lost_answer_of_a_poll_is_asked_for_again(self):
        runs = []

        @self.app.task("echo")
        async def echo(value):
            runs.append(value)

        lost = []

        def hook(method, path, body):
            # The answers of the first polls with these tasks are lost: the number stays the same.
            if path.endswith("/poll") and len(lost) < 4:
                lost.append(body["poll"])
                return "cut"
            return None

        tasks = [self.service.submit("echo", {"value": n}) for n in range(3)]
        self.service.hook = hook
        with Running(self.app):
            for task in tasks:
                self.service.wait_ended(task)
        self.assertEqual(lost, [1, 1, 1, 1])
        self.assertEqual(sorted(runs), [0, 1, 2])
        self.assertEqual([self.service.tasks[task]["run"] for task in tasks], [1, 1, 1])

    def test_PeerFailure17_task_assigned_at_shutdown_is_run(self):
        """The service assigns a task to the open poll at the moment the worker shuts down."""
        @self.app.task("echo")
        async def echo(value):
            return value

        given = []

        def hook(method, path, body):
            if path.endswith("/drain") and not given:
                given.append(self.service.submit("echo", {"value": 7}))
                self.service.wait_for(lambda: self.service.tasks[given[0]]["state"] == "running")
            return None

        self.service.hook = hook
        with Running(self.app) as running:
            eventually(lambda: self.service.count("/poll") == 1)
            running.begin_stop()
            running.join()
        self.assertEqual(self.service.completions, given)
        self.assertEqual(self.service.sessions, {})

    def test_PeerFailure18_half_open_connection_is_given_up(self):
        @self.app.task("echo")
        async def echo(value):
            return value

        silent = []
        self.service.times["wait"] = 0.2

        def hook(method, path, body):
            if path.endswith("/poll") and body["poll"] == 2 and len(silent) < 2:
                silent.append(1)
                time.sleep(1.0)     # longer than wait and margin
            return None

        self.service.hook = hook
        with Running(self.app):
            eventually(lambda: sum(1 for _, path, body in self.service.requests
                                   if path.endswith("/poll") and body["poll"] == 2) >= 2)
            task = self.service.submit("echo", {"value": 1})
            self.service.wait_ended(task)

    def test_PeerFailure19_never_takes_more_than_it_can_run(self):
        most, now, lock = [0], [0], threading.Lock()

        @self.app.task("work")
        def work():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.01)
            with lock:
                now[0] -= 1

        def hook(method, path, body):
            if path.endswith("/results"):
                time.sleep(0.05)    # undelivered results keep their places
            if path.endswith("/poll"):
                held = sum(1 for task in self.service.tasks.values() if task["holder"])
                most[0] = max(most[0], held + body["free"])
            return None

        self.service.hook = hook
        tasks = [self.service.submit("work") for _ in range(40)]
        with Running(self.app):
            for task in tasks:
                self.service.wait_ended(task)
        self.assertEqual(most[0], 4)

    def test_PeerFailure20_heartbeats_go_on_while_draining(self):
        release = threading.Event()

        @self.app.task("hold")
        def hold():
            release.wait(10)
            return "done"

        task = self.service.submit("hold")
        with Running(self.app) as running:
            self.service.wait_for(lambda: self.service.tasks[task]["state"] == "running")
            running.begin_stop()
            eventually(lambda: self.service.count("/drain") >= 1)
            before, polls = self.service.count("/heartbeat"), self.service.count("/poll")
            time.sleep(1.5)     # longer than the lease
            self.assertGreater(self.service.count("/heartbeat"), before + 2)
            self.assertEqual(self.service.count("/poll"), polls)
            release.set()
            running.join()
        self.assertEqual(self.service.tasks[task]["state"], "completed")
        self.assertEqual(self.service.tasks[task]["run"], 1)

    def test_PeerFailure21_reconnects_for_ever_and_stops_at_once(self):
        refusals = [0]

        @self.app.task("echo")
        async def echo(value):
            return value

        def refuse(method, path, body):
            refusals[0] += 1
            return "refuse"

        self.service.times["wait"] = 25.0
        with Running(self.app) as running:
            self.service.hook = refuse
            self.service.expire()
            eventually(lambda: refusals[0] > 30)
            self.service.hook = lambda method, path, body: None
            task = self.service.submit("echo", {"value": 1})
            self.service.wait_ended(task)
            eventually(lambda: self.app._engines[0].ledger.is_polling)
            began = time.monotonic()
            running.begin_stop()    # a poll of 25 seconds is open
            running.join()
            self.assertLess(time.monotonic() - began, 10.0)

    def test_PeerFailure21_internal_errors_end_no_thread(self):
        @self.app.task("echo")
        async def echo(value):
            return value

        with Running(self.app):
            engine = self.app._engines[0]
            original, faults = engine.link.transport.request, [8]

            def faulty(*arguments, **more):
                if faults[0]:
                    faults[0] -= 1
                    raise RuntimeError("a bug")
                return original(*arguments, **more)

            engine.link.transport.request = faulty
            task = self.service.submit("echo", {"value": 1})
            self.service.wait_ended(task)
            for n in range(5):
                self.service.wait_ended(self.service.submit("echo", {"value": n}))
            eventually(lambda: faults[0] == 0)

    def test_PeerFailure22_exceptions_strand_no_task(self):
        class Odd(BaseException):
            pass

        @self.app.task("odd")
        def odd(value):
            raise Odd(value)

        @self.app.task("exit")
        def leave():
            raise SystemExit(1)

        @self.app.task("unserialisable")
        async def unserialisable():
            return object()

        @self.app.task("strange")
        async def strange(text):
            return text

        tasks = {name: self.service.submit(name, payload, max_attempts=1) for name, payload in (
            ("odd", {"value": 1}), ("unserialisable", None), ("strange", {"text": "\ud800"}))}
        wrong = self.service.submit("odd", [1, 2], max_attempts=1)
        with Running(self.app):
            for task in (*tasks.values(), wrong):
                self.service.wait_ended(task)
            leaving = self.service.submit("exit")
            self.service.wait_for(lambda: self.service.tasks[leaving]["run"] > 1)
            self.service.tasks[leaving]["kind"] = "nothing"
        error = {name: self.service.tasks[task].get("error") for name, task in tasks.items()}
        self.assertIn("Odd: 1", error["odd"])
        self.assertIn("the result is no JSON", error["unserialisable"])
        self.assertEqual(self.service.tasks[tasks["strange"]]["state"], "completed")

    def test_PeerFailure22_refused_result_holds_up_no_other(self):
        @self.app.task("echo")
        async def echo(value):
            return value

        def hook(method, path, body):
            if path.endswith("/results") and any(each.get("result") == "bad" for each in body):
                return 422
            return None

        self.service.hook = hook
        values = ["a", "bad", "b", "c"]
        tasks = [self.service.submit("echo", {"value": value}) for value in values]
        with Running(self.app):
            states = [self.service.wait_ended(task)["state"] for task in tasks]
        self.assertEqual(states, ["completed", "failed", "completed", "completed"])

    def test_PeerFailure23_blocked_loop_starves_no_heartbeat(self):
        @self.app.task("block")
        async def block():
            time.sleep(2.2)     # blocks the loop for more than two leases
            return "done"

        with Running(self.app):     # which waits for the loop, so the task comes after it
            task = self.service.submit("block")
            self.service.wait_for(lambda: self.service.tasks[task]["state"] == "running")
            time.sleep(0.2)
            before = self.service.count("/heartbeat")
            time.sleep(1.5)
            self.assertGreater(self.service.count("/heartbeat"), before + 2)
            self.service.wait_ended(task)
        self.assertEqual(self.service.tasks[task]["run"], 1)
        self.assertEqual(self.service.tasks[task]["state"], "completed")


if __name__ == "__main__":
    unittest.main()
