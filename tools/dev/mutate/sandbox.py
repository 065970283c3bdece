# SPDX-License-Identifier: MIT
"""Runs a test program with a fault where it can do no harm: with process ids of its own, since a
fault may make it kill any process that it can name, and with limited memory, time and files."""

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time

GIGABYTE = 1 << 30


def command(arguments):
    """The shell is the first process: that ends with all its descendants, and a test does not run
    as one to which signals do nothing."""
    own_users = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *own_users, "--pid", "--fork", "--kill-child", "--mount-proc",
            "sh", "-c", '"$@"; exit $?', "sh", *arguments]


def is_available():
    return shutil.which("unshare") is not None and subprocess.run(
        command(["true"]), capture_output=True, check=False).returncode == 0


def limit():
    # A shell's background jobs ignore it, and so would the program: tests of signals need it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * GIGABYTE, 8 * GIGABYTE))  # tests have holes
    resource.setrlimit(resource.RLIMIT_DATA, (4 * GIGABYTE, 4 * GIGABYTE))


def run(arguments, folder, environment, seconds):
    """Whether it ended well within so many seconds, and how many it took."""
    with tempfile.TemporaryDirectory(prefix="weir_mutate_", ignore_cleanup_errors=True) as scratch:
        started = time.monotonic()
        process = subprocess.Popen(
            command(arguments), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit,
            env={**os.environ, **environment, "TMPDIR": scratch})
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        return status == 0, time.monotonic() - started
