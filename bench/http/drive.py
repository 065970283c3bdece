#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one participant of suite http, in the protocol that run.py speaks:

  drive.py '{"server": [...], "broadcast": [...], "client": [...], "load": "...", "ws_load": "..."}' --workload NAME [--quick]

A participant has a command for each part that it plays. Servers print their port as their first line; 'nginx' in
place of a command is nginx. Clients are given PORT CONCURRENCY WARM_UP_SECONDS SECONDS, print 'ready' when they are warm
and {"requests": N, "seconds": S} at the end. What is measured runs on one processor, what loads it on another, all on the
loopback interface; everything ends with this program.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from processes import run_load, start  # noqa: E402

SERVER_CPU, LOAD_CPU = 0, 1
BODY = b"Hello, World!"
NGINX = "/usr/sbin/nginx"


@contextlib.contextmanager
def nginx(cpu):
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        Path(folder, "nginx.conf").write_text(
            f"daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr warn;\n"
            "events { worker_connections 1024; }\n"
            f"http {{ access_log off; keepalive_requests 1000000000; default_type text/plain; {paths}\n"
            f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 '{BODY.decode()}'; }} }} }}\n"
        )
        process = start([NGINX, "-e", "stderr", "-p", folder, "-c", f"{folder}/nginx.conf"], cpu)
        try:
            for _ in range(1000):
                if process.poll() is not None:
                    raise RuntimeError("nginx has ended")
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.005)
            yield process.pid, port
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def server(command, cpu):
    if command == ["nginx"]:
        with nginx(cpu) as found:
            yield found
        return
    environment = {**os.environ, "NODE_PATH": "/usr/share/nodejs"}
    process = start(command, cpu, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        line = process.stdout.readline()
        if not line.strip().isdigit():
            raise RuntimeError(f"the server did not say its port but {line!r}")
        yield process.pid, int(line)
    finally:
        process.kill()
        process.wait()


def check_answer(port):
    """A server that does not do the work must not take part."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        for _ in range(2):
            client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            answer = b""
            while not answer.endswith(BODY):
                piece = client.recv(4096)
                if not piece:
                    raise RuntimeError(f"the server said {answer!r}")
                answer += piece
            head = answer.lower()
            for part in (b"http/1.1 200 ", b"\r\ncontent-type: text/plain", b"\r\ncontent-length: 13\r\n", b"\r\ndate: "):
                if part not in head:
                    raise RuntimeError(f"no {part!r} in {answer!r}")


def result(value, unit, operations, busy, load):
    reading = {"value": value, "unit": unit, "busy": round(busy[0], 3), "load_busy": round(load[0], 3)}
    reading["cpu_ns"] = round(busy[2] / operations * 1e9)
    if max(busy[1], load[1]) > 0.05:
        reading["unreliable"] = True
    return reading


def plain(parts, quick):
    with server(parts["server"], SERVER_CPU) as (pid, port):
        check_answer(port)
        command = [parts["load"], str(port), "100", "0.7", "0.7" if quick else "1.5"]
        output, busy, load = run_load(command, LOAD_CPU, pid)
    said = json.loads(output)
    return result(said["requests"] / said["seconds"], "req/s", said["requests"], busy, load)


def plain_wrk(parts, quick):
    """wrk is the bottleneck of the fast servers: it needs more processor time a request than they do."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise RuntimeError("no wrk (Debian: wrk)")
    with server(parts["server"], SERVER_CPU) as (pid, port):
        check_answer(port)
        command = [wrk, "-t1", "-c100", f"http://127.0.0.1:{port}/"]
        run_load([*command, "-d1"], LOAD_CPU, pid)
        output, busy, load = run_load([*command, "-d1" if quick else "-d2"], LOAD_CPU, pid)
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(output.strip().replace("\n", " | "))
    count = int(re.search(r"(\d+) requests in", output)[1])
    return result(float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]), "req/s", count, busy, load)


def broadcast(parts, quick, messages):
    with server(parts["broadcast"], SERVER_CPU) as (pid, port):
        length = "0.7" if quick else "1.5"
        command = [parts["ws_load"], str(port), "500", str(messages), "0.7", length]
        output, busy, load = run_load(command, LOAD_CPU, pid)
    said = json.loads(output)
    return result(said["deliveries"] / said["seconds"], "msg/s", said["deliveries"], busy, load)


def client(parts, quick):
    with nginx(SERVER_CPU) as (pid, port):
        check_answer(port)
        command = [*parts["client"], str(port), "64", "0.3", "0.7" if quick else "1.5"]
        output, busy, load = run_load(command, LOAD_CPU, pid)
    said = json.loads(output)
    # Here the client is what is measured, and nginx must be less busy than that.
    return result(said["requests"] / said["seconds"], "req/s", said["requests"], load, busy)


WORKLOADS = {
    "plain": ("server", plain),
    "plain_wrk": ("server", plain_wrk),
    "broadcast": ("broadcast", lambda parts, quick: broadcast(parts, quick, 200)),
    "broadcast_1": ("broadcast", lambda parts, quick: broadcast(parts, quick, 1)),
    "client": ("client", client),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", type=json.loads)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--reps")
    options = parser.parse_args()
    if options.workload not in WORKLOADS:
        return 64
    part, run = WORKLOADS[options.workload]
    if part not in options.parts:
        return 64
    try:
        print(json.dumps({"workload": options.workload, **run(options.parts, options.quick)}))
    except (OSError, RuntimeError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
