# SPDX-License-Identifier: MIT
"""What a reader of a page does with a command on it: types it with the placeholders filled in,
keeps a service running in the background, and compares the output with what the page shows."""

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

STARTS_SERVICE = (["./dev", "run"], ["weir", "serve"], ["podman", "run"])
TASK_ID = re.compile(r"\b[0-9][0-9a-z]{12}\b")
TIMEOUT = 2 * 3600      # of a command; it may build everything
OUTPUT_TIMEOUT = 30     # until a command gives the output that the page promises
WATCH_TIME = 3          # `weir watch` does not end by itself


class Failure(Exception):
    pass


class Service:
    """A command that runs in the background."""

    def __init__(self, text, address, folder, environment):
        self.address = address
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            ["bash", "-c", f"exec env {text}"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True)
        self.pid = self._process.pid

    def wait_until_it_answers(self):
        deadline = time.monotonic() + TIMEOUT
        while self._is_preparing() or not answers(self.address):
            if self._process.poll() is not None:
                raise Failure(f"ended with {self._process.returncode}:\n{self.end_of_log()}")
            if time.monotonic() > deadline:
                raise Failure(f"no answer from {self.address}:\n{self.end_of_log()}")
            time.sleep(0.1)

    def _is_preparing(self):
        """While ./dev builds the service, another program may answer at the address."""
        try:
            return os.path.basename(os.readlink(f"/proc/{self.pid}/exe")) == "bash"
        except OSError:
            return True  # it has ended

    def stop(self):
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.pid, signal.SIGKILL)
                self._process.wait()
        self._log.close()

    def end_of_log(self):
        self._log.seek(0)
        return self._log.read()[-4000:]


def answers(address):
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


class Reader:
    """Runs the commands of one page."""

    def __init__(self, root, clone, environment):
        self._root = root
        self._clone = clone
        self._environment = environment
        self._services = {}  # by address
        self._workers = []
        self._ids = {}       # an id on the page -> the id that the service gave
        self._last_id = ""

    def run(self, command):
        text = self._as_typed(command.text)
        address = service_address(command)
        if address:
            self._start(text, address)
        elif is_worker(command):
            self._start_worker(text)
        elif command.simple()[0][:2] == ["weir", "watch"]:
            self._watch(text)
        else:
            self._run_to_its_end(command, text)

    def stop(self):
        for service in [*self._workers, *self._services.values()]:
            service.stop()
        self._workers.clear()
        self._services.clear()

    def _as_typed(self, text):
        """The placeholders on the page are what the reader puts there."""
        for shown, given in self._ids.items():
            text = text.replace(shown, given)
        pid = next((str(service.pid) for service in self._services.values()), "")
        text = text.replace("<pid>", pid).replace("<id>", self._last_id)
        return re.sub(r"<url[^>]*>", shlex.quote(str(self._root)), text)

    def _start(self, text, address):
        if address in self._services:
            self._services.pop(address).stop()
        if answers(address):
            raise Failure(f"something else answers at {address}")
        service = Service(text, address, self._clone, self._environment)
        self._services[address] = service
        service.wait_until_it_answers()

    def _start_worker(self, text):
        """It runs until the end of the page. Tasks may be submitted before it has registered its
        kinds, so that is waited for."""
        worker = Service(text, None, self._clone, self._environment)
        self._workers.append(worker)
        address = next(iter(self._services), None)
        deadline = time.monotonic() + OUTPUT_TIMEOUT
        while address and not has_workers(address):
            if time.monotonic() > deadline:
                raise Failure("the worker did not register:\n" + worker.end_of_log())
            time.sleep(0.1)

    def _watch(self, text):
        """It runs until it is interrupted, and shows something only if a task changes."""
        ended = self._bash(f"timeout --signal=INT {WATCH_TIME} {text}")
        if ended.returncode != 124:
            raise Failure(f"ended with {ended.returncode}:\n{ended.stdout[-4000:]}")

    def _run_to_its_end(self, command, text):
        promised = promise(command.output, self._ids)
        repeats = promised and is_reading(command)
        deadline = time.monotonic() + OUTPUT_TIMEOUT
        while True:
            ended = self._bash(text)
            if ended.returncode != 0:
                raise Failure(f"ended with {ended.returncode}:\n{ended.stdout[-4000:]}")
            kept = promised and re.search(promised, ended.stdout, re.S)
            if kept or not repeats or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        if promised and not kept:
            raise Failure("did not print what the page shows:\n" + ended.stdout[-4000:])
        self._learn(command, kept, ended.stdout)

    def _learn(self, command, kept, output):
        shown = [each for line in command.output for each in TASK_ID.findall(line)]
        for each in dict.fromkeys(shown):
            if each not in self._ids and kept:
                self._ids[each] = kept[f"id_{each}"]
        ids = TASK_ID.findall(output)
        self._last_id = ids[0] if ids else self._last_id

    def _bash(self, text):
        environment = {**self._environment, "ID": self._last_id}
        if text.startswith("./dev "):
            environment.pop("CURL_HOME", None)  # tests call curl with options of their own
        return subprocess.run(
            ["bash", "-c", text], cwd=self._clone, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=TIMEOUT, check=False)


def has_workers(address):
    with urllib.request.urlopen(f"{address}workers", timeout=5) as answer:
        return bool(json.load(answer)["workers"])


def is_worker(command):
    """An example of a worker in Python or Node, which runs until it is stopped."""
    words = [word for word in command.simple()[0] if not re.match(r"\w+=", word)]
    return len(words) > 1 and words[0] in ("python3", "node") and "/examples/" in words[1]


def service_address(command):
    """Where the service that the command starts answers; None for other commands."""
    words = command.simple()[0]
    if words[:2] not in STARTS_SERVICE or "--check" in words:
        return None
    port = re.search(r"(?:--port[= ]|--listen[= ](?:[^ ]*:)?|-p )(\d+)", " ".join(words))
    shown = re.search(r"http://127\.0\.0\.1:(\d+)", command.text)
    return f"http://127.0.0.1:{port[1] if port else shown[1] if shown else 8080}/"


def is_reading(command):
    words = command.simple()[0]
    return words[0] == "curl" and not {"-d", "-X", "--data", "--json"} & set(words)


def promise(output, ids):
    """A pattern of the output that the page shows; None where it shows none."""
    if not any(re.match(r"[{\[]|HTTP/", line) for line in output):
        return None
    pattern, named = [], set()
    for part in re.split(r"(\.\.\.|\b[0-9][0-9a-z]{12}\b|\s+)", " ... ".join(output)):
        if not part:
            continue
        if part == "...":
            pattern.append(".*?")
        elif part.isspace():
            pattern.append(r"\s*")
        elif TASK_ID.fullmatch(part) and part in ids:
            pattern.append(re.escape(ids[part]))
        elif TASK_ID.fullmatch(part):
            pattern.append(f"(?P=id_{part})" if part in named else f"(?P<id_{part}>[0-9a-z]{{13}})")
            named.add(part)
        else:
            pattern.append(re.escape(part))
    return "".join(pattern)
