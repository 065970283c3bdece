# SPDX-License-Identifier: MIT
import weir

app = weir.Worker("http://127.0.0.1:8080", concurrency=32)


@app.task("greet", timeout=60)
async def greet(job: weir.Job, name: str):
    await job.progress(0.5, "thinking")
    return {"text": f"Hello, {name}!"}


if __name__ == "__main__":
    app.run()
