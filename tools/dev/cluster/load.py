# SPDX-License-Identifier: MIT
"""Work for a cluster, and the ledger of it: tasks that call a receiver here, which counts them."""

import collections
import http.client
import http.server
import json
import random
import threading
import time


class Receiver:
    """Takes the calls of tasks. Each takes a moment, as work does."""

    def __init__(self):
        self.lock = threading.Lock()
        self.calls = collections.defaultdict(list)  # times of the calls of each number
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                number = int(self.path.rsplit("/", 1)[1])
                with receiver.lock:
                    receiver.calls[number].append(time.monotonic())
                time.sleep(random.uniform(0.05, 0.3))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Threads(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                pass  # its caller was killed

        self.server = Threads(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def ask(port, method, path, body=None, timeout=10):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    finally:
        connection.close()


class Load:
    """Submits tasks to nodes in turn. Each has a key, so that a submit that was not answered is
    repeated at another node and is one task all the same."""

    def __init__(self, ports, receiver, rate):
        self.ports = ports
        self.receiver = receiver
        self.rate = rate
        self.submitted = {}  # id by number, of those that were answered with 202
        self.repeated = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        self.stopped.set()
        self.thread.join()

    def _run(self):
        number = 0
        begun = time.monotonic()
        while not self.stopped.is_set():
            wait = begun + number / self.rate - time.monotonic()
            if wait > 0 and self.stopped.wait(wait):
                return
            self._submit(number)
            number += 1

    def _submit(self, number):
        task = {"kind": "http", "idempotency_key": f"load-{number}",
                "payload": {"url": f"{self.receiver.address}/calls/{number}", "method": "POST"}}
        attempt = 0
        while not self.stopped.is_set() or attempt > 0:
            port = self.ports[(number + attempt) % len(self.ports)]
            attempt += 1
            try:
                status, answer = ask(port, "POST", "/tasks", task)
                if status in (200, 202):
                    self.submitted[number] = answer["id"]
                    self.repeated += 1 if attempt > 1 else 0
                    return
            except (OSError, http.client.HTTPException, ValueError):
                pass
            if attempt % len(self.ports) == 0:
                time.sleep(0.1)
            if attempt > 300:
                return  # it was never acknowledged


def state_of(ports, task):
    for attempt in range(100):
        try:
            status, answer = ask(ports[attempt % len(ports)], "GET", f"/tasks/{task}")
            if status in (200, 404):
                return answer.get("state", "unknown") if status == 200 else "unknown"
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(0.05)
    return "no answer"


class Ledger:
    """What became of each task that was acknowledged. A task that was running on a node that died
    runs again, so its call may come twice: that is 'at least once'. A second call without such a
    death in between is an error."""

    def __init__(self, load, receiver, deaths):
        self.states = collections.Counter(
            state_of(load.ports, task) for task in load.submitted.values())
        self.submitted = len(load.submitted)
        self.repeated = load.repeated
        self.again = 0
        self.twice = 0
        self.without_call = 0
        for number in load.submitted:
            calls = receiver.calls.get(number, [])
            self.without_call += 1 if not calls else 0
            if len(calls) > 1:
                is_explained = any(calls[0] - 1 <= death <= calls[-1] for death in deaths)
                self.again += 1 if is_explained else 0
                self.twice += 0 if is_explained else 1
        self.lost = self.submitted - self.states["completed"] + self.without_call

    def is_right(self):
        return self.lost == 0 and self.twice == 0

    def text(self):
        others = {state: count for state, count in self.states.items() if state != "completed"}
        return "\n".join([
            "ledger",
            f"  submitted and acknowledged    {self.submitted:>7}"
            f"   ({self.repeated} after another try at another node)",
            f"  completed                     {self.states['completed']:>7}",
            f"  lost                          {self.lost:>7}   {others or ''}".rstrip(),
            f"  called twice                  {self.twice:>7}",
            f"  called again after a death    {self.again:>7}   (at least once: they were running)",
        ])
