// SPDX-License-Identifier: MIT
// graphile-worker, pg-boss and BullMQ, each as its documentation advises for many small tasks; producer and worker
// are one process.
//
//   bench.js WHO WORKLOAD URL_OR_PORT COUNT WARM_UP_SECONDS SECONDS [PROCESSES]
//
// With several processes, tasks are run by all of them; the first is also the producer.
"use strict";

const [who, workload, where, countText, warmUp, seconds, processes, owner] = process.argv.slice(2);
const count = Number(countText);
const payload = { number: 1, text: "a small task" };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Every run has tables of its own: nobody wades through what earlier ones left. In Redis, keys do that.
async function anew(statement) {
  if (owner) return;
  const { Client } = require("pg");
  const client = new Client({ connectionString: where });
  await client.connect();
  await client.query(statement);
  await client.end();
}

// Each: add one, add many, work until the function that it gives is called; begun(data) is for each task.
async function graphile() {
  const { makeWorkerUtils, run, Logger } = require("graphile-worker");
  const { Pool } = require("pg");
  await anew("DROP SCHEMA IF EXISTS graphile_worker CASCADE");
  const pgPool = new Pool({ connectionString: where, max: 20 });
  pgPool.on("error", () => {});
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  return {
    add: (data) => utils.addJob("noop", data),
    addMany: (all) => utils.addJobs(all.map((each) => ({ identifier: "noop", payload: each }))),
    async work(begun, isLatency) {
      // Batched completion and a local queue: the fast settings of its own performance page.
      const fast = isLatency ? {} : { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
      const runner = await run({
        pgPool,
        logger,
        noHandleSignals: true,
        taskList: { noop: async (data) => begun(data) },
        preset: { worker: { concurrentJobs: isLatency ? 4 : 100, pollInterval: 2000, ...fast } },
      });
      return () => runner.stop();
    },
    filled: () => anew("ANALYZE"),
  };
}

async function pgBoss() {
  const { PgBoss } = await import("pg-boss");
  await anew("DROP SCHEMA IF EXISTS pgboss CASCADE");
  const boss = new PgBoss({ connectionString: where, max: 20, supervise: false, schedule: false });
  boss.on("error", () => {});
  await boss.start();
  const queue = "noop-" + (owner || process.pid);
  if (!owner) await boss.createQueue(queue);
  return {
    add: (data) => boss.send(queue, data),
    addMany: (all) => boss.insert(queue, all.map((data) => ({ data }))),
    filled: () => anew("ANALYZE"),
    async work(begun, isLatency) {
      if (isLatency) {
        return null; // it polls: half a second at least
      }
      let stopped = false;
      const one = async () => {
        while (!stopped) {
          const jobs = await boss.fetch(queue, { batchSize: 1000 });
          if (!jobs || jobs.length === 0) {
            await pause(5);
            continue;
          }
          await boss.complete(queue, jobs.map((job) => job.id));
          for (const job of jobs) begun(job.data);
        }
      };
      const loops = [one(), one()];
      return async () => {
        stopped = true;
        await Promise.all(loops);
      };
    },
  };
}

async function bullmq() {
  const { Queue, Worker } = require("bullmq");
  const name = "noop-" + process.pid;
  const connection = { host: "127.0.0.1", port: Number(where), maxRetriesPerRequest: null };
  const keep = { removeOnComplete: true };
  const queue = new Queue(name, { connection });
  await queue.waitUntilReady();
  return {
    add: (data) => queue.add("noop", data, keep),
    filled: async () => {},
    addMany: (all) => queue.addBulk(all.map((data) => ({ name: "noop", data, opts: keep }))),
    async work(begun) {
      const worker = new Worker(name, async (job) => begun(job.data), { connection, concurrency: 100 });
      await worker.waitUntilReady();
      return () => worker.close(true);
    },
  };
}

// Webhooks: URLs, a line each, come from standard input; 'go' starts the worker, which sends each with fetch.
async function deliver(peer) {
  if (who !== "bullmq") process.exit(64);
  const lines = require("readline").createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const next = async () => (await lines.next()).value;
  let batch = [];
  for (let i = 0; i < count; i += 1) {
    batch.push({ url: await next(), body: { number: i, text: "a small event" } });
    if (batch.length === 1000 || i === count - 1) {
      await peer.addMany(batch);
      batch = [];
    }
  }
  console.log("filled");
  await next();
  let ended = 0;
  let over;
  const all = new Promise((resolve) => (over = resolve));
  await peer.work(async (data) => {
    const answer = await fetch(data.url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(data.body),
    });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    ended += 1;
    if (ended === count) over();
  });
  await all;
  await pause(200); // the last completions
  console.log("done");
}

async function rate(inFlight, operation, each) {
  let done = 0;
  let stopped = false;
  const loops = Array.from({ length: inFlight }, async () => {
    while (!stopped) {
      await operation();
      done += each;
    }
  });
  await pause(Number(warmUp) * 1000);
  const before = done;
  const began = performance.now();
  await pause(Number(seconds) * 1000);
  const result = { requests: done - before, seconds: (performance.now() - began) / 1000 };
  stopped = true;
  await Promise.all(loops);
  return result;
}

// Other processes that only run tasks: what they have begun, they tell in parts.
async function helpers(begun) {
  const all = [];
  for (let i = 1; i < Number(processes || 1); i += 1) {
    const words = [who, "help", where, countText, warmUp, seconds, "1", String(process.pid)];
    const one = require("child_process").fork(__filename, words);
    await new Promise((resolve) => one.once("message", resolve));
    one.on("message", (number) => {
      for (let k = 0; k < number; k += 1) begun();
    });
    all.push(one);
  }
  return () => all.forEach((one) => one.kill("SIGKILL"));
}

async function help(peer) {
  let ran = 0;
  const tell = () => {
    if (ran > 0) process.send(ran);
    ran = 0;
  };
  setInterval(tell, 5);
  process.send("ready");
  process.once("disconnect", () => process.exit(0));
  await peer.work(() => (ran += 1));
  await new Promise(() => {});
}

async function fill(peer, total) {
  const batch = Array(1000).fill(payload);
  for (let i = 0; i < total; i += 1000) {
    await peer.addMany(batch);
  }
}

// From the first task that is run to the last of them; a part before that to warm up.
async function processed(peer) {
  const warm = Math.min(5000, count / 4);
  await fill(peer, count + warm);
  await peer.filled();
  let ran = 0;
  let began = 0;
  let over;
  const all = new Promise((resolve) => (over = resolve));
  const ended = () => {
    ran += 1;
    if (ran === warm) began = performance.now();
    if (ran === warm + count) over(performance.now());
  };
  const release = await helpers(ended);
  const stop = await peer.work(ended);
  const end = await all;
  release();
  // The last batch of completions is not yet written: a thousandth of the whole.
  await Promise.race([stop(), pause(2000)]);
  return { requests: count, seconds: (end - began) / 1000 };
}

async function latency(peer) {
  let heard;
  const stop = await peer.work((data) => heard && heard(performance.now(), data), true);
  if (stop === null) process.exit(64);
  await pause(500);
  const samples = [];
  for (let i = 0; i < count; i += 1) {
    const begun = new Promise((resolve) => (heard = resolve));
    const asked = performance.now();
    const [at] = await Promise.all([begun, peer.add(payload)]);
    if (i >= count / 5) samples.push(at - asked);
    await pause(5);
  }
  samples.sort((a, b) => a - b);
  return { median_ms: samples[samples.length >> 1], p99_ms: samples[Math.floor(samples.length * 0.99)] };
}

async function main() {
  const makers = { graphile, "pg-boss": pgBoss, bullmq };
  const peer = await makers[who]();
  const batch = Array(1000).fill(payload);
  const workloads = {
    submit_16: () => rate(16, () => peer.add(payload), 1),
    submit_bulk: () => rate(2, () => peer.addMany(batch), 1000),
    process: () => processed(peer),
    latency_p50: () => latency(peer),
    deliver: () => deliver(peer),
    help: () => help(peer),
  };
  if (!(workload in workloads)) process.exit(64);
  const result = await workloads[workload]();
  if (result) console.log(JSON.stringify(result));
  process.exit(0);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
