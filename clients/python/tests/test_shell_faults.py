# SPDX-License-Identifier: MIT
"""`weir work`, and single claims with handles as shells make them, behind the proxy with faults."""

import json
import os
import random
import signal
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from fault_proxy import FaultProxy
from service import PROGRAM, Serve
from support import IS_STRESS, eventually

RUNS = 100 if IS_STRESS else 6     # of weir work; five times as many of claims
TASKS = 12
# `weir work` waits for half-open connections as long as its users need.
SHORT = ("cut_request", "cut_answer", "duplicate", "replay", "delay", "trickle")


class Claimer(threading.Thread):
    """A shell: claims a task, runs it, settles it, and repeats each request until its answer."""

    def __init__(self, url, kind, seed):
        super().__init__()
        self._url, self._kind, self._rng = url, kind, random.Random(seed)
        self._numbers = 0
        self._seed = seed
        self.is_over = False
        self.claimed, self.refused = [], []

    def run(self):
        while not self.is_over:
            # The same id until it has a task: a copy of the request may have got one meanwhile.
            claim = {"kind": self._kind, "wait": 0.3, "lease": 30,
                     "request_id": f"{self._kind} {self._seed} {self._numbers}"}
            status, claimed = self._repeat("/claim", claim)
            if status == 204:
                continue
            if status != 200:
                self.refused.append(("/claim", status, claimed))
                continue
            self._numbers += 1
            self.claimed.append(claimed["id"])
            time.sleep(self._rng.choice((0, 0.01)))
            outcome = {"outcome": "completed", "result": {"of": claimed["payload"]}}
            status, verdict = self._repeat(f"/handles/{claimed['handle']}", outcome)
            if status != 200 or not verdict["accepted"]:
                self.refused.append((claimed, status, verdict))

    def _repeat(self, path, body):
        deadline = time.monotonic() + 60
        while True:
            request = urllib.request.Request(self._url + path, json.dumps(body).encode())
            try:
                with urllib.request.urlopen(request, timeout=1.0) as answer:
                    text = answer.read()
                    if answer.status == 204 or text:    # else cut in its head
                        return answer.status, json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                with error:
                    text = error.read()
                if error.code < 500:
                    return error.code, text
            except (OSError, ValueError, urllib.error.URLError):
                pass
            except Exception as error:      # http.client's
                if "http.client" not in type(error).__module__:
                    raise
            if time.monotonic() > deadline:
                raise AssertionError(f"{path} is not answered")


class ShellFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Serve("--remote-kinds", "shell*", memory=True)
        cls.addClassCleanup(cls.service.close)
        cls.client = cls.service.client()
        cls.addClassCleanup(cls.client.close)

    def submit(self, kind):
        payloads = [{"n": n, "kind": kind} for n in range(TASKS)]
        tasks = [{"kind": kind, "payload": payload, "backoff": {"initial": 0.01}}
                 for payload in payloads]
        return dict(zip(self.client.submit_many(tasks), payloads))

    def check(self, tasks, expected, context):
        deadline = time.monotonic() + 60
        for task, payload in tasks.items():
            ended = self.client.wait(task, max(0.1, deadline - time.monotonic()))
            self.assertEqual((ended.state, ended.result, ended.raw["attempts"]),
                             ("completed", expected(payload), []), context)

    def test_claims_and_handles(self):
        with ThreadPoolExecutor(10) as pool:
            for problem in pool.map(self.claims, range(1, RUNS * 5 + 1)):
                self.assertIsNone(problem)

    def claims(self, seed):
        """A run; what is wrong, or None."""
        kind = f"shell-claims-{os.getpid()}-{seed}"
        with FaultProxy(self.service.url, seed, 0.3) as proxy:
            shells = [Claimer(proxy.url, kind, f"{seed}-{n}") for n in range(2)]
            for shell in shells:
                shell.start()
            try:
                self.check(self.submit(kind), lambda payload: {"of": payload}, f"seed {seed}")
            except (AssertionError, TimeoutError) as error:
                return f"seed {seed}: {error}; {[vars(shell) for shell in shells]}"
            finally:
                proxy.is_on = False
                for shell in shells:
                    shell.is_over = True
                for shell in shells:
                    shell.join()
        claimed = [task for shell in shells for task in shell.claimed]
        refused = [each for shell in shells for each in shell.refused]
        if refused or len(claimed) != TASKS:
            return f"seed {seed}: {len(claimed)} claims of {len(set(claimed))}; refused: {refused}"
        return None

    def test_weir_work(self):
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(self.work, range(1, RUNS + 1)))

    def work(self, seed):
        kind = f"shell-work-{os.getpid()}-{seed}"
        with FaultProxy(self.service.url, seed, 0.3, SHORT) as proxy:
            tasks = self.submit(kind)
            first = self.start(proxy, kind)
            try:    # ended in the middle of its work, and another one goes on
                eventually(lambda: self.client.get(next(iter(tasks))).state == "completed")
                first.send_signal(signal.SIGTERM)
                second = self.start(proxy, kind)
                try:
                    self.check(tasks, lambda payload: payload, f"seed {seed}")
                    self.assertEqual(first.wait(40), 0)
                finally:
                    second.kill()
                    second.wait()
            finally:
                first.kill()
                first.wait()

    @staticmethod
    def start(proxy, kind):
        return subprocess.Popen([PROGRAM, "work", "--server", proxy.url, "-j", "2", kind, "--",
                                 "cat"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main()
