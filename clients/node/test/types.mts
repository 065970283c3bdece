// SPDX-License-Identifier: MIT
// Compiled only: what users write has the types that they expect.
import { Client, Job, Permanent, RetryLater, Worker } from "../index.js";
import { run } from "../testing.js";

const worker = new Worker("http://127.0.0.1:8080", { token: "t", concurrency: 4 });
worker.task<{ path: string; width?: number }>(
  "resize",
  async ({ path, width = 100 }, job: Job) => {
    const size: number = await job.step("measure", async () => width);
    job.progress(0.5, path.toUpperCase());
    const group: string | null = job.group;
    const failed: string[] = job.after.filter(({ outcome }) => outcome !== "completed").map(({ task }) => task);
    console.log(group, failed);
    if (job.signal.aborted || job.isLastAttempt) {
      throw new Permanent("too late");
    }
    if (size > 5000) {
      throw new RetryLater(30);
    }
    return { path, size };
  },
  { timeout: 60, concurrency: 2 },
);
// @ts-expect-error: a handler is a function
worker.task("wrong", 5);

export async function use(client: Client): Promise<string> {
  const id: string = await client.submit("resize", { path: "a" }, { queue: "images", expires_in: 60 });
  const ids = await client.submitMany([{ kind: "resize", payload: 1, delay: 2, expires_at: new Date() }]);
  const outcome = await run(worker, "resize", { path: "a" }, { cancelAfter: 1 });
  return `${id} ${ids.length} ${(await client.wait(id, 5)).state} ${outcome.state}`;
}
