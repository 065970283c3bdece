# SPDX-License-Identifier: MIT
"""The worker: which kinds of tasks it runs, and its life from start to shutdown."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import queue
import signal
import socket
import ssl
import sys
import threading
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Type, TypeVar

from ._binding import Binding
from ._engine import Engine
from ._http import Transport
from ._processes import ProcessRunner
from ._runners import LoopRunner, Runner, ThreadRunner
from ._session import Timing
from .job import Job

log = logging.getLogger("weir")

DEFAULT_URL = "http://127.0.0.1:8080"
Function = TypeVar("Function", bound=Callable[..., Any])


class Handler:
    """A function that runs tasks of one kind."""

    __slots__ = ("function", "kind", "timeout", "runner", "binding", "is_async")

    def __init__(self, function: Callable[..., Any], kind: str, timeout: Optional[float],
                 runner: Runner) -> None:
        self.function = function
        self.kind = kind
        self.timeout = timeout
        self.runner = runner
        self.binding = Binding(function, kind, Job)
        self.is_async = is_coroutine_function(function)


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Also of objects that are called like one."""
    return (inspect.iscoroutinefunction(function)
            or inspect.iscoroutinefunction(getattr(function, "__call__", None)))


class Worker:
    """Runs tasks of the kinds that `task` registers, up to `concurrency` at a time.

    `url` and `token` default to the variables WEIR_SERVER and WEIR_TOKEN. `queues` limits the
    worker to tasks of these queues. `name` is what the service shows for this process.
    """

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None,
                 concurrency: int = 32, queues: Sequence[str] = (), name: Optional[str] = None,
                 tls: Optional[ssl.SSLContext] = None, drain: float = 25.0,
                 timing: Optional[Timing] = None) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}, expected 1 or more")
        self.concurrency = concurrency
        self.handlers: Dict[str, Handler] = {}
        self._timing = timing or Timing(drain=drain)
        self._transport = Transport(url or os.environ.get("WEIR_SERVER") or DEFAULT_URL,
                                    token or os.environ.get("WEIR_TOKEN") or None,
                                    connect_timeout=self._timing.connect, tls=tls)
        self._queues = list(queues)
        self._name = name or f"{socket.gethostname()}/{os.getpid()}"
        self._loop_runner = LoopRunner()
        self._threads = ThreadRunner(concurrency)
        self._own_places: Dict[str, int] = {}  # kinds with a limit of their own
        self._engines: List[Engine] = []
        self._hurry = threading.Event()
        self._shutdown: Optional[threading.Thread] = None

    # Handlers.

    def task(self, kind: str, *, timeout: Optional[float] = None,
             concurrency: Optional[int] = None, processes: Optional[int] = None,
             ) -> Callable[[Function], Function]:
        """Registers the function below as the handler of a kind. `timeout` stops a run after these
        seconds. `concurrency` is a limit of this kind alone, beside that of the worker. With
        `processes` a plain function runs in that many processes."""
        if not kind:
            raise ValueError("the kind of a task is a text of at least one character")
        if timeout is not None and timeout <= 0:
            raise ValueError(f"task {kind!r}: timeout is {timeout}, expected seconds > 0")
        for name, number in (("concurrency", concurrency), ("processes", processes)):
            if number is not None and number < 1:
                raise ValueError(f"task {kind!r}: {name} is {number}, expected 1 or more")

        def register(function: Function) -> Function:
            if kind in self.handlers:
                raise ValueError(f"task {kind!r} has a handler already")
            if self._engines:
                raise RuntimeError(f"task {kind!r}: register handlers before the worker starts")
            runner: Runner
            if is_coroutine_function(function):
                if processes is not None:
                    raise ValueError(f"task {kind!r}: processes are for plain functions")
                runner = self._loop_runner
            elif processes is not None:
                runner = ProcessRunner(processes)
            elif concurrency is not None:
                runner = ThreadRunner(concurrency)
            else:
                runner = self._threads
            places = processes or concurrency
            if places is not None:
                self._own_places[kind] = places
            self.handlers[kind] = Handler(function, kind, timeout, runner)
            return function

        return register

    # Its life.

    def run(self, *, log_level: Optional[int] = logging.INFO) -> None:
        """Runs until SIGTERM or SIGINT: then no more tasks are taken, running ones have 25 seconds
        (`drain`), and the rest is given back. A second signal ends it at once. Logs to standard
        error at `log_level`, unless logging is set up already."""
        if log_level is not None and not logging.getLogger().handlers:
            logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
            log.setLevel(log_level)
        try:
            asyncio.run(self._run())
        except KeyboardInterrupt:
            sys.exit(130)

    async def _run(self) -> None:
        signals: queue.SimpleQueue[int] = queue.SimpleQueue()
        ended, has_returned = asyncio.Event(), threading.Event()
        previous = {}
        if threading.current_thread() is threading.main_thread():
            # Plain signal handlers, which also run while a handler blocks the loop.
            for number in (signal.SIGTERM, signal.SIGINT):
                previous[number] = signal.signal(number, lambda got, _: signals.put(got))
        try:
            await self.start()
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._handle_signals, daemon=True, name="weir-signals",
                             args=(signals, loop, ended, has_returned)).start()
            await ended.wait()
        finally:
            has_returned.set()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle_signals(self, signals: queue.SimpleQueue[int], loop: asyncio.AbstractEventLoop,
                      ended: asyncio.Event, has_returned: threading.Event) -> None:
        number = signals.get()
        log.info("%s: no more tasks are taken", signal.Signals(number).name)
        shutdown = self._begin_shutdown()
        while shutdown.is_alive():
            try:
                number = signals.get(timeout=0.05)
            except queue.Empty:
                continue
            log.warning("%s again: ending now", signal.Signals(number).name)
            self._hurry.set()
            shutdown.join(5.0)
            os._exit(128 + number)
        loop.call_soon_threadsafe(ended.set)
        if not has_returned.wait(5.0):
            # A handler blocks the loop and did not stop; its task was given back.
            log.error("a handler does not stop; ending the process")
            os._exit(1)

    async def start(self) -> None:
        """Begins to take tasks, on the running loop. Raises ServiceError if the service refuses
        this worker; if it does not answer, the worker goes on trying."""
        if self._engines:
            raise RuntimeError("the worker runs already")
        if not self.handlers:
            raise RuntimeError("the worker has no handlers: register them with @app.task(KIND)")
        loop = asyncio.get_running_loop()
        self._shutdown = None
        self._hurry.clear()
        self._transport.open()
        self._loop_runner.use(loop)
        self._engines = list(self._make_engines())
        for engine in self._engines:
            engine.begin()
        deadline = loop.time() + 3.0
        for engine in self._engines:
            while not engine.is_decided and loop.time() < deadline:
                await asyncio.sleep(0.005)
            if engine.refusal is not None:
                refusal = engine.refusal
                await self.stop(drain=0.0)
                raise refusal

    def _make_engines(self) -> List[Engine]:
        """One session for the kinds that share the places, and one for each kind with its own."""
        groups: List[Dict[str, Handler]] = []
        shared = {k: h for k, h in self.handlers.items() if k not in self._own_places}
        if shared:
            groups.append(shared)
        groups += [{kind: self.handlers[kind]} for kind in self._own_places]
        engines = []
        for handlers in groups:
            kind = next(iter(handlers))
            places = self._own_places.get(kind, self.concurrency)
            name = self._name if handlers is shared else f"{self._name} {kind}"
            engines.append(Engine(self._transport, name, handlers, places, self._queues,
                                  self._timing, self._start_jobs))
        return engines

    def _start_jobs(self, jobs: List[Job]) -> None:
        first = jobs[0].handler.runner
        if all(job.handler.runner is first for job in jobs):
            first.start(jobs)
            return
        by_runner: Dict[Runner, List[Job]] = {}
        for job in jobs:
            by_runner.setdefault(job.handler.runner, []).append(job)
        for runner, part in by_runner.items():
            runner.start(part)

    async def stop(self, drain: Optional[float] = None) -> None:
        """Takes no more tasks, waits for running ones, and gives the rest back."""
        if not self._engines:
            return
        shutdown = self._begin_shutdown(drain)
        while shutdown.is_alive():
            await asyncio.sleep(0.01)

    def _begin_shutdown(self, drain: Optional[float] = None) -> threading.Thread:
        if self._shutdown is None:
            limit = self._timing.drain if drain is None else drain
            self._shutdown = threading.Thread(target=self._shut_down, args=(limit,), daemon=True,
                                              name="weir-shutdown")
            self._shutdown.start()
        return self._shutdown

    def _shut_down(self, limit: float) -> None:
        parts = [threading.Thread(target=engine.shut_down, args=(limit, self._hurry), daemon=True)
                 for engine in self._engines]
        for part in parts:
            part.start()
        for part in parts:
            part.join()
        for handler in self.handlers.values():
            handler.runner.close()
        self._transport.close()
        self._engines = []
        log.info("the worker has ended")

    async def __aenter__(self) -> Worker:
        await self.start()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.stop()
