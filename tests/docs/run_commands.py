#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands on README.md and the first pages of docs/ in a fresh clone, in their order, as a
reader would.

Usage: run_commands.py ROOT [--folder FOLDER] [--skip REGEX] [--machine] [PAGE[#SECTION]...]

- `./dev run` and `weir serve` run in the background from when they answer to the end of the page.
- The comment lines after a command are the output that the page promises: `...` stands for
  anything, and an id on the page for the id that the service gave. A command that only reads is
  repeated for a while until it gives that output.
- `weir` is the program that the clone has built, until a package has installed one. Questions are
  answered with yes.
- Commands that change the machine (sudo, apt, systemctl) are left out without --machine, and those
  that --skip matches. The clone has what is committed.

The last line is 'N passed, N failed, N skipped'.
"""

import argparse
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import commands

PAGES = ["README.md", "docs/install.md", "docs/service.md#five-minutes"]
CHANGES_MACHINE = {"sudo", "apt", "apt-get", "dpkg", "systemctl", "podman"}
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
            ["bash", "-c", f"exec {text}"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True)
        self.pid = self._process.pid

    def wait_until_it_answers(self):
        deadline = time.monotonic() + TIMEOUT
        while not answers(self.address):
            if self._process.poll() is not None:
                raise Failure(f"ended with {self._process.returncode}:\n{self._end_of_log()}")
            if time.monotonic() > deadline:
                raise Failure(f"no answer from {self.address}:\n{self._end_of_log()}")
            time.sleep(0.1)

    def stop(self):
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.pid, signal.SIGKILL)
                self._process.wait()
        self._log.close()

    def _end_of_log(self):
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
        self._ids = {}       # an id on the page -> the id that the service gave
        self._last_id = ""

    def run(self, command):
        text = self._as_typed(command.text)
        address = service_address(command)
        if address:
            self._start(text, address)
        elif command.simple()[0][:2] == ["weir", "watch"]:
            self._watch(text)
        else:
            self._run_to_its_end(command, text)

    def stop(self):
        for service in self._services.values():
            service.stop()
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

    def _watch(self, text):
        ended = self._bash(f"timeout --signal=INT {WATCH_TIME} {text}")
        if not ended.stdout.strip():
            raise Failure("shows nothing")

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
        return subprocess.run(
            ["bash", "-c", text], cwd=self._clone, env={**self._environment, "ID": self._last_id},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=TIMEOUT, check=False)


def service_address(command):
    """Where the service that the command starts answers; None for other commands."""
    words = command.simple()[0]
    if words[:2] not in (["./dev", "run"], ["weir", "serve"]) or "--check" in words:
        return None
    port = re.search(r"--(?:port[= ]|listen[= ][^ ]*:|listen[= ])(\d+)", " ".join(words))
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


def reason_to_skip(command, options):
    if options.skip and re.search(options.skip, command.text):
        return "--skip"
    if not options.machine and any(words[0] in CHANGES_MACHINE for words in command.simple()):
        return "changes the machine"
    return None


def environment_of(folder, clone):
    """curl fails where the service answers with an error. What ./dev soak sets is not for readers."""
    (folder / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n", encoding="utf-8")
    path = f"{os.environ['PATH']}:{clone / 'build/gcc-release/tools/weir'}"
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("WEIR_") or name == "WEIR_JOBS"}
    return {**kept, "CI": "true", "CURL_HOME": str(folder), "PATH": path}


def clone_into(root, folder):
    changed = subprocess.run(["git", "-C", root, "status", "--porcelain", "--untracked-files=no"],
                             stdout=subprocess.PIPE, text=True, check=False).stdout
    if changed:
        print("The clone is without the changes that are not committed.", flush=True)
    clone = folder / "weir"
    # The folder may belong to another user, as in a container.
    subprocess.run(["git", "clone", "--quiet", root, clone], check=True,
                   env={**os.environ, "GIT_CONFIG_COUNT": "1",
                        "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"})
    return clone


def text_of(clone, page):
    """The text of the page; of `page#section`, that section alone, in its lines of the page."""
    page, _, section = page.partition("#")
    text = (clone / page).read_text(encoding="utf-8")
    if not section:
        return text
    parts = re.split(r"^(?=## )", text, flags=re.M)
    wanted = [part.splitlines()[0][3:].lower().replace(" ", "-") == section for part in parts]
    if not any(wanted):
        raise ValueError(f"{page} has no section {section}")
    return "".join(part if keep else "\n" * part.count("\n")
                   for part, keep in zip(parts, wanted))


def run_page(page, root, clone, environment, options):
    """The counts of passed, failed and skipped commands."""
    counts = [0, 0, 0]
    text = text_of(clone, page)
    page = page.partition("#")[0]
    reader = Reader(root, clone, environment)
    try:
        for command in (each for block in commands.blocks_of(page, text) for each in block):
            begin, failure = time.monotonic(), ""
            reason = reason_to_skip(command, options)
            if reason is None:
                try:
                    reader.run(command)
                except (Failure, subprocess.TimeoutExpired) as error:
                    failure = str(error)
            result = 2 if reason else 1 if failure else 0
            counts[result] += 1
            seconds = time.monotonic() - begin
            print(f"{['passed ', 'FAILED ', 'skipped'][result]} {seconds:7.1f} s  {command}",
                  failure or reason or "", flush=True)
    finally:
        reader.stop()
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, help="where to clone to; kept afterwards")
    parser.add_argument("--skip", metavar="REGEX")
    parser.add_argument("--machine", action="store_true")
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    root = options.root.resolve()
    with tempfile.TemporaryDirectory(prefix="weir-pages-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        clone = clone_into(root, folder)
        environment = environment_of(folder, clone)
        counts = [run_page(page, root, clone, environment, options) for page in options.pages]
    passed, failed, skipped = map(sum, zip(*counts))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
