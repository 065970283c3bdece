# SPDX-License-Identifier: MIT
"""What the tests share: the package on the path, a worker on a loop of its own thread."""

import asyncio
import logging
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "src"))

import weir  # noqa: E402

logging.getLogger("weir").setLevel(
    logging.DEBUG if os.environ.get("WEIR_VERBOSE") else logging.CRITICAL)
if os.environ.get("WEIR_VERBOSE"):
    logging.basicConfig(format="%(asctime)s %(threadName)s %(message)s")

IS_STRESS = bool(os.environ.get("WEIR_STRESS"))

# Seconds where users have more of them, so that tests of half-open connections are short.
QUICK = weir.Timing(connect=1.0, read_margin=0.3, request=0.5, backoff_first=0.01,
                    backoff_most=0.1, progress=0.05, drain=5.0, grace=0.5)


class Running:
    """The worker on a loop in a thread, until the block ends."""

    def __init__(self, app):
        self.app = app
        self.loop = None
        self.error = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self.error = error
        self._started.set()

    async def _main(self):
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with self.app:
            self._started.set()
            await self._stop.wait()

    def begin_stop(self):
        self.loop.call_soon_threadsafe(self._stop.set)

    def __enter__(self):
        self._thread.start()
        self._started.wait(10)
        if self.error is not None:
            raise self.error
        return self

    def join(self, seconds=20.0):
        self._thread.join(seconds)
        if self._thread.is_alive():
            raise AssertionError("the worker did not stop")
        if self.error is not None:
            raise self.error

    def __exit__(self, *_):
        if self._thread.is_alive():
            self.begin_stop()
        self.join()


def eventually(condition, seconds=30.0):
    """Waits until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so after {seconds} s")
        time.sleep(0.005)
