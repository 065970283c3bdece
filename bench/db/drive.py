#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one participant of suite db, in the protocol that run.py speaks:

  drive.py '{"pg": [...], "postgres": [PID, URL], ...}' --workload NAME [--quick]

A participant has a command for each database that it speaks to: pg, redis, sqlite. It is called with WORKLOAD,
where the database is, how many operations are to be under way, WARM_UP_SECONDS and SECONDS, prints 'ready' when
it is warm and {"requests": N, "seconds": S} at the end. 'pgbench' and 'redis-benchmark' in place of a command are
these. The server has one processor, and who is measured the other; SQLite's have both.
"""
import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from processes import NotPlayed, run_load  # noqa: E402

CLIENT_CPU = 1
IN_FLIGHT = {"sqlite_16": 16}
PGBENCH = {
    "pg_64": "\\set id random(1, 10000)\nSELECT id, name, price FROM items WHERE id = :id;\n",
    "pg_insert": "INSERT INTO events(kind, payload) VALUES (7, 'a small event');\n",
    "pg_transaction": "\\set id random(1, 10000)\nBEGIN;\nUPDATE accounts SET balance = balance + 1 WHERE id = :id;\n"
    "SELECT balance FROM accounts WHERE id = :id;\nCOMMIT;\n",
}


def result(value, operations, measured, server):
    reading = {"value": value, "unit": "1/s", "busy": round(measured[0], 3), "load_busy": round(server[0], 3)}
    reading["own_ns"] = round(measured[2] / operations * 1e9)
    # Backends of one server stand in line for one processor on their own: theirs says nothing.
    if measured[1] > 0.05:
        reading["unreliable"] = True
    return reading


def said_by(command, cpu, watch):
    output, server, measured = run_load(command, cpu, watch)
    said = json.loads(output)
    return result(said["requests"] / said["seconds"], said["requests"], measured, server)


def lengths(quick):
    return ["1.2", "0.8"] if quick else ["1.5", "1.5"]  # compilers just in time need that long


def pg(options):
    pid, url = options.parts["postgres"]
    in_flight = str(IN_FLIGHT.get(options.workload, 64))
    if options.parts["pg"] != ["pgbench"]:
        command = [*options.parts["pg"], options.workload, url, in_flight, *lengths(options.quick)]
        return said_by(command, CLIENT_CPU, pid)
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(PGBENCH[options.workload])
        script.flush()
        # The connections are made first, and not counted.
        command = ["pgbench", "-n", "-M", "prepared", "-c", in_flight, "-j", "1", "-f", script.name]
        command += ["-T", "1" if options.quick else "2", url]
        output, server, measured = run_load(command, CLIENT_CPU, pid)
    rate = re.search(r"tps = ([\d.]+)", output)
    if rate is None:
        raise RuntimeError("pgbench did nothing in that time")
    count = int(re.search(r"transactions actually processed: (\d+)", output)[1])
    reading = result(float(rate[1]), count, measured, server)
    del reading["busy"], reading["load_busy"]  # its connections have gone by now, and their times with them
    return reading


def redis(options):
    pid, port = options.parts["redis_server"]
    in_flight = str(IN_FLIGHT.get(options.workload, 64))
    if options.parts["redis"] != ["redis-benchmark"]:
        command = [*options.parts["redis"], options.workload, str(port), in_flight, *lengths(options.quick)]
        return said_by(command, CLIENT_CPU, pid)
    if options.workload != "redis_64":
        raise NotPlayed("redis-benchmark")
    count = 60_000 if options.quick else 150_000
    command = ["redis-benchmark", "-p", str(port), "-c", in_flight, "-P", "1", "-n", str(count), "-r", "10000", "--csv"]
    output, server, measured = run_load([*command, "GET", "key:__rand_int__"], CLIENT_CPU, pid)
    rate = float(re.findall(r'^"[^"]*","([\d.]+)"', output, re.M)[-1])
    return result(rate, count, measured, server)


def sqlite(options):
    with tempfile.TemporaryDirectory(prefix="sqlite-", dir=options.parts["disk"]) as folder:
        command = [*options.parts["sqlite"], options.workload, folder, str(IN_FLIGHT[options.workload])]
        reading = said_by([*command, *lengths(options.quick)], None, 1)
    return {"value": reading["value"], "unit": "1/s"}  # the disk is what it waits for


WORKLOADS = {
    "pg_64": ("pg", pg),
    "pg_insert": ("pg", pg),
    "pg_transaction": ("pg", pg),
    "redis_64": ("redis", redis),
    "redis_64_own": ("redis", redis),
    "sqlite_16": ("sqlite", sqlite),
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
        reading = run(options)
    except NotPlayed:
        return 64
    except (OSError, RuntimeError, ValueError, TypeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(json.dumps({"workload": options.workload, **reading}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
