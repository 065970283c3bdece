# SPDX-License-Identifier: MIT
"""Workers that are killed, frozen or blocked for longer than their lease."""

import signal
import subprocess
import time
import unittest

from service import PROGRAM, Serve
from support import IS_STRESS, eventually
from test_service import Program, WORKER

LEASE = 2.0


class Leases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if PROGRAM and "--worker-lease" not in subprocess.run(
                [PROGRAM, "serve", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout:
            raise unittest.SkipTest("this program has no --worker-lease: a test would take minutes")
        cls.service = Serve("--worker-lease", str(LEASE), memory=True)
        cls.addClassCleanup(cls.service.close)
        cls.client = cls.service.client()
        cls.addClassCleanup(cls.client.close)

    def start(self, kind="nap", seconds=1.0, service=None):
        """A worker, and a task that it runs."""
        service = service or self.service
        worker = Program(WORKER, service.url)
        self.addCleanup(worker.__exit__)
        eventually(lambda: f"/{worker.pid}" in service.ask("/workers"))
        with service.client() as client:
            task = client.submit(kind, {"seconds": seconds})
            eventually(lambda: client.get(task).state == "running")
        return worker, task

    def test_killed(self):
        worker, task = self.start(seconds=0.5)
        worker.signal(signal.SIGKILL)
        second = Program(WORKER, self.service.url)
        self.addCleanup(second.__exit__)
        began = time.monotonic()
        self.assertEqual(self.client.result(task, 20), second.pid)
        self.assertLess(time.monotonic() - began, 3 * LEASE)

    def test_frozen_past_its_lease(self):
        worker, task = self.start(seconds=0.5)
        worker.signal(signal.SIGSTOP)
        second = Program(WORKER, self.service.url)
        self.addCleanup(second.__exit__)
        self.assertEqual(self.client.result(task, 20), second.pid)
        second.signal(signal.SIGTERM)
        second.wait()
        worker.signal(signal.SIGCONT)
        # It changes nothing that was decided meanwhile, begins anew and works again.
        self.assertEqual(self.client.result(self.client.submit("nap", {"seconds": 0}), 20),
                         worker.pid)
        self.assertEqual(self.client.result(task), second.pid)

    def test_PeerFailure23_loop_blocked_for_longer_than_the_lease(self):
        worker, task = self.start("block", 3 * LEASE)
        self.assertEqual(self.client.result(task, 20), worker.pid)
        self.assertEqual(self.client.get(task).raw["attempts"], [])

    @unittest.skipUnless(IS_STRESS, "takes a minute")
    def test_PeerFailure23_loop_blocked_for_a_minute(self):
        """With the times that users have: the lease is half of that."""
        with Serve(memory=True) as service, service.client() as client:
            worker, task = self.start("block", 60.0, service)
            self.assertEqual(client.result(task, 120), worker.pid)
            self.assertEqual(client.get(task).raw["attempts"], [])


if __name__ == "__main__":
    unittest.main()
