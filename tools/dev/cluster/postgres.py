# SPDX-License-Identifier: MIT
"""A PostgreSQL server of one's own, on the loopback interface, from Debian's package."""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def programs():
    found = glob.glob("/usr/lib/postgresql/*/bin/postgres")
    if not found:
        raise SystemExit("cluster: there is no PostgreSQL here: apt install postgresql")
    return os.path.dirname(max(found, key=lambda path: int(path.split("/")[4])))


class Server:
    """Refuses to run as root, so root's runs as the user postgres, or nobody."""

    def __init__(self, folder):
        self.prefix = ["setpriv", "--pdeathsig", "KILL", "--"]
        self.temporary = None
        if os.geteuid() == 0:
            folder = self._as_another_user(folder)
        self.folder = os.path.abspath(folder)
        self.port = free_port()
        self.process = None

    def _as_another_user(self, folder):
        names = [each.pw_name for each in pwd.getpwall()]
        user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
        self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                       "--clear-groups", "--pdeathsig", "KILL", "--"]
        os.makedirs(folder, exist_ok=True)
        os.chown(folder, user.pw_uid, user.pw_gid)
        if subprocess.run(self.prefix + ["test", "-x", os.path.abspath(folder)]).returncode != 0:
            self.temporary = folder = tempfile.mkdtemp(prefix="weir-cluster-")
            os.chown(folder, user.pw_uid, user.pw_gid)
        return folder

    def url(self):
        return f"postgres://weir@127.0.0.1:{self.port}/postgres"

    def start(self):
        shutil.rmtree(self.folder + "/data", ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)
        bin_folder = programs()
        made = subprocess.run(
            self.prefix + [bin_folder + "/initdb", "-D", self.folder + "/data", "-U", "weir",
                           "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
            cwd="/", capture_output=True, text=True)
        if made.returncode != 0:
            raise SystemExit("cluster: initdb failed: " + made.stderr)
        log = open(self.folder + "/postgres.log", "w")
        self.process = subprocess.Popen(
            self.prefix + [bin_folder + "/postgres", "-D", self.folder + "/data", "-p",
                           str(self.port), "-k", "", "-c", "listen_addresses=127.0.0.1"],
            cwd="/", stdout=log, stderr=log, start_new_session=True)
        for _ in range(300):
            if subprocess.run([bin_folder + "/pg_isready", "-q", "-h", "127.0.0.1", "-p",
                               str(self.port)], env={"HOME": "/"}).returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.stop()
        raise SystemExit(f"cluster: PostgreSQL does not start: see {self.folder}/postgres.log")

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(2)  # without waiting for clients
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.temporary:
            shutil.rmtree(self.temporary, ignore_errors=True)
