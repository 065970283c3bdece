# SPDX-License-Identifier: MIT
"""The worker in Go, where Go is installed."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from fault_proxy import FaultProxy
from service import Serve
from support import eventually

GO = pathlib.Path(__file__).resolve().parents[2] / "go"


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
