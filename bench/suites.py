# SPDX-License-Identifier: MIT
"""What is measured: the suites, their workloads, and who takes part.

A new suite is an entry in SUITES, its bars in bars.json, and one program per participant that speaks
the protocol of harness.hpp.
"""
from dataclasses import dataclass, field

from participants import (
    CargoProgram,
    ClusterParticipant,
    CmakeProgram,
    CrawlParticipant,
    DbParticipant,
    GoProgram,
    HttpParticipant,
    Installed,
    LoadedServer,
    NodeScript,
    NpmScript,
    PythonScript,
    ServiceParticipant,
    ServicePeer,
    WithArguments,
    WorkersParticipant,
)


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    unit: str = "ns"
    higher_is_better: bool = False
    is_long: bool = False  # one round of it is enough


@dataclass(frozen=True)
class Suite:
    title: str
    workloads: list
    participants: dict = field(default_factory=dict)  # who -> program; ours first, then the floor
    # Where noise goes both ways, as between two processes: the median of many short rounds, and
    # not the best of a few.
    by_median: bool = False
    rounds: tuple = ()  # of a quick and of a full run, where the usual numbers do not fit
    notes: tuple = ()  # members of results that are shown under the table


def weir_http(driver):
    return HttpParticipant(
        {
            part: WithArguments(CmakeProgram(f"bench_weir_http_{part}", needs="weir::http"), [driver])
            for part in ("server", "broadcast", "client")
        }
    )


def go_http(part):
    return WithArguments(GoProgram("go_http", "bench_go_http", harness=""), [part])


def weir_db(driver):
    return DbParticipant(
        {
            part: WithArguments(CmakeProgram(f"bench_weir_db_{part}", needs="weir::db"), [driver])
            for part in ("pg", "redis", "sqlite")
        }
    )


OUR_PROGRAM = CmakeProgram("weir", needs="weir::crawl")

SUITES = {
    "core": Suite(
        title="Weir core and its peers on one core",
        workloads=[
            Workload("yield_1", "Yield, 1 task"),
            Workload("yield_100", "Yield, 100 tasks"),
            Workload("await_call", "Await a child that returns at once"),
            Workload("spawn_join", "Spawn and join, groups of 1000"),
            Workload("queue_spsc", "Bounded queue, 1 producer, 1 consumer"),
            Workload("queue_mpmc", "Bounded queue, 4 producers, 4 consumers"),
            Workload("mutex", "Mutex: lock, yield, unlock; 100 tasks"),
            Workload("semaphore", "Semaphore of 10; 1000 tasks"),
            Workload("timers", "CPU per timer, 200,000 concurrent sleeps"),
            Workload("timeout", "Timeout around an operation that yields"),
            Workload("cancel", "Cancel and join a sleeping task"),
            Workload("spawn_cancel", "Spawn, cancel and join a sleeping task"),
            Workload("memory", "Memory of a task that waits on a timer", unit="bytes"),
        ],
        participants={
            "weir": CmakeProgram("bench_weir_core", needs="weir::core"),
            "floor": CmakeProgram("bench_floor"),
            "asio": CmakeProgram("bench_asio", needs="Boost 1.81 (Debian: libboost1.81-dev)"),
            "tokio": CargoProgram("tokio", "bench_tokio", crate="tokio"),
            "go": GoProgram("go", "bench_go"),
            "asyncio": PythonScript("asyncio_bench.py"),
            "uvloop": PythonScript("asyncio_bench.py", ["--uvloop"], module="uvloop"),
        },
    ),
    "flow": Suite(
        title="Weir's policies and their peers",
        workloads=[
            Workload("limiter_1t", "Token bucket: a decision, 1 thread, the time given"),
            Workload("limiter_2t", "Token bucket: a decision, 2 threads sharing it"),
            Workload("keyed_1m", "Keyed limiter: a decision, a million keys"),
            Workload("keyed_bytes", "Keyed limiter: memory a key, beyond the key", unit="bytes"),
            Workload("breaker_ready", "Circuit breaker around a ready call"),
            Workload("breaker_task", "Circuit breaker around a coroutine that returns at once"),
            Workload("breaker_open", "Refusal of an open breaker, as a value"),
            Workload("retry_ready", "Retry around a coroutine that returns at once"),
            Workload("pipeline_5", "Five policies around a ready call"),
            Workload("pipeline_5_task", "Five policies around a coroutine that returns at once"),
            Workload("pool", "Pool: check out and return"),
        ],
        participants={
            "weir": CmakeProgram("bench_weir_flow", needs="weir::flow"),
            "go x/time": GoProgram(
                "go_flow", "bench_go_flow", package="golang.org/x/time/rate", debian="golang-golang-x-time-dev"
            ),
            "tenacity": PythonScript("tenacity_bench.py", module="tenacity"),
        },
    ),
    "io": Suite(
        title="Weir's sockets and their peers, the server on one core",
        workloads=[
            Workload("echo_1", "TCP echo, 1 connection, messages a second", "msg/s", higher_is_better=True),
            Workload("echo_100", "TCP echo, 100 connections, messages a second", "msg/s", higher_is_better=True),
            Workload("echo_100_cpu", "The server's CPU time a message, 100 connections"),
            Workload("stream", "One stream in chunks of 64 KiB, MB a second", "MB/s", higher_is_better=True),
            Workload("idle_memory", "User memory of an idle connection, 9,000 of them", "bytes"),
        ],
        participants={
            "weir": LoadedServer(CmakeProgram("bench_weir_io", needs="weir::io"), ["uring"]),
            "weir_epoll": LoadedServer(CmakeProgram("bench_weir_io", needs="weir::io"), ["epoll"]),
            "floor": LoadedServer(CmakeProgram("bench_io_floor")),
            "floor_uring": LoadedServer(CmakeProgram("bench_io_floor_uring", needs="liburing (Debian: liburing-dev)")),
            "asio": LoadedServer(CmakeProgram("bench_asio_server", needs="Boost 1.81 (Debian: libboost1.81-dev)")),
            "tokio": LoadedServer(CargoProgram("tokio_server", "bench_tokio_server", crate="tokio")),
            "go": LoadedServer(GoProgram("go_server", "bench_go_server", harness="")),
        },
        by_median=True,
    ),
    "http": Suite(
        title="Weir's HTTP and WebSocket and their peers, each on one core",
        workloads=[
            Workload("plain", "Server: plain text, 100 connections, requests a second", "req/s", higher_is_better=True),
            Workload("plain_wrk", "Server: the same loaded by wrk", "req/s", higher_is_better=True),
            Workload("broadcast", "Broadcast to 500 clients, deliveries a second", "msg/s", higher_is_better=True),
            Workload("broadcast_1", "Broadcast, each when all have the last", "msg/s", higher_is_better=True),
            Workload("client", "Client: requests a second, 64 under way", "req/s", higher_is_better=True),
        ],
        participants={
            "weir": weir_http("uring"),
            "weir_epoll": weir_http("epoll"),
            "floor": HttpParticipant(
                {
                    "server": CmakeProgram("bench_http_floor_server"),
                    "client": CmakeProgram("bench_http_floor_client", needs="libcurl (Debian: libcurl4-openssl-dev)"),
                }
            ),
            "nginx": HttpParticipant({"server": Installed("/usr/sbin/nginx", "nginx-light", "nginx")}),
            "beast": HttpParticipant({"server": CmakeProgram("bench_beast_server", needs="Boost 1.81 (Debian: libboost1.81-dev)")}),
            "go": HttpParticipant({"server": go_http("server"), "client": go_http("client")}),
            "node": HttpParticipant({"server": NodeScript("node_http.js"), "broadcast": NodeScript("node_ws.js", module="ws")}),
            "aiohttp": HttpParticipant({"client": PythonScript("aiohttp_client.py", module="aiohttp")}),
        },
        by_median=True,
        rounds=(3, 9),
    ),
    "db": Suite(
        title="Weir's database clients and their peers, each on one core",
        workloads=[
            Workload("pg_64", "PostgreSQL: queries a second, 64 under way", "1/s", higher_is_better=True),
            Workload("pg_insert", "PostgreSQL: durable inserts a second, 64 under way", "1/s", higher_is_better=True),
            Workload("pg_transaction", "PostgreSQL: transactions a second, 64 under way", "1/s", higher_is_better=True),
            Workload("sqlite_16", "SQLite: durable inserts a second, 16 writers", "1/s", higher_is_better=True),
            Workload("redis_64", "Redis: GETs a second, 64 under way", "1/s", higher_is_better=True),
            Workload("redis_64_own", "Redis: the same, a connection each", "1/s", higher_is_better=True),
        ],
        participants={
            "weir": weir_db("uring"),
            "weir_epoll": weir_db("epoll"),
            "floor": DbParticipant(
                {
                    "pg": CmakeProgram("bench_db_floor_pg", needs="libpq (Debian: libpq-dev)"),
                    "sqlite": CmakeProgram("bench_db_floor_sqlite", needs="SQLite (Debian: libsqlite3-dev)"),
                }
            ),
            "node": DbParticipant({"pg": NpmScript("db/peers/node", "pg.js")}),
            "node_pipeline": DbParticipant({"pg": NpmScript("db/peers/node", "pg.js", ["--pipeline"])}),
            "asyncpg": DbParticipant({"pg": PythonScript("../db/peers/asyncpg_bench.py", module="asyncpg")}),
            "pgbench": DbParticipant({"pg": Installed("/usr/bin/pgbench", "postgresql", "pgbench")}),
            "redis-benchmark": DbParticipant(
                {"redis": Installed("/usr/bin/redis-benchmark", "redis-tools", "redis-benchmark")}
            ),
        },
        by_median=True,
        rounds=(3, 9),
    ),
    "service": Suite(
        title="Weir's task service over HTTP, and queues for Node as libraries",
        workloads=[
            Workload("submit_16", "Durable submits a second, 16 under way", "1/s", higher_is_better=True),
            Workload("submit_bulk", "Durable submits a second, in batches of 1000", "1/s", higher_is_better=True),
            Workload("process", "Tasks that do nothing, run a second", "1/s", higher_is_better=True),
            Workload("latency_p50", "From submit to start, at low load", "ms"),
            Workload("latency_memory", "The same, the file in memory", "ms"),
            Workload("backlog_submit", "Submits with a million tasks pending: slower by", "%"),
            Workload("backlog_process", "Running with a million tasks pending: slower by", "%"),
            Workload("memory_growth", "Memory: growth while a million tasks are run", "MB"),
            Workload("dashboards_1000", "Submits with 1000 dashboards, 10 frozen: slower by", "%"),
            Workload("deliver", "Webhooks to 1000 hosts: deliveries a second", "1/s", higher_is_better=True),
        ],
        participants={
            "weir": ServiceParticipant(OUR_PROGRAM),
            "graphile-worker": ServicePeer("graphile", "postgres"),
            "pg-boss": ServicePeer("pg-boss", "postgres"),
            "bullmq": ServicePeer("bullmq", "redis"),
        },
        by_median=True,
        rounds=(1, 3),
        notes=("written_bytes",),
    ),
    "cluster": Suite(
        title="Nodes of Weir's task service on PostgreSQL, and queues for Node on the same server",
        workloads=[
            Workload("submit_16", "Durable submits a second, 16 under way", "1/s", higher_is_better=True),
            Workload("submit_64", "The same, 64 under way", "1/s", higher_is_better=True),
            Workload("submit_64_4", "The same at 4 nodes", "1/s", higher_is_better=True),
            Workload("submit_bulk", "Durable submits a second, in batches of 1000", "1/s", higher_is_better=True),
            Workload("submit_once", "The same with idempotency keys", "1/s", higher_is_better=True),
            Workload("process_1", "Tasks that do nothing, run a second, 1 node", "1/s", higher_is_better=True),
            Workload("process_2", "The same, 2 nodes", "1/s", higher_is_better=True),
            Workload("process_4", "The same, 4 nodes", "1/s", higher_is_better=True),
            Workload("limited", "The same, 1 node, a queue with max_running 1000", "1/s", higher_is_better=True),
            Workload("keys", "The same, 10,000 flow keys, each with one at a time", "1/s", higher_is_better=True),
            Workload("latency_p50", "From submit to start, at low load, same node", "ms"),
            Workload("latency_other", "The same, only another node is free", "ms"),
            Workload("held", "Running while a snapshot is held, of that before", "%", higher_is_better=True, is_long=True),
            Workload("held_keys", "The same with 10,000 flow keys", "%", higher_is_better=True, is_long=True),
            Workload("wal", "WAL of a task, from submit to completion", "bytes"),
            Workload("commits", "Commits of a task, from submit to completion", ""),
        ],
        participants={
            "weir": ClusterParticipant(),
            "graphile-worker": ServicePeer("graphile", "postgres", "cluster.py"),
            "pg-boss": ServicePeer("pg-boss", "postgres", "cluster.py"),
        },
        by_median=True,
        rounds=(1, 3),
        notes=("p99",),
    ),
    "crawl": Suite(
        title="Weir's crawler and its peers, nginx and crawler on the same cores",
        workloads=[
            Workload("site", "A site: pages of 20 KB a second", "1/s", higher_is_better=True),
            Workload("list", "A list of URLs: pages of 1 KB a second", "1/s", higher_is_better=True),
            Workload("polite", "2,000 hosts at 5 a second each: longer by", "%", is_long=True),
            Workload("faults", "7 % faults, 200 hosts: pages a second", "1/s", higher_is_better=True, is_long=True),
            Workload("kills", "kill -9 every 3 s: pages fetched again, each", "pages", is_long=True),
            Workload("known", "10 million known URLs: memory", "MB", is_long=True),
            Workload("check", "Check of links: pages a second", "1/s", higher_is_better=True),
        ],
        participants={
            "weir": CrawlParticipant("weir", OUR_PROGRAM),
            "weir_memory": CrawlParticipant("weir", OUR_PROGRAM, is_durable=False),
            "wget2": CrawlParticipant("wget2", Installed("/usr/bin/wget2", "wget2", "wget2")),
            "scrapy": CrawlParticipant("scrapy", PythonScript("../crawl/peers/scrapy_crawl.py", module="scrapy")),
            "crawlee": CrawlParticipant("crawlee", NpmScript("crawl/peers/node", "crawl.mjs")),
            "linkchecker": CrawlParticipant("linkchecker", Installed("/usr/bin/linkchecker", "linkchecker", "linkchecker")),
        },
        by_median=True,
        rounds=(1, 3),
        notes=("memory_mb", "most", "lost", "early", "kills", "again_percent", "start_s", "start_cpu_s"),
    ),
    "workers": Suite(
        title="Workers in Python on Weir's task service, and Celery with Redis",
        workloads=[
            Workload("process", "Tasks that do nothing, 4 processes, run a second", "1/s", higher_is_better=True),
            Workload("group", "The same in one group of 100,000: part of the rate", "%", higher_is_better=True),
            Workload("start_p50", "From submit to start, at low load", "ms"),
            Workload("idle_1000", "1,000 workers that only wait: CPU of the service, of two cores", "%"),
        ],
        participants={
            "weir": WorkersParticipant("weir", OUR_PROGRAM),
            "celery": WorkersParticipant("celery"),
        },
        by_median=True,
        rounds=(1, 3),
        notes=("memory_mb", "memory_percent"),
    ),
}
