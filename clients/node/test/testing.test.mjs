// SPDX-License-Identifier: MIT
// Handlers without a service.
import assert from "node:assert/strict";
import test from "node:test";
import { Client, Permanent, Postpone, RetryLater, Worker } from "../src/index.js";
import { run } from "../src/testing.js";

const throws = (error) => {
  const worker = new Worker("http://127.0.0.1:9");
  worker.task("kind", () => {
    throw error;
  });
  return run(worker, "kind");
};

test("outcomes", async () => {
  const failed = await throws(new TypeError("bad size"));
  assert.equal(failed.state, "failed");
  assert.match(failed.error, /TypeError: bad size/);
  assert.equal((await throws(new Permanent("no"))).permanent, true);
  assert.equal((await throws(new RetryLater(30))).retry_after, 30);
  const postponed = await throws(new Postpone("busy", 5));
  assert.deepEqual([postponed.state, postponed.reason, postponed.by], ["postponed", "busy", 5]);
  assert.ok(Buffer.byteLength((await throws(new Error("é".repeat(9000)))).error) < 4000);
});

test("payload, steps, progress and cancel", async () => {
  const worker = new Worker("http://127.0.0.1:9");
  const calls = [];
  worker.task("order", async ({ n }, job) => {
    job.progress(0.5, "half");
    const first = await job.step("first", () => calls.push("first") && { n });
    return [first, await job.step("first", () => calls.push("again")), job.attempt];
  });
  worker.task("long", (_, job) => new Promise((_resolve, reject) => job.signal.addEventListener("abort", () => reject(job.signal.reason))));
  worker.task("limited", (_, job) => new Promise((_resolve, reject) => job.signal.addEventListener("abort", () => reject(job.signal.reason))), { timeout: 0.02 });
  const outcome = await run(worker, "order", { n: 3 }, { attempt: 2 });
  assert.deepEqual(outcome.result, [{ n: 3 }, { n: 3 }, 2]);
  assert.deepEqual(outcome.progress, [[0.5, "half"]]);
  await run(worker, "order", { n: 3 }, { steps: outcome.steps });
  assert.deepEqual(calls, ["first"]);
  assert.equal((await run(worker, "long", null, { cancelAfter: 0.02 })).state, "cancelled");
  assert.equal((await run(worker, "limited")).error, "timed out after 0.02 s");
  await assert.rejects(run(worker, "unknown"), /no handler for 'unknown'/);
});

test("invalid settings", () => {
  const worker = new Worker("http://127.0.0.1:9").task("a", () => 1);
  for (const wrong of [
    () => new Worker("127.0.0.1:80"), () => new Worker("ftp://h"), () => new Worker("http://h", { concurrency: 0 }),
    () => worker.task("a", () => 1), () => worker.task("", () => 1), () => worker.task("b", 1),
    () => worker.task("b", () => 1, { timeout: 0 }), () => worker.task("b", () => 1, { concurrency: 0.5 }),
    () => new Client("nothing"), () => new RetryLater(-1), () => new Postpone("x", NaN),
  ]) {
    assert.throws(wrong);
  }
});
