# SPDX-License-Identifier: MIT
"""The servers of suite db: one of each for a run, in a temporary folder on the loopback interface, on the
processor that the clients do not have. They end with the run."""
import atexit
import contextlib
import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SERVER_CPU = 0
ROWS = 10000
SCHEMA = f"""
CREATE TABLE items(id int PRIMARY KEY, name text NOT NULL, price float8 NOT NULL);
INSERT INTO items SELECT i, 'item number ' || i, i * 0.25 FROM generate_series(1, {ROWS}) AS i;
CREATE TABLE accounts(id int PRIMARY KEY, balance bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO accounts SELECT i, 1000 FROM generate_series(1, {ROWS}) AS i;
CREATE TABLE events(id bigserial PRIMARY KEY, kind int NOT NULL, payload text NOT NULL);
VACUUM ANALYZE;
"""


class Absent(Exception):
    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, name):
    for _ in range(2000):
        if process.poll() is not None:
            raise Absent(f"{name} has ended at once")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)
    raise Absent(f"{name} does not answer")


def start(command, **options):
    words = ["setpriv", "--pdeathsig", "KILL", *options.pop("as_user", []), "--"]
    pinned = ["taskset", "-c", str(SERVER_CPU), *words, *command]
    return subprocess.Popen(pinned, stdin=subprocess.DEVNULL, start_new_session=True, **options)


class Postgres:
    """Durable, as it comes, but for what a test machine need not do: no background writing in between."""

    def __init__(self, folder, more=()):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        if not programs:
            raise Absent("no /usr/lib/postgresql (Debian: postgresql)")
        self.programs = programs[-1]
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=folder))
        as_user = self._another_user() if os.geteuid() == 0 else []
        data = self.folder / "data"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        make = ["setpriv", *as_user, "--", f"{self.programs}/initdb", "-D", str(data), "-U", "weir", "-A", "trust", "-N"]
        made = subprocess.run([*make, "-E", "UTF8", "--locale=C"], cwd=self.folder, **quiet)
        if made.returncode != 0:
            raise Absent(f"initdb: {made.stderr.decode().strip()[-200:]}")
        port = free_port()
        settings = ["listen_addresses=127.0.0.1", "max_connections=200", "shared_buffers=128MB", "autovacuum=off"]
        settings += ["checkpoint_timeout=1h", "max_wal_size=4GB", f"unix_socket_directories={self.folder}", *more]
        command = [f"{self.programs}/postgres", "-D", str(data), "-p", str(port)]
        command += [word for each in settings for word in ("-c", each)]
        self.process = start(command, as_user=as_user, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.stop)
        wait_for_port(port, self.process, "PostgreSQL")
        self.url = f"postgresql://weir@127.0.0.1:{port}/postgres"
        self._load_schema()

    def _another_user(self):
        """It refuses to run as root."""
        for name in ("postgres", "nobody"):
            with contextlib.suppress(KeyError):
                user = pwd.getpwnam(name)
                os.chown(self.folder, user.pw_uid, user.pw_gid)
                return ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
        raise Absent("there is no user postgres or nobody to run PostgreSQL")

    def _load_schema(self):
        command = [f"{self.programs}/psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", self.url]
        for _ in range(100):  # the port is open a moment before it is ready
            done = subprocess.run(command, input=SCHEMA, text=True, capture_output=True)
            if done.returncode == 0:
                return
            if "starting up" not in done.stderr:
                break
            time.sleep(0.05)
        raise Absent(f"psql: {done.stderr.strip()[-200:]}")

    def stop(self):
        self.process.send_signal(2)  # without waiting for those who are connected
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Redis:
    def __init__(self, folder, is_durable=False):
        program = shutil.which("redis-server")
        if program is None:
            raise Absent("no redis-server (Debian: redis-server)")
        self.port = free_port()
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        command += ["--appendonly", "yes", "--appendfsync", "always"] if is_durable else ["--appendonly", "no"]
        self.process = start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.stop)
        wait_for_port(self.port, self.process, "Redis")
        with socket.create_connection(("127.0.0.1", self.port)) as on:
            # The names are those that redis-benchmark makes.
            for i in range(ROWS):
                key, text = f"key:{i:012d}", f"value {i:010d}"
                on.sendall(f"*3\r\n$3\r\nSET\r\n${len(key)}\r\n{key}\r\n${len(text)}\r\n{text}\r\n".encode())
            answers = b""
            while len(answers) < 5 * ROWS:
                answers += on.recv(1 << 16)

    def stop(self):
        self.process.kill()
        self.process.wait()
