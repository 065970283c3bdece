# SPDX-License-Identifier: MIT
"""What is measured: the suites, their workloads, and who takes part.

A new suite is an entry in SUITES, its bars in bars.json, and one program per participant that speaks
the protocol of harness.hpp.
"""
from dataclasses import dataclass, field

from participants import CargoProgram, CmakeProgram, GoProgram, LoadedServer, PythonScript


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    unit: str = "ns"
    higher_is_better: bool = False


@dataclass(frozen=True)
class Suite:
    title: str
    workloads: list
    participants: dict = field(default_factory=dict)  # who -> program; ours first, then the floor
    # Where noise adds and takes away, as between two processes: the median of many short rounds, and
    # not the best of a few.
    by_median: bool = False


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
}
