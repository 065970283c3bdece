# SPDX-License-Identifier: MIT
"""Worker and client of the Weir task service. Standard library only.

    import weir

    app = weir.Worker("http://127.0.0.1:8080", concurrency=32)

    @app.task("greet")
    async def greet(name: str):
        return {"text": f"Hello, {name}!"}

    if __name__ == "__main__":
        app.run()
"""

from ._http import VERSION as __version__
from ._session import Timing
from .client import AsyncClient, Client, Task
from .errors import (Cancelled, Permanent, Postpone, RetryLater, ServiceError, TaskFailed,
                     Unavailable, WeirError)
from .job import Dependency, Job
from .worker import Worker

__all__ = ["AsyncClient", "Cancelled", "Client", "Dependency", "Job", "Permanent", "Postpone",
           "RetryLater", "ServiceError", "Task", "TaskFailed", "Timing", "Unavailable", "WeirError",
           "Worker", "__version__"]
