# SPDX-License-Identifier: MIT
"""A service of ours in a process of its own, on a file that goes with it."""
import contextlib
import http.client
import json
import subprocess
import tempfile

from processes import start


class Served:
    """`words` makes the command, given the path of the file; `port_in` finds the port in a line of its output, or None."""

    def __init__(self, disk, words, port_in):
        self.folder = tempfile.TemporaryDirectory(prefix="service-", dir=disk)
        command = words(f"{self.folder.name}/tasks.db")
        self.process = start(command, None, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ports = (port_in(line) for line in self.process.stdout)
        self.port = next((port for port in ports if port is not None), None)
        if self.port is None:
            raise RuntimeError(f"{command[0]} did not say its port")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, method, path, body=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as on:
            on.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
            answer = on.getresponse()
            text = answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:200]}")
            return json.loads(text) if text else None
