# SPDX-License-Identifier: MIT
"""Workers and clients in Python against the program `weir serve`."""

import asyncio
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

from fault_proxy import FaultProxy
from service import Serve
from support import QUICK, Running, eventually

import weir

HERE = pathlib.Path(__file__).resolve().parent
TIMING = QUICK._replace(heartbeat=0.5, wait=2.0, read_margin=5.0, request=5.0)


class ServiceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Serve(memory=True)
        cls.addClassCleanup(cls.service.close)
        cls.client = cls.service.client()
        cls.addClassCleanup(cls.client.close)

    def worker(self, **more):
        return weir.Worker(self.service.url, timing=more.pop("timing", TIMING), **more)

    def submit(self, kind, payload=None, **options):
        return self.client.submit(kind, payload, **options)


class Workers(ServiceTest):
    def test_coroutines_threads_and_batches(self):
        app = self.worker(concurrency=50)

        @app.task("double")
        async def double(n: int):
            return 2 * n

        @app.task("thread")
        def thread(job: weir.Job, n: int):
            return [n, threading.current_thread().name, job.queue, job.attempt]

        with Running(app):
            ids = self.client.submit_many(("double", {"n": n}) for n in range(1500))
            other = self.submit("thread", {"n": 7}, queue="own")
            self.assertEqual(self.client.result(other, 30), [7, "weir-handler", "own", 1])
            for n, task in enumerate(ids):
                self.assertEqual(self.client.result(task, 20), 2 * n)

    def test_processes(self):
        """The example of a handler in processes, as its user would start it."""
        program = textwrap.dedent("""
            import os, sys, time
            import weir
            app = weir.Worker(sys.argv[1])
            @app.task("square", processes=2)
            def square(job, n: int):
                job.progress(0.5, "squaring")
                return [os.getpid(), job.step("square", lambda: n * n)]
            @app.task("crash", processes=1)
            def crash():
                os._exit(3)
            @app.task("endless", processes=1)
            def endless():
                while True:
                    time.sleep(0.01)
            if __name__ == "__main__":
                app.run()
        """)
        with Program(program, self.service.url) as worker:
            eventually(lambda: "square" in self.service.ask("/workers"))
            ids = self.client.submit_many(("square", {"n": n}) for n in range(20))
            results = [self.client.result(task, 20) for task in ids]
            self.assertEqual([result for _, result in results], [n * n for n in range(20)])
            self.assertNotIn(worker.pid, {pid for pid, _ in results})
            crashed = self.client.wait(self.submit("crash", max_attempts=1), 30)
            self.assertEqual((crashed.state, crashed.error),
                             ("failed", "RuntimeError: the process of the handler ended with status 3"))
            endless = self.submit("endless")
            eventually(lambda: self.client.get(endless).state == "running")
            self.client.cancel(endless)
            self.assertEqual(self.client.wait(endless, 30).state, "cancelled")

    def test_outcomes(self):
        app = self.worker()
        runs = []

        @app.task("outcome")
        async def outcome(job, what: str):
            runs.append((what, job.attempt))
            if what == "permanent":
                raise weir.Permanent("no such file")
            if what == "retry" and job.attempt == 1:
                raise weir.RetryLater(0.05, "busy")
            if what == "postpone" and runs.count((what, 1)) == 1:
                raise weir.Postpone("upstream is busy", 0.05)
            if what == "fail":
                raise ValueError("bad size")
            return job.attempt

        with Running(app):
            state = {}
            for what in ("permanent", "retry", "postpone", "fail"):
                task = self.submit("outcome", {"what": what}, max_attempts=2, backoff=0.05)
                state[what] = self.client.wait(task, 30)
        self.assertEqual(state["permanent"].error, "no such file")
        self.assertEqual(state["retry"].result, 2)
        self.assertEqual(state["postpone"].result, 1)     # no attempt was spent
        self.assertIn("ValueError: bad size", state["fail"].error)
        self.assertEqual(runs.count(("permanent", 1)), 1)
        self.assertEqual([run for run in runs if run[0] == "fail"], [("fail", 1), ("fail", 2)])

    def test_what_a_task_came_after(self):
        app = self.worker()

        @app.task("part")
        async def part(job):
            return {"group": job.group, "after": [each._asdict() for each in job.after]}

        with Running(app):
            flow = {"tasks": [{"name": "first", "kind": "part"},
                              {"kind": "part", "after": ["first"]}], "group": {}}
            made = self.service.post("/tasks/batch", flow)
            first, second = [self.client.result(each["id"], 30) for each in made["results"]]
            alone = self.client.result(self.submit("part"), 30)
        group = made["group"]["id"]
        parent = {"task": made["results"][0]["id"], "on_failure": "cancel", "outcome": "completed"}
        self.assertEqual(first, {"group": group, "after": []})
        self.assertEqual(second, {"group": group, "after": [parent]})
        self.assertEqual(alone, {"group": None, "after": []})

    def test_cancel_progress_and_time_limit(self):
        app = self.worker(timing=TIMING._replace(wait=20.0))
        stopped = []

        @app.task("long")
        async def long(job):
            await job.progress(0.25, "a quarter")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                stopped.append(time.monotonic())
                raise

        @app.task("thread_long")
        def thread_long(job):
            while not job.is_cancelled:
                time.sleep(0.001)

        @app.task("limited", timeout=0.2)
        async def limited():
            await asyncio.sleep(60)

        with Running(app):
            task, other = self.submit("long"), self.submit("thread_long")
            eventually(lambda: self.client.get(task).progress == 0.25)
            self.assertEqual(self.client.get(task).message, "a quarter")
            began = time.monotonic()
            self.assertTrue(self.client.cancel(task))
            self.assertEqual(self.client.wait(task, 30).state, "cancelled")
            self.assertLess(stopped[0] - began, 2.0)
            self.client.cancel(other)
            ended = self.client.wait(other, 30)
            self.assertEqual(ended.state, "completed")    # it returned all the same
            limited = self.client.wait(self.submit("limited", max_attempts=1), 30)
            self.assertEqual((limited.state, limited.error), ("failed", "timed out after 0.2 s"))
            self.assertFalse(self.client.cancel(limited))

    def test_steps_survive_a_failure(self):
        app = self.worker()
        calls = []

        @app.task("order")
        async def order(job: weir.Job):
            first = await job.step("reserve", lambda: calls.append("reserve") or {"place": 4})
            if job.attempt == 1:
                raise RuntimeError("between the steps")

            async def charge():
                calls.append("charge")
                return "paid"
            return [first, await job.step("charge", charge)]

        @app.task("too much")
        async def too_much(job):
            await job.step("huge", lambda: "x" * 100_000)

        with Running(app):
            task = self.submit("order", backoff=0.05)
            self.assertEqual(self.client.result(task, 30), [{"place": 4}, "paid"])
            huge = self.client.wait(self.submit("too much"), 30)
        self.assertEqual(calls, ["reserve", "charge"])
        self.assertEqual(huge.state, "failed")
        self.assertIn("step 'huge'", huge.error)

    def test_own_concurrency(self):
        app = self.worker(concurrency=20)
        now, most, lock = [0], [0], threading.Lock()

        @app.task("few", concurrency=2)
        def few():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.02)
            with lock:
                now[0] -= 1

        @app.task("many")
        async def many():
            return None

        with Running(app):
            ids = self.client.submit_many([("few", None)] * 12 + [("many", None)])
            self.assertEqual(self.client.wait(ids[-1], 30).state, "completed")
            for task in ids:
                self.assertEqual(self.client.wait(task, 30).state, "completed")
        self.assertEqual(most[0], 2)

    def test_queues(self):
        app = self.worker(queues=["mail"])

        @app.task("queued")
        async def queued(job):
            return job.queue

        with Running(app):
            other, mail = self.submit("queued"), self.submit("queued", queue="mail")
            self.assertEqual(self.client.result(mail, 30), "mail")
            self.assertEqual(self.client.get(other).state, "pending")
        self.client.cancel(other)

    def test_start_again_and_objects_as_handlers(self):
        class Adder:
            async def __call__(self, a: int, b: int):
                return a + b

        app = self.worker()
        app.task("add")(Adder())
        app.task("plain")(lambda a: a)
        for n in range(3):
            with Running(app):
                self.assertEqual(self.client.result(self.submit("add", {"a": n, "b": 1}), 30), n + 1)
                self.assertEqual(self.client.result(self.submit("plain", {"a": n}), 30), n)

    def test_refusals(self):
        app = self.worker()
        with self.assertRaisesRegex(RuntimeError, "no handlers"):
            asyncio.run(app.start())
        app.task("echo")(lambda: None)  # a kind of the service itself
        with self.assertRaises(weir.ServiceError):
            with Running(app):
                pass

    def test_PeerFailure16_poll_of_a_client_that_went_takes_nothing(self):
        gone = self.worker(concurrency=1)
        runs = []

        @gone.task("gone")
        async def first():
            runs.append("gone")

        stays = self.worker(concurrency=1)

        @stays.task("gone")
        async def second():
            runs.append("stays")

        with Running(gone):
            engine = gone._engines[0]
            eventually(lambda: engine.link.poll_connection)
            with Running(stays):
                # Its poll is cut, and it does not come back.
                engine.link.ended.set()
                engine.link.poll_connection[0].abort()
                time.sleep(0.1)
                for _ in range(6):
                    self.assertEqual(self.client.wait(self.submit("gone"), 30).state, "completed")
            engine.ledger.close()
        self.assertEqual(runs, ["stays"] * 6)


class Access(unittest.TestCase):
    def test_tokens(self):
        with tempfile.NamedTemporaryFile("w") as tokens:
            tokens.write("secret-of-the-admin\nsecret-of-the-worker worker:tokened\n")
            tokens.flush()
            with Serve("--token-file", tokens.name, memory=True) as service:
                for token, kind, status in (("wrong-token-of-somebody", "tokened", 401),
                                            ("secret-of-the-worker", "other", 403)):
                    app = weir.Worker(service.url, token=token, timing=TIMING)
                    app.task(kind)(lambda: None)
                    with self.assertRaises(weir.ServiceError) as refused, Running(app):
                        pass
                    self.assertEqual(refused.exception.status, status)
                app = weir.Worker(service.url, token="secret-of-the-worker", timing=TIMING)
                app.task("tokened")(lambda job: job.step("one", lambda: 5))
                with Running(app), weir.Client(service.url, token="secret-of-the-admin") as client:
                    self.assertEqual(client.result(client.submit("tokened"), 30), 5)

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                            "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                            "-keyout", key, "-out", certificate], check=True, capture_output=True)
            with Serve("--tls-certificate", certificate, "--tls-key", key, memory=True) as service:
                tls = ssl.create_default_context(cafile=certificate)
                app = weir.Worker(service.url, tls=tls, timing=TIMING)
                app.task("greet")(lambda name: f"Hello, {name}!")
                with Running(app), weir.Client(service.url, tls=tls) as client:
                    greeted = client.result(client.submit("greet", {"name": "Ada"}), 30)
                    self.assertEqual(greeted, "Hello, Ada!")

                    async def main():
                        async with weir.AsyncClient(service.url, tls=tls) as other:
                            return await other.result(await other.submit("echo", 1), 30)
                    self.assertEqual(asyncio.run(main()), 1)
                with weir.Client(service.url, timeout=0.1) as unsure:
                    with self.assertRaisesRegex(weir.Unavailable, "(?i)certificate"):
                        unsure.submit("echo")


class Clients(ServiceTest):
    def test_submit_and_wait(self):
        task = self.client.submit("echo", {"a": 1}, tags=["x"], queue="mail")
        ended = self.client.wait(task, 30)
        self.assertEqual((ended.state, ended.result, ended.queue), ("completed", {"a": 1}, "mail"))
        self.assertLessEqual(ended.created_at, ended.finished_at)
        self.assertEqual(self.client.result(task), {"a": 1})
        with self.assertRaises(weir.TaskFailed) as failure:
            self.client.result(self.client.submit("echo", {"fail": "no"}, max_attempts=1), 30)
        self.assertIn("no", failure.exception.task.error)
        with self.assertRaises(TimeoutError):
            self.client.wait(self.client.submit("sleep", {"seconds": 30}), 0.05)

    def test_a_task_that_nobody_takes_in_time(self):
        app = self.worker()
        app.task("in_time")(lambda: None)
        with Running(app):
            pass  # the kind is known from now on
        task = self.client.submit("in_time", expires_in=0.2)
        self.assertIsNotNone(self.client.get(task).raw["expires_at"])
        ended = self.client.wait(task, 20)
        self.assertEqual(ended.state, "cancelled")
        self.assertIn("expired: not started by", ended.error)

    def test_many(self):
        ids = self.client.submit_many([("echo", 1), {"kind": "unknown", "payload": 2}, ("echo", 3)])
        self.assertIsInstance(ids[1], weir.ServiceError)
        self.assertEqual([self.client.result(ids[n], 5) for n in (0, 2)], [1, 3])
        self.assertEqual(self.client.submit_many([]), [])

    def test_errors(self):
        for refused, status in ((lambda: self.client.submit("unknown"), 422),
                                (lambda: self.client.submit("echo", queue=""), 422),
                                (lambda: self.client.get("nothing"), 404)):
            with self.assertRaises(weir.ServiceError) as error:
                refused()
            self.assertEqual(error.exception.status, status)
        with self.assertRaises(ValueError):
            self.client.submit("echo", float("nan"))

    def test_async(self):
        async def main():
            async with weir.AsyncClient(self.service.url) as client:
                ids = await asyncio.gather(*(client.submit("echo", n) for n in range(20)))
                results = await asyncio.gather(*(client.result(task, 5) for task in ids))
                self.assertEqual(results, list(range(20)))
                many = await client.submit_many([("echo", n) for n in range(3)])
                self.assertEqual((await client.wait(many[2], 5)).result, 2)
                slow = await client.submit("sleep", {"seconds": 30})
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.wait(slow), 0.05)     # cancelled in a request
                self.assertTrue(await client.cancel(slow))
                self.assertEqual((await client.wait(slow, 5)).state, "cancelled")
                self.assertFalse(await client.cancel(slow))
                self.assertEqual((await client.get(slow)).state, "cancelled")
        asyncio.run(main())

    def test_answers_that_get_lost_make_no_second_task(self):
        faults = ("cut_request", "cut_answer", "duplicate", "replay")
        with FaultProxy(self.service.url, 3, 0.5, faults) as proxy, \
                weir.Client(proxy.url) as client:
            tag = f"once{proxy.url[-5:]}"
            ids = {client.submit("echo", n, tags=[tag]) for n in range(40)}
            ids.update(client.submit_many([{"kind": "echo", "payload": n, "tags": [tag]}
                                           for n in range(30)]))
            self.assertGreater(proxy.counts["cut_answer"], 0)
        time.sleep(0.4)     # replays
        listed = json.loads(self.service.ask(f"/tasks?tag={tag}&limit=200"))["tasks"]
        self.assertEqual({each["id"] for each in listed}, ids)
        self.assertEqual(len(ids), 70)


class Program:
    """A worker of its own process."""

    def __init__(self, text, url, **environment):
        self._file = tempfile.NamedTemporaryFile("w", suffix=".py")
        self._file.write(text)
        self._file.flush()
        self.process = subprocess.Popen(
            [sys.executable, self._file.name, url], stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(HERE.parent / "src"), **environment})
        self.pid = self.process.pid
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.decode())

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=15):
        code = self.process.wait(seconds)
        self._reader.join(2)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(2)
        self.process.stderr.close()
        self._file.close()


WORKER = textwrap.dedent("""
    import asyncio, os, sys, time
    import weir
    app = weir.Worker(sys.argv[1], concurrency=8, drain=float(os.environ.get("DRAIN", "5")))
    @app.task("nap")
    async def nap(seconds: float):
        await asyncio.sleep(seconds)
        return os.getpid()
    @app.task("block")
    async def block(seconds: float):
        time.sleep(seconds)
        return os.getpid()
    if __name__ == "__main__":
        app.run()
""")


class Processes(ServiceTest):
    def running(self, task):
        eventually(lambda: self.client.get(task).state == "running")

    def known(self, kind):
        eventually(lambda: f'"{kind}"' in self.service.ask("/workers"))

    def test_SIGTERM_drains(self):
        for kind in ("nap", "block"):   # also while a handler blocks the loop
            with self.subTest(kind), Program(WORKER, self.service.url) as worker:
                self.known(kind)
                task = self.submit(kind, {"seconds": 0.7})
                self.running(task)
                worker.signal(signal.SIGTERM)
                eventually(lambda: any("no more tasks" in line for line in worker.lines))
                time.sleep(0.1)
                later = self.submit(kind, {"seconds": 0.0})
                self.assertEqual(worker.wait(), 0)
                self.assertEqual(self.client.wait(task, 5).result, worker.pid)
                self.assertEqual(self.client.get(later).state, "pending")
                self.client.cancel(later)

    def test_the_rest_is_given_back(self):
        with Program(WORKER, self.service.url, DRAIN="0.2") as worker:
            self.known("nap")
            task = self.submit("nap", {"seconds": 60})
            self.running(task)
            worker.signal(signal.SIGTERM)
            self.assertEqual(worker.wait(), 0)
            given_back = self.client.get(task)
            self.assertEqual(given_back.state, "pending")
            self.assertEqual(given_back.raw["attempts"], [])
            self.client.cancel(task)

    def test_second_signal_ends_it(self):
        with Program(WORKER, self.service.url, DRAIN="60") as worker:
            self.known("nap")
            task = self.submit("nap", {"seconds": 60})
            self.running(task)
            worker.signal(signal.SIGTERM)
            time.sleep(0.3)
            began = time.monotonic()
            worker.signal(signal.SIGTERM)
            self.assertEqual(worker.wait(), 128 + signal.SIGTERM)
            self.assertLess(time.monotonic() - began, 15)
            self.assertEqual(self.client.get(task).state, "pending")
            self.client.cancel(task)

    def test_service_restarts(self):
        with Program(WORKER, self.service.url) as worker:
            self.known("nap")
            task = self.submit("nap", {"seconds": 1.0})
            self.running(task)
            self.service.restart(signal.SIGKILL)
            self.assertEqual(self.client.wait(task, 20).result, worker.pid)
            self.assertEqual(self.client.result(self.submit("nap", {"seconds": 0}), 20), worker.pid)


if __name__ == "__main__":
    unittest.main()
