// SPDX-License-Identifier: MIT
// Workers behind a proxy that cuts, delays, duplicates, reorders and half-opens their requests:
// nothing is lost, nothing is completed twice, nothing is stuck.
//
// A run is a seed: some tasks, a worker, a proxy. In some runs the worker stops before its tasks
// have ended, behind the same faults, and another one goes on. WEIR_FAULT_RUNS=N sets the number of
// runs, WEIR_FAULT_SEED=S the first seed. Other runs cut one message, of each endpoint and at each
// of its bytes; WEIR_FAULT_BYTES=N takes every N-th of these runs. WEIR_FAULT_PART=I/N plays the
// I-th of N parts of both.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Client, RetryLater } from "../src/index.js";
import { Faults, makeWorker, quick, Serving, sleep } from "./support.mjs";

const { env } = process;
const runs = Number(env.WEIR_FAULT_RUNS ?? (env.WEIR_STRESS ? 10000 : 30));
const first = Number(env.WEIR_FAULT_SEED ?? 1);
const every = Number(env.WEIR_FAULT_BYTES ?? (env.WEIR_STRESS ? 1 : 300));
const [part, parts] = (env.WEIR_FAULT_PART ?? "0/1").split("/").map(Number);
const parallel = Number(env.WEIR_FAULT_PARALLEL ?? 10);
const timing = { ...quick, readMargin: 0.3, request: 0.6, wait: 0.5, grace: 0.2 };
const endpoints = [
  "DELETE /workers", "POST /workers", "POST /workers/drain", "POST /workers/heartbeat", "POST /workers/poll",
  "POST /workers/results", "POST /workers/steps",
];
const notAlways = "POST /workers/drain"; // a worker whose poll has just ended needs none

let serving;
let client;
let faults;

before(async () => {
  serving = await Serving.start("--remote-kinds", "fault*");
  client = new Client(serving.url);
  faults = new Faults(serving.url);
});

after(async () => {
  client.close();
  faults.end();
  await serving.end();
});

// Numbers that follow from the seed: mulberry32.
function dice(seed) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, choice: (all) => all[Math.floor(next() * all.length)] };
}

class Run {
  constructor(seed, slot, plan) {
    this.seed = seed;
    // The port of a proxy may have been that of a worker elsewhere, which still tries it.
    this.kind = `fault${process.pid}-${slot}`;
    this.plan = plan;
    this.dice = dice(seed);
    this.returned = new Map(); // task -> results that a handler has returned for it
  }

  // Returns the lengths of the messages.
  async play() {
    const { dice, plan, seed } = this;
    const rate = plan ? 0 : dice.choice([0.1, 0.3, 0.5]);
    const { url } = await faults.ask({ seed, rate, plan });
    let ids;
    if (!plan && dice.next() < 0.25) {
      const stopped = await this.#begin(url, dice.choice([0.05, 2]));
      ids = await this.#submit(0.3);
      await stopped.stop();
    }
    const worker = await this.#begin(url);
    try {
      await this.#check((ids ??= await this.#submit()));
    } finally {
      await faults.ask({ quiet: url }); // the end is that of the worker before: here it is quick
      await worker.stop();
    }
    const { lengths, waits } = await faults.ask({ end: url });
    assert.ok(!waits || plan[0] === notAlways || !endpoints.includes(plan[0]), `no ${plan?.[0]}`);
    for (const [n, id] of ids.entries()) {
      const now = await client.get(id); // late requests have changed nothing
      assert.deepEqual([now.state, now.result], ["completed", this.results[n]]);
    }
    return lengths;
  }

  async #begin(url, drain = 2) {
    const worker = makeWorker(url, {
      timing: { ...timing, drain, heartbeat: this.plan ? 0.05 : 0.5 },
      concurrency: 1 + Math.floor(this.dice.next() * 4),
    });
    worker.task(this.kind, async ({ n, seconds, steps, fails }, job) => {
      const count = [];
      for (let number = 0; number < steps; number += 1) {
        count.push(await job.step(`step ${number}`, () => number));
      }
      await setTimeout(seconds * 1000, null, { signal: job.signal });
      if (fails && job.attempt === 1) {
        throw new RetryLater(0.01);
      }
      job.progress(1, "done");
      const result = { n, run: job.run, count };
      this.returned.set(job.id, [...(this.returned.get(job.id) ?? []), result]);
      return result;
    });
    await worker.start();
    return worker;
  }

  async #submit(slowest = 0.05) {
    const { next, choice } = this.dice;
    this.payloads = this.plan
      ? [0, 1].map((n) => ({ n, seconds: 0.1, steps: n, fails: n === 1 }))
      : Array.from({ length: 1 + Math.floor(next() * 8) }, (_, n) => ({
          n, seconds: choice([0, 0.001, slowest]), steps: choice([0, 0, 0, 1, 2]), fails: next() < 0.15,
        }));
    const middle = this.payloads.length >> 1;
    const ids = [];
    for (const payloads of [this.payloads.slice(0, middle), this.payloads.slice(middle)]) {
      if (payloads.length > 0) {
        const tasks = payloads.map((payload) => ({ kind: this.kind, payload, backoff: { initial: 0.01 } }));
        ids.push(...(await client.submitMany(tasks)));
      }
      await sleep(next() * 0.2);
    }
    return ids;
  }

  async #check(ids) {
    this.results = [];
    for (const [n, id] of ids.entries()) {
      const end = await client.wait(id, 60);
      assert.equal(end.state, "completed", end.error);
      const { run } = end.result;
      const { steps, fails } = this.payloads[n];
      assert.deepEqual(end.result, { n, run, count: Array.from({ length: steps }, (_, number) => number) });
      assert.ok(this.returned.get(id).some((each) => each.run === run), "a result that no handler returned");
      assert.equal(end.attempts.length, fails ? 1 : 0, `attempts were spent: ${JSON.stringify(end.attempts)}`);
      this.results.push(end.result);
    }
  }
}

const metric = async (name) => {
  const text = await (await fetch(`${serving.url}/metrics`)).text();
  return Number(text.match(new RegExp(`^weir_service_${name}_total (\\S+)`, "m"))[1]);
};

// Many at a time, and each task was completed once.
async function playAll(all) {
  const waiting = [...all.entries()];
  const one = async (slot) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [seed, plan] = next[1];
      try {
        await new Run(seed, slot, plan).play();
      } catch (error) {
        waiting.length = 0;
        throw new Error(`seed ${seed}, ${JSON.stringify(plan)}: ${error.message}`);
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: parallel }, (_, slot) => one(slot)));
  ends.forEach(({ status, reason }) => assert.equal(status, "fulfilled", reason));
  assert.equal(await metric("completed"), await metric("submitted"));
}

const partOf = (all) => all.filter((_, n) => n % parts === part);

test("nothing lost, nothing twice, nothing stuck", async () => {
  await playAll(partOf(Array.from({ length: runs }, (_, n) => [first + n, null])));
});

test("every endpoint at every byte", async () => {
  const usual = await new Run(0, 0, ["none", "none", 0]).play();
  assert.deepEqual(Object.keys({ ...usual, [notAlways]: 0 }).sort(), endpoints);
  const plans = Object.entries(usual).flatMap(([endpoint, lengths]) =>
    ["request", "answer"].flatMap((message, n) =>
      ["cut_", "stall_"].flatMap((fault) =>
        Array.from({ length: lengths[n] }, (_, byte) => [first, [endpoint, fault + message, byte]]))));
  await playAll(partOf(plans.filter((_, n) => n % every === first % every)));
});
