# SPDX-License-Identifier: MIT
"""The worker in Go, where Go is installed."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from fault_proxy import FaultProxy, endpoint_of
from service import Serve
from support import eventually

GO = pathlib.Path(__file__).resolve().parents[2] / "go"


class SlowEnd(FaultProxy):
    """The end of the session overtakes a heartbeat, and its answer comes after the other one."""

    def _none(self, client, service, request, rng):
        if endpoint_of(request).endswith("heartbeat"):
            time.sleep(0.3)
        service.sendall(request)
        answer = self._answer(client, service)
        if request.startswith(b"DELETE"):
            time.sleep(1.0)
        client.sendall(answer)


@unittest.skipUnless(shutil.which("go"), "go is not installed")
class GoWorker(unittest.TestCase):
    def test_worker(self):
        with tempfile.TemporaryDirectory() as folder, Serve(memory=True) as service:
            program = os.path.join(folder, "worker")
            subprocess.run(["go", "build", "-o", program, "."], cwd=GO, check=True,
                           env={**os.environ, "GOFLAGS": "-mod=mod",
                                "GOCACHE": os.path.join(folder, "cache")})
            self.check(service, program, service.url)
            faults = ("cut_answer", "duplicate", "replay", "delay", "trickle")
            with FaultProxy(service.url, 5, 0.3, faults) as proxy:
                self.check(service, program, proxy.url)
            with SlowEnd(service.url, 0, 0.0) as proxy:
                self.end_quietly(service, program, proxy.url)

    def end_quietly(self, service, program, url):
        worker = subprocess.Popen([program], env={**os.environ, "WEIR_SERVER": url})
        try:
            eventually(lambda: f"go/{worker.pid}" in service.ask("/workers"))
            time.sleep(0.5)     # it polls
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(15), 0)
        finally:
            worker.kill()
            worker.wait()

    def check(self, service, program, url):
        client = service.client()
        worker = subprocess.Popen([program], env={**os.environ, "WEIR_SERVER": url})
        try:
            eventually(lambda: f"go/{worker.pid}" in service.ask("/workers"))
            ids = client.submit_many([("shout", {"text": str(n)}) for n in range(40)])
            for n, task in enumerate(ids):
                self.assertEqual(client.result(task, 30), {"text": f"{n}!"})
            wrong = client.wait(client.submit("shout", 5, max_attempts=1), 30)
            self.assertEqual(wrong.state, "failed")
            waits = client.submit("wait")
            eventually(lambda: client.get(waits).state == "running")
            client.cancel(waits)
            self.assertEqual(client.wait(waits, 30).state, "cancelled")
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(15), 0)
        finally:
            worker.kill()
            worker.wait()
            client.close()


if __name__ == "__main__":
    unittest.main()
