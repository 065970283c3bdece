# SPDX-License-Identifier: MIT
"""One worker of nginx on loopback addresses, for suites whose participants send requests. It logs every request, so that a
driver knows what was requested, when, and how often, without asking the participant."""
import contextlib
import os
import signal
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from processes import start

NGINX = "/usr/sbin/nginx"


def addresses(count):
    """127.1.0.1 and so on."""
    return [f"127.{1 + i // 62500}.{i // 250 % 250}.{1 + i % 250}" for i in range(count)]


@dataclass(frozen=True)
class Request:
    at: float  # seconds since the epoch, to a millisecond
    host: str  # the address that it came to
    status: int
    path: str


class Server:
    """One worker of nginx, which serves the folder. `hosts`: the addresses; `locations`: more of nginx's configuration."""

    def __init__(self, folder, hosts=("127.0.0.1",), locations="", top=""):
        self.hosts = list(hosts)
        self.work = tempfile.TemporaryDirectory(prefix="weir-bench-")
        self.log = Path(self.work.name, "requests")
        self._held = []  # connections that get no answer
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._configure(folder, locations, top)
        command = [NGINX, "-e", "stderr", "-p", self.work.name, "-c", f"{self.work.name}/nginx.conf"]
        self.process = start(command, None)
        for _ in range(2000):
            if self.process.poll() is not None:
                raise RuntimeError("nginx has ended")
            with contextlib.suppress(OSError), socket.create_connection((self.hosts[-1], self.port)):
                break
            time.sleep(0.005)

    def _configure(self, folder, locations, top):
        work = self.work.name
        paths = "".join(f"{kind}_temp_path {work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        listens = "".join(f"listen {host}:{self.port};\n" for host in self.hosts)
        Path(work, "nginx.conf").write_text(
            f"daemon off; master_process off; worker_processes 1; worker_rlimit_nofile 20000; pid {work}/pid;\n"
            "error_log stderr crit; events { worker_connections 16000; }\n"
            "http { log_format seen '$msec $server_addr $status $request_uri'; sendfile on; tcp_nopush on;\n"
            f"access_log {self.log} seen buffer=256k flush=1s;\n"
            f"keepalive_requests 1000000000; default_type text/html; {paths}\n"
            f"reset_timedout_connection on;\n{top}\n"
            f"server {{ {listens} root {folder}; location = /robots.txt {{ return 404; }}\n{locations}\n}} }}\n"
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for each in self._held:
            each.close()
        self.work.cleanup()

    def url(self, path="/p/0.html", host=None):
        return f"http://{host or self.hosts[0]}:{self.port}{path}"

    def requests(self):
        """All requests so far, in the order of the log. nginx writes its buffer when it opens its log again."""
        os.kill(self.process.pid, signal.SIGUSR1)
        time.sleep(0.1)
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            at, host, status, path = line.split(" ", 3)
            found.append(Request(float(at), host, int(status), unquote(path)))
        return found

    def forget(self):
        """Later calls of requests() begin here."""
        self.requests()
        os.truncate(self.log, 0)
