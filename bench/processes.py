# SPDX-License-Identifier: MIT
"""Programs that are started on a processor of their own and watched, and end with this one."""
import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


class NotPlayed(RuntimeError):
    """The program has no such part: it ended with 64."""


def start(command, cpu, **options):
    """On that processor; on all of them for None."""

    def prepare():
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})

    return subprocess.Popen(command, preexec_fn=prepare, **{"stdin": subprocess.DEVNULL, **options})


def children(pid):
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in thread.read_text().split()]
    return found


def cpu_times(pid):
    """Seconds for which the threads of a process and its children ran, and for which they stood in line for a
    processor."""
    ran = waited = 0
    for process in (pid, *children(pid)):
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                with contextlib.suppress(OSError):
                    one, two, _ = (thread / "schedstat").read_text().split()
                    ran, waited = ran + int(one), waited + int(two)
    return ran * 1e-9, waited * 1e-9


class Watch:
    """How busy the measured process and its counterpart were, from its making until now."""

    def __init__(self, pid):
        self.pid, self.then, self.began = pid, cpu_times(pid), time.monotonic()

    def busy(self):
        wall = time.monotonic() - self.began
        ran, waited = (a - b for a, b in zip(cpu_times(self.pid), self.then))
        # Threads of one process wait for each other, too: no more can be lost than it did not run.
        return ran / wall, max(0, min(waited, wall - ran)) / wall, ran


def run_load(command, cpu, watch_pid, **options):
    """Output of the load generator, and how busy both were. One that prints 'ready' is watched from there."""
    watch, began = Watch(watch_pid), time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = start(command, cpu, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    own, output = None, ""
    for line in process.stdout:
        if line == "ready\n":
            watch, own = Watch(watch_pid), Watch(process.pid)
            continue
        output += line
        if own is not None:
            busy, load = watch.busy(), own.busy()
            own = None
            process.wait()
            return output, busy, load
    busy, wall = watch.busy(), time.monotonic() - began
    errors = process.stderr.read()
    if process.wait() == 64:
        raise NotPlayed(command[0])
    if process.returncode != 0:
        raise RuntimeError(errors.strip() or f"{command[0]} ended with {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return output, busy, (used / wall, 0, used)
