# SPDX-License-Identifier: MIT
"""A `weir serve` of the test's own, in a folder that goes away with it."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import support  # noqa: F401

import weir

PROGRAM = os.environ.get("WEIR_PROGRAM")


def free_port():
    """Not one of those that the system gives to others, who would have it after a restart."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Serve:
    def __init__(self, *flags, memory=False):
        if not PROGRAM:
            raise unittest.SkipTest("WEIR_PROGRAM, the program weir, is not set")
        self._folder = tempfile.mkdtemp(prefix="weir-python-",
                                        dir="/dev/shm" if memory else None)
        self._flags = flags
        self._listen = f"127.0.0.1:{free_port()}"
        self.start()

    def start(self):
        database = os.path.join(self._folder, "tasks.db")
        with open(os.path.join(self._folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--listen", self._listen, "--database", database, *self._flags],
                stdout=subprocess.PIPE, stderr=log,
                env={**os.environ, "XDG_RUNTIME_DIR": self._folder})
        for line in self.process.stdout:
            found = re.search(rb"listening on (https?://[^\s,]+)", line)
            if found:
                self.url = found[1].decode()
                self._listen = self.url.partition("://")[2]
                break
        else:
            self.process.wait()
            raise AssertionError(f"weir serve ended with {self.process.returncode}: {self.log()}")
        self._reader = threading.Thread(target=self.process.stdout.read, daemon=True)
        self._reader.start()

    def log(self):
        with open(os.path.join(self._folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(60)
        self._reader.join(5)
        self.process.stdout.close()

    def restart(self, number=signal.SIGTERM):
        """On the same port, with the same database."""
        self.stop(number)
        self.start()

    def close(self):
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def client(self):
        return weir.Client(self.url)

    def post(self, path, value):
        request = urllib.request.Request(self.url + path, json.dumps(value).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    def ask(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return answer.read().decode()
