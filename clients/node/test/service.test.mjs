// SPDX-License-Identifier: MIT
// Workers and clients in Node against the program `weir serve`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { Client, Permanent, Postpone, RetryLater, ServiceError, TaskFailed } from "../src/index.js";
import { block, eventually, makeWorker, quick, Serving, sleep } from "./support.mjs";

const timing = { ...quick, readMargin: 5, request: 5, heartbeat: 0.5, wait: 2 };
let serving;
let client;

before(async () => {
  serving = await Serving.start("--remote-kinds", "node*");
  client = new Client(serving.url);
});

after(async () => {
  client.close();
  await serving.end();
});

async function withWorker(register, body, options = {}) {
  const worker = makeWorker(options.url ?? serving.url, { timing, concurrency: 20, ...options });
  register(worker);
  await worker.start();
  try {
    await body(worker);
  } finally {
    await worker.stop();
  }
}

test("runs tasks, many at a time", async () => {
  await withWorker(
    (worker) => worker.task("node/double", async ({ n }, job) => ({ n: 2 * n, attempt: job.attempt })),
    async () => {
      const ids = await client.submitMany(Array.from({ length: 1200 }, (_, n) => ({ kind: "node/double", payload: { n } })));
      const results = await Promise.all(ids.map((id) => client.result(id, 30)));
      assert.deepEqual(results, ids.map((_, n) => ({ n: 2 * n, attempt: 1 })));
    },
    { concurrency: 200 },
  );
});

test("outcomes", async () => {
  const runs = [];
  await withWorker(
    (worker) =>
      worker.task("node/outcome", async ({ what }, job) => {
        runs.push(`${what} ${job.attempt}`);
        if (what === "permanent") {
          throw new Permanent("no such file");
        }
        if (what === "retry" && job.attempt === 1) {
          throw new RetryLater(0.05);
        }
        if (what === "postpone" && runs.filter((run) => run === "postpone 1").length === 1) {
          throw new Postpone("busy", 0.05);
        }
        if (what === "fail") {
          throw new TypeError("bad size");
        }
        return job.attempt;
      }),
    async () => {
      const end = async (what) =>
        client.wait(await client.submit("node/outcome", { what }, { max_attempts: 2, backoff: 0.05 }), 10);
      assert.equal((await end("permanent")).error, "no such file");
      assert.equal((await end("retry")).result, 2);
      assert.equal((await end("postpone")).result, 1);
      assert.match((await end("fail")).error, /TypeError: bad size/);
      assert.deepEqual(runs.filter((run) => run.startsWith("permanent")), ["permanent 1"]);
    },
  );
});

test("what a task came after", async () => {
  await withWorker(
    (worker) => worker.task("node/part", ({}, { group, after }) => ({ group, after })),
    async () => {
      const flow = {
        tasks: [{ name: "first", kind: "node/part", payload: {} }, { kind: "node/part", payload: {}, after: ["first"] }],
        group: {},
      };
      const made = await fetch(`${serving.url}/tasks/batch`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(flow),
      });
      const { group, results } = await made.json();
      const parent = { task: results[0].id, onFailure: "cancel", outcome: "completed" };
      assert.deepEqual(await client.result(results[0].id, 10), { group: group.id, after: [] });
      assert.deepEqual(await client.result(results[1].id, 10), { group: group.id, after: [parent] });
      const alone = await client.submit("node/part", {});
      assert.deepEqual(await client.result(alone, 10), { group: null, after: [] });
    },
  );
});

test("cancel, progress and time limit", async () => {
  const aborted = (job) => new Promise((_, reject) => job.signal.addEventListener("abort", () => reject(job.signal.reason)));
  await withWorker(
    (worker) =>
      worker
        .task("node/long", async (_, job) => {
          job.progress(0.25, "a quarter");
          await aborted(job);
        })
        .task("node/limited", (_, job) => aborted(job), { timeout: 0.2 }),
    async () => {
      const id = await client.submit("node/long");
      await eventually(async () => (await client.get(id)).progress === 0.25);
      const began = Date.now();
      assert.equal(await client.cancel(id), true);
      assert.equal((await client.wait(id, 10)).state, "cancelled");
      assert.ok(Date.now() - began < 5000);
      assert.equal(await client.cancel(id), false);
      const limited = await client.wait(await client.submit("node/limited", null, { max_attempts: 1 }), 10);
      assert.equal(limited.error, "timed out after 0.2 s");
    },
  );
});

test("steps survive a failure", async () => {
  const calls = [];
  await withWorker(
    (worker) =>
      worker.task("node/order", async (_, job) => {
        const place = await job.step("reserve", () => calls.push("reserve") && { place: 4 });
        if (job.attempt === 1) {
          throw new Error("between the steps");
        }
        return [place, await job.step("charge", async () => calls.push("charge") && "paid")];
      }),
    async () => {
      const id = await client.submit("node/order", null, { backoff: 0.05 });
      assert.deepEqual(await client.result(id, 10), [{ place: 4 }, "paid"]);
      assert.deepEqual(calls, ["reserve", "charge"]);
    },
  );
});

test("a limit of one kind", async () => {
  let now = 0;
  let most = 0;
  await withWorker(
    (worker) =>
      worker.task(
        "node/few",
        async () => {
          most = Math.max(most, (now += 1));
          await sleep(0.02);
          now -= 1;
        },
        { concurrency: 2 },
      ),
    async () => {
      const ids = await client.submitMany(Array.from({ length: 12 }, () => ({ kind: "node/few" })));
      await Promise.all(ids.map((id) => client.result(id, 10)));
      assert.equal(most, 2);
    },
  );
});

test("PeerFailure23: a handler that blocks the thread starves no heartbeat", async () => {
  await withWorker(
    (worker) => worker.task("node/block", () => block(2.5)),
    async () => {
      const id = await client.submit("node/block");
      const ended = await client.wait(id, 20);
      assert.deepEqual([ended.state, ended.attempts], ["completed", []]);
      const { workers } = await (await fetch(`${serving.url}/workers`)).json();
      assert.equal(workers.some(({ state }) => state === "gone"), false);
    },
  );
});

test("PeerFailure23: a thread is blocked for a minute, with the times of users", { skip: !process.env.WEIR_STRESS && "takes a minute" }, async () => {
  let runs = 0;
  await withWorker(
    (worker) =>
      worker.task("node/minute", () => {
        block(60);
        runs += 1;
      }),
    async () => {
      // The client is in the same thread: its requests are over when the handler begins.
      const id = await client.submit("node/minute", null, { delay: 1 });
      await eventually(() => runs > 0, 120);
      const ended = await client.wait(id, 20);
      assert.deepEqual([ended.state, ended.attempts, runs], ["completed", [], 1]);
    },
    { timing: {} },
  );
});

test("a task that nobody takes in time", async () => {
  const expires_at = new Date(Date.now() + 500);
  const id = await client.submit("node/nobody", null, { expires_at });
  const task = await client.get(id);
  assert.equal(new Date(task.expires_at).getTime(), expires_at.getTime());
  const { state, error } = await client.wait(id, 20);
  assert.equal(state, "cancelled");
  assert.match(error, /^expired: not started by /);
});

test("refusals", async () => {
  const worker = makeWorker(serving.url, { timing });
  await assert.rejects(worker.start(), /no handlers/);
  worker.task("echo", () => 1); // a kind of the service itself
  await assert.rejects(worker.start(), ServiceError);
  await assert.rejects(client.submit("unknown"), (error) => error instanceof ServiceError && error.status === 422);
  await assert.rejects(client.get("nothing"), /404/);
  const failing = await client.submit("echo", { fail: "no" }, { max_attempts: 1 });
  await assert.rejects(client.result(failing, 10), TaskFailed);
  await assert.rejects(client.wait(await client.submit("sleep", { seconds: 20 }), 0.05), /after 0.05 s/);
});

test("SIGTERM drains", async () => {
  const program = `
    import { Worker } from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
    const worker = new Worker(process.argv[1], { concurrency: 4 });
    worker.task("node/nap", ({ seconds }) => new Promise((done) => setTimeout(done, seconds * 1000, process.pid)));
    await worker.run();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, serving.url], { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.on("data", (data) => (log += data));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  await eventually(() => log.includes("node/nap"));
  const id = await client.submit("node/nap", { seconds: 0.7 });
  await eventually(async () => (await client.get(id)).state === "running");
  child.kill("SIGTERM");
  await eventually(() => log.includes("no more tasks"));
  await sleep(0.1);
  const later = await client.submit("node/nap", { seconds: 0 });
  assert.equal(await ended, 0);
  assert.equal((await client.wait(id, 5)).result, child.pid);
  assert.equal((await client.get(later)).state, "pending");
  await client.cancel(later);
});
