# SPDX-License-Identifier: MIT
"""Starts PostgreSQL, several nodes of `weir serve` and a load, all on this machine.

    cluster.py --program build/gcc-release/tools/weir/weir --folder build/cluster

Kill nodes while it runs: their tasks run on others, and a node that has died is started again after
a while. ^C stops the load, waits for what was submitted, and prints what became of it. The exit
code is 1 if a task was lost or was called twice without a reason.
"""

import argparse
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from load import Ledger, Load, Receiver, ask  # noqa: E402
from postgres import Server, free_port  # noqa: E402


class Node:
    def __init__(self, number, database, settings):
        self.number = number
        self.port = free_port()
        self.log = f"{settings.folder}/node-{number}.log"
        self.died_at = None
        self.process = None
        self.command = [settings.program, "serve", "--listen", f"127.0.0.1:{self.port}",
                        "--database", database, "--lease", str(settings.lease), "--drain", "5",
                        "--workers", "16", "--allow-address", "127.0.0.0/8", "--host-rate", "1000",
                        "--host-concurrency", "64"]

    def start(self):
        self.died_at = None
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=open(self.log, "a"), stderr=subprocess.STDOUT,
                                        start_new_session=True)

    def wait_until_ready(self):
        for _ in range(200):
            if self.process.poll() is not None:
                break
            try:
                if ask(self.port, "GET", "/readyz", timeout=2)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise SystemExit(f"cluster: node {self.number} does not start: see {self.log}")

    def is_alive(self):
        return self.process.poll() is None


class Cluster:
    def __init__(self, settings):
        self.settings = settings
        os.makedirs(settings.folder, exist_ok=True)
        self.server = Server(settings.folder + "/postgres")
        self.receiver = Receiver()
        self.nodes = []
        self.deaths = []
        self.load = None

    def start(self):
        self.server.start()
        for number in range(1, self.settings.nodes + 1):
            node = Node(number, self.server.url(), self.settings)
            open(node.log, "w").close()
            node.start()
            self.nodes.append(node)
        for node in self.nodes:
            node.wait_until_ready()
        self.load = Load([node.port for node in self.nodes], self.receiver, self.settings.rate)
        self.load.start()

    def welcome(self):
        print("Pages of the cluster, each of which shows all of it (Nodes has who runs what):")
        for node in self.nodes:
            print(f"  node {node.number}   http://127.0.0.1:{node.port}/   "
                  f"kill it:  kill -9 {node.process.pid}")
        print(f"Its database:   psql {self.server.url()}")
        print("Watch it:       "
              f"{self.settings.program} watch --server http://127.0.0.1:{self.nodes[0].port}")
        print(f"Kill a node and watch its tasks run on the others, {self.settings.lease} seconds "
              "later. ^C stops the load.\n", flush=True)

    def watch(self):
        """One look at the nodes; those that have died are started again after a while."""
        for node in self.nodes:
            if node.is_alive():
                continue
            if node.died_at is None:
                node.died_at = time.monotonic()
                self.deaths.append(node.died_at)
                print(f"node {node.number} has died; it starts again in "
                      f"{self.settings.restart:g} s", flush=True)
            elif time.monotonic() > node.died_at + self.settings.restart:
                node.start()
                print(f"node {node.number} starts again: kill -9 {node.process.pid}", flush=True)

    def report(self):
        running = []
        for node in self.nodes:
            try:
                running.append(str(ask(node.port, "GET", "/stats", timeout=2)[1]["running"])
                               if node.is_alive() else "dead")
            except (OSError, ValueError, KeyError):
                running.append("?")
        print(f"submitted {len(self.load.submitted)}, called {len(self.receiver.calls)}, running "
              f"{' + '.join(running)}", flush=True)

    def finish(self):
        self.load.stop()
        deadline = time.monotonic() + self.settings.lease + 30
        while time.monotonic() < deadline:
            self.watch()
            if all(number in self.receiver.calls for number in self.load.submitted):
                if not any(self._pending(node) for node in self.nodes if node.is_alive()):
                    break
            time.sleep(0.1)
        return Ledger(self.load, self.receiver, self.deaths)

    @staticmethod
    def _pending(node):
        try:
            queues = ask(node.port, "GET", "/queues", timeout=2)[1]["queues"]
            return any(each["counts"]["pending"] + each["counts"]["running"] for each in queues)
        except (OSError, ValueError, KeyError):
            return True

    def stop(self):
        """Whether all nodes that lived have ended as they should."""
        is_well = True
        alive = [node for node in self.nodes if node.process is not None and node.is_alive()]
        for node in alive:
            node.process.send_signal(signal.SIGTERM)
        for node in alive:
            try:
                node.process.wait(8)
            except subprocess.TimeoutExpired:
                node.process.kill()
                node.process.wait()
            if node.process.returncode != 0:
                is_well = False
                print(f"node {node.number} has ended with {node.process.returncode}: see "
                      f"{node.log}")
        self.server.stop()
        return is_well


def run(settings):
    cluster = Cluster(settings)
    ledger = None
    is_well = False
    try:
        cluster.start()
        cluster.welcome()
        begun = time.monotonic()
        victim = cluster.nodes[-1]
        reported = begun
        try:
            while settings.seconds == 0 or time.monotonic() < begun + settings.seconds:
                time.sleep(0.1)
                if settings.kill_after and time.monotonic() > begun + settings.kill_after:
                    settings.kill_after = 0
                    victim.process.kill()
                    victim.process.wait()
                cluster.watch()
                if time.monotonic() > reported + 2:
                    reported = time.monotonic()
                    cluster.report()
        except KeyboardInterrupt:
            print()
        print("The load has ended; waiting for what was submitted.", flush=True)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        ledger = cluster.finish()
        print(ledger.text(), flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        is_well = cluster.stop()
    return 0 if is_well and ledger is not None and ledger.is_right() else 1


def main():
    parser = argparse.ArgumentParser(prog="./dev cluster", description="A cluster to try.")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, default=3, help="nodes (3)")
    parser.add_argument("--rate", type=float, default=40, help="tasks per second (40)")
    parser.add_argument("--lease", type=float, default=5, help="lease of a node, seconds (5)")
    parser.add_argument("--restart", type=float, default=20,
                        help="seconds until a node that has died starts again (20)")
    parser.add_argument("--seconds", type=float, default=0, help="length of the load (until ^C)")
    parser.add_argument("--kill-after", type=float, default=0,
                        help="kill the last node after so many seconds (never)")
    settings = parser.parse_args()
    if settings.nodes < 1 or settings.rate <= 0 or settings.lease < 1:
        parser.error("there must be a node, a rate of more than 0, and a lease of 1 or more")
    settings.folder = os.path.abspath(settings.folder)
    settings.program = os.path.abspath(settings.program)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.default_int_handler)
    return run(settings)


if __name__ == "__main__":
    sys.exit(main())
