#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker of suite workers, as users write one: `weir_worker.py URL`."""
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python" / "src"))
import weir  # noqa: E402

app = weir.Worker(sys.argv[1], concurrency=1000)


@app.task("noop")
async def noop():
    return None


@app.task("stamp")
async def stamp(at: float):
    return time.monotonic() - at


if __name__ == "__main__":
    app.run()
