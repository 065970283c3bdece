# SPDX-License-Identifier: MIT
"""A service in memory that follows the protocol, and breaks it where a test says so.

`hook(method, path, body)` is called before each request is answered; what it returns happens:
None (as usual), "cut" (the request is done, the answer is lost with the connection), "refuse" (the
connection is cut before the request is done), or a number: that status instead of an answer.
`requests` has what was asked, in order.
"""

import http.server
import json
import threading
import time


class FakeService:
    def __init__(self, lease=30.0, heartbeat=10.0, wait=25.0):
        self.times = {"lease": lease, "heartbeat": heartbeat, "wait": wait}
        self.hook = lambda method, path, body: None
        self.requests = []
        self.changed = threading.Condition()
        self.tasks = {}         # id -> dict
        self.sessions = {}      # id -> dict
        self.completions = []   # ids, once for each accepted completion
        self._made = 0
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def log_message(self, *arguments):
                pass

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                service.requests.append((self.command, self.path, body))
                fault = service.hook(self.command, self.path, body)
                if fault == "refuse":
                    self.close_connection = True
                    return
                if isinstance(fault, int):
                    status, value = fault, {"title": "a fault", "status": fault}
                else:
                    status, value = service.answer(self.command, self.path, body)
                if fault == "cut":
                    self.close_connection = True
                    return
                data = b"" if value is None else json.dumps(value).encode()
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = answer

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, address: None
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # For tests.

    def submit(self, kind, payload=None, **more):
        with self.changed:
            self._made += 1
            task = {"id": f"{self._made:013d}", "run": 0, "kind": kind, "payload": payload,
                    "queue": "default", "attempt": 0, "max_attempts": 5, "tags": [], "steps": [],
                    "state": "pending", "holder": None, "outcomes": [], "cancel": False,
                    "seconds_left": 600.0, **more}
            self.tasks[task["id"]] = task
            self.changed.notify_all()
            return task["id"]

    def cancel(self, identity):
        with self.changed:
            task = self.tasks[identity]
            task["cancel"] = True
            self.sessions[task["holder"]]["news"] = True
            self.changed.notify_all()

    def expire(self):
        """All sessions are forgotten, their tasks pending again."""
        with self.changed:
            for task in self.tasks.values():
                if task["state"] == "running":
                    self._give_back(task)
            self.sessions.clear()
            self.changed.notify_all()

    def wait_for(self, condition, seconds=10.0):
        with self.changed:
            if not self.changed.wait_for(condition, seconds):
                raise AssertionError(f"not so after {seconds} s; requests: {self.requests[-8:]}")

    def wait_ended(self, identity, seconds=10.0):
        ended = ("completed", "failed", "cancelled")
        self.wait_for(lambda: self.tasks[identity]["state"] in ended, seconds)
        return self.tasks[identity]

    def count(self, suffix):
        return sum(1 for _, path, _ in self.requests if path.endswith(suffix))

    # The protocol.

    def answer(self, method, path, body):
        parts = path.strip("/").split("?")[0].split("/")
        if parts == ["workers"]:
            return self._register(body)
        if parts[0] == "tasks":
            return self._tasks(parts[1:], path, body)
        with self.changed:
            session = self.sessions.get(parts[1])
            if session is None:
                return 410, {"title": "no such worker", "status": 410}
            if method == "DELETE":
                for task in self.tasks.values():
                    if task["holder"] == parts[1]:
                        self._give_back(task)
                del self.sessions[parts[1]]
                self.changed.notify_all()
                return 204, None
            return getattr(self, f"_{parts[2]}")(parts[1], session, body)

    def _register(self, body):
        with self.changed:
            name = f"{len(self.requests):032x}"
            self.sessions[name] = {"kinds": body["kinds"], "poll": 0, "drain": False, "news": False}
            return 201, {"worker": name, **self.times}

    def _tasks(self, parts, path, body):
        """As much of the API as a client needs to submit and wait."""
        if body is not None:
            ids = [self.submit(each["kind"], each["payload"])
                   for each in (body if parts else [body])]
            return 202, {"results": [{"id": each} for each in ids]} if parts else {"id": ids[0]}
        task = self.tasks[parts[0]]
        with self.changed:
            self.changed.wait_for(lambda: task["state"] in ("completed", "failed", "cancelled"),
                                  float(path.partition("?wait=")[2] or 0))
            return 200, dict(task)

    def _give_back(self, task):
        task.update(state="pending", holder=None)

    def _described(self, task):
        return {name: task[name] for name in ("id", "run", "kind", "payload", "queue", "attempt",
                                              "max_attempts", "seconds_left", "tags", "steps")}

    def _poll(self, name, session, body):
        if body["poll"] < session["poll"]:
            return 409, {"title": "an older poll"}
        if body["poll"] == session["poll"]:
            held = [each for each in self.tasks.values()
                    if each["holder"] == name and each["poll"] == body["poll"]]
            return (200, {"tasks": [self._described(each) for each in held]}) if held else (204, None)
        session["poll"] = body["poll"]
        deadline = time.monotonic() + body["wait"]
        while True:
            if self.sessions.get(name) is not session:
                return 410, {"title": "the session is over", "status": 410}
            if session["poll"] != body["poll"] or session["drain"] or session["news"]:
                session["news"] = False
                return 204, None
            due = [each for each in self.tasks.values()
                   if each["state"] == "pending" and each["kind"] in session["kinds"]]
            if due:
                for task in due[:body["free"]]:
                    task.update(state="running", holder=name, poll=body["poll"],
                                run=task["run"] + 1, attempt=task["attempt"] + 1)
                self.changed.notify_all()
                return 200, {"tasks": [self._described(each) for each in due[:body["free"]]]}
            left = deadline - time.monotonic()
            if left <= 0:
                return 204, None
            self.changed.wait(left)

    def _heartbeat(self, name, session, body):
        cancel, lost = [], []
        for entry in body["running"]:
            task = self.tasks.get(entry["id"])
            key = {"id": entry["id"], "run": entry["run"]}
            if task is None or task["holder"] != name or task["run"] != entry["run"]:
                lost.append(key)
                continue
            task["progress"] = entry.get("progress")
            task["message"] = entry.get("message")
            if task["cancel"]:
                cancel.append(key)
        listed = {entry["id"] for entry in body["running"]}
        for task in self.tasks.values():
            # The poll was answered, and the worker does not know of the task.
            if task["holder"] == name and task["id"] not in listed and (
                    task["poll"] <= body["answered_poll"]):
                self._give_back(task)
        self.changed.notify_all()
        state = "drain" if session["drain"] else "ok"
        return 200, {"cancel": cancel, "lost": lost, "state": state}

    def _results(self, name, session, body):
        verdicts = []
        for result in body:
            task = self.tasks.get(result["id"])
            if task is None or task["run"] != result["run"]:
                verdicts.append({"accepted": False, "why": "another run"})
            elif result in task["outcomes"]:
                verdicts.append({"accepted": True})
            elif task["holder"] != name:
                verdicts.append({"accepted": False, "why": "not held"})
            else:
                self._settle(task, result)
                verdicts.append({"accepted": True})
        self.changed.notify_all()
        return 200, verdicts

    def _settle(self, task, result):
        task["outcomes"].append(result)
        task["holder"] = None
        outcome = result["outcome"]
        if outcome == "completed":
            self.completions.append(task["id"])
            task.update(state="completed", result=result["result"])
        elif outcome == "cancelled":
            task["state"] = "cancelled"
        elif outcome == "failed":
            task["error"] = result["error"]
            ended = result.get("permanent") or task["attempt"] >= task["max_attempts"]
            task["state"] = "failed" if ended else "pending"
        else:
            task["state"] = "pending"
            task["attempt"] -= 1

    def _steps(self, name, session, body):
        task = self.tasks[body["id"]]
        if task["holder"] != name or task["run"] != body["run"]:
            return 409, {"title": "not running"}
        for step in task["steps"]:
            if step["name"] == body["name"]:
                return 200, {"result": step["result"]}
        task["steps"].append({"name": body["name"], "result": body["result"]})
        return 200, {"result": body["result"]}

    def _drain(self, name, session, body):
        session["drain"] = True
        self.changed.notify_all()
        return 204, None
