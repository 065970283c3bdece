// SPDX-License-Identifier: MIT
// Failures of other systems' workers, each a test of this one: the numbers are those of the
// project's list of peers' failures. Against a service in memory that fails on request.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { FakeService } from "./fake_service.mjs";
import { makeWorker, quick, sleep } from "./support.mjs";

let service;
let worker;

beforeEach(async () => {
  service = await FakeService.start();
  worker = makeWorker(service.url, { concurrency: 4 });
});

afterEach(async () => {
  service.hook = () => undefined;
  await worker.stop();
  service.close();
});

const untilAborted = (job) =>
  new Promise((_, reject) => job.signal.addEventListener("abort", () => reject(job.signal.reason)));

test("PeerFailure05: work stops when heartbeats are refused", async () => {
  let stopped = 0;
  worker.task("long", async (_, job) => {
    await untilAborted(job).catch((error) => {
      stopped = Date.now();
      throw error;
    });
  });
  const task = service.submit("long");
  await worker.start();
  await service.until(() => service.tasks.get(task).state === "running");
  service.hook = (_, path) => (path.endsWith("/heartbeat") ? 503 : undefined);
  const refused = Date.now();
  await service.until(() => stopped > 0);
  assert.ok(stopped - refused > 300 && stopped - refused < 5000, `${stopped - refused} ms`);
  service.hook = () => undefined;
  await service.until(() => service.tasks.get(task).run === 2);
  service.cancel(task);
  assert.equal((await service.ended(task)).state, "cancelled");
});

test("PeerFailure05: an expired session stops handlers and begins anew", async () => {
  let stopped = 0;
  worker.task("long", async ({ waits }, job) => {
    if (waits) {
      await untilAborted(job).catch(() => (stopped += 1));
    }
    return job.run;
  });
  const task = service.submit("long", { waits: true });
  await worker.start();
  await service.until(() => service.tasks.get(task).state === "running");
  service.tasks.get(task).payload = { waits: false };
  service.expire();
  assert.equal((await service.ended(task)).result, 2);
  assert.deepEqual([stopped, service.completions, service.count("/workers")], [1, [task], 2]);
});

test("PeerFailure06: polls go on after any answer", async () => {
  const answers = [500, 503, 404, 401, 429, 409, 422, "cut", "refuse"];
  worker.task("echo", ({ value }) => value);
  service.hook = (_, path) => (path.endsWith("/poll") ? answers.pop() : undefined);
  await worker.start();
  const task = service.submit("echo", { value: 1 });
  await service.ended(task);
  assert.deepEqual(answers, []);
});

test("PeerFailure15: the lost answer of a poll is asked for again", async () => {
  const runs = [];
  worker.task("echo", ({ value }) => void runs.push(value));
  const tasks = [0, 1, 2].map((value) => service.submit("echo", { value }));
  const lost = [];
  service.hook = (_, path, body) => {
    if (path.endsWith("/poll") && lost.length < 4) {
      lost.push(body.poll);
      return "cut";
    }
    return undefined;
  };
  await worker.start();
  for (const task of tasks) {
    assert.equal((await service.ended(task)).run, 1);
  }
  assert.deepEqual([lost, runs.sort()], [[1, 1, 1, 1], [0, 1, 2]]);
});

test("PeerFailure17: a task that is assigned at shutdown is run", async () => {
  worker.task("echo", ({ value }) => value);
  const given = [];
  service.hook = async (_, path) => {
    if (path.endsWith("/drain") && given.length === 0) {
      given.push(service.submit("echo", { value: 7 }));
      await service.until(() => service.tasks.get(given[0]).run === 1);
    }
    return undefined;
  };
  await worker.start();
  await service.until(() => service.count("/poll") === 1);
  await worker.stop();
  assert.deepEqual(service.completions, given);
  assert.equal(service.sessions.size, 0);
});

test("PeerFailure18: a half-open connection is given up", async () => {
  service.times.wait = 0.2;
  let silent = 0;
  service.hook = async (_, path, body) => {
    if (path.endsWith("/poll") && body.poll === 2 && silent < 2) {
      silent += 1;
      await sleep(1); // longer than wait and margin
    }
    return undefined;
  };
  worker.task("echo", ({ value }) => value);
  await worker.start();
  await service.until(() => service.requests.filter(({ path, body }) => path.endsWith("/poll") && body.poll === 2).length >= 2);
  await service.ended(service.submit("echo", { value: 1 }));
});

test("PeerFailure19: never takes more than it can run", async () => {
  let most = 0;
  worker.task("work", () => sleep(0.01));
  service.hook = async (_, path, body) => {
    if (path.endsWith("/results")) {
      await sleep(0.05); // undelivered results keep their places
    }
    if (path.endsWith("/poll")) {
      const held = [...service.tasks.values()].filter(({ holder }) => holder !== null).length;
      most = Math.max(most, held + body.free);
    }
    return undefined;
  };
  const tasks = Array.from({ length: 30 }, () => service.submit("work"));
  await worker.start();
  for (const task of tasks) {
    await service.ended(task);
  }
  assert.equal(most, 4);
});

test("PeerFailure20: heartbeats go on while draining", async () => {
  worker.task("hold", () => sleep(1.8));
  const task = service.submit("hold");
  await worker.start();
  await service.until(() => service.tasks.get(task).state === "running");
  const stopping = worker.stop();
  await service.until(() => service.count("/drain") >= 1);
  const before = service.count("/heartbeat");
  const polls = service.count("/poll");
  await sleep(1.2); // longer than the lease
  assert.ok(service.count("/heartbeat") > before + 2);
  assert.equal(service.count("/poll"), polls);
  await stopping;
  assert.deepEqual([service.tasks.get(task).state, service.tasks.get(task).run], ["completed", 1]);
});

test("PeerFailure21: reconnects for ever, and stops at once", async () => {
  service.times.wait = 25;
  worker.task("echo", ({ value }) => value);
  await worker.start();
  let refusals = 0;
  service.hook = () => {
    refusals += 1;
    return "refuse";
  };
  service.expire();
  await service.until(() => refusals > 30);
  service.hook = () => undefined;
  await service.ended(service.submit("echo", { value: 1 }));
  await sleep(0.1);
  const began = Date.now();
  await worker.stop(); // a poll of 25 seconds is open
  assert.ok(Date.now() - began < 10000);
});

test("PeerFailure21: a network thread that dies is replaced", async () => {
  let started = 0;
  let stopped = 0;
  worker.task("hold", async ({ waits }, job) => {
    started += 1;
    if (waits) {
      await untilAborted(job).catch(() => (stopped += 1));
    }
    return job.run;
  });
  const task = service.submit("hold", { waits: true });
  await worker.start();
  await service.until(() => started === 1);
  service.tasks.get(task).payload = { waits: false };
  await worker.networkThread.terminate();
  service.expire();
  assert.equal((await service.ended(task)).result, 2);
  assert.equal(stopped, 1);
});

test("PeerFailure21: a step does not wait for a network thread that has died", async () => {
  let ended = "";
  worker.task("hold", async ({ value }, job) => {
    try {
      return await job.step("one", () => value);
    } catch (error) {
      ended = error.name;
      throw error;
    }
  });
  const task = service.submit("hold", { value: 5 });
  service.hook = (_, path) => (path.endsWith("/steps") ? new Promise(() => {}) : undefined);
  await worker.start();
  await service.until(() => service.count("/steps") === 1);
  await worker.networkThread.terminate();
  await service.until(() => ended === "AbortError");
  service.hook = () => undefined;
  service.expire();
  assert.equal((await service.ended(task)).result, 5);
});

test("PeerFailure21: stop ends although the network thread dies", async () => {
  worker.task("echo", ({ value }) => value);
  service.hook = (_, path) => (path.endsWith("/drain") ? new Promise(() => {}) : undefined);
  await worker.start();
  await service.until(() => service.count("/poll") === 1);
  const stopping = worker.stop();
  await service.until(() => service.count("/drain") === 1);
  await worker.networkThread.terminate();
  await stopping;
  await worker.start(); // again
  await worker.networkThread.terminate();
  await worker.stop(); // between two threads
  assert.equal(worker.networkThread, null);
});

test("PeerFailure21: a network thread that dies is replaced after a growing pause", async () => {
  const patient = makeWorker(service.url, { timing: { ...quick, backoffFirst: 0.2, backoffMost: 10 } });
  patient.task("echo", ({ value }) => value);
  await patient.start();
  try {
    for (const least of [100, 200, 400]) {
      await patient.networkThread.terminate();
      const died = Date.now();
      await service.until(() => patient.networkThread !== null);
      assert.ok(Date.now() - died >= least - 20, `${Date.now() - died} ms`);
    }
    service.expire();
    assert.equal((await service.ended(service.submit("echo", { value: 1 }))).result, 1);
  } finally {
    await patient.stop();
  }
});

test("PeerFailure21: handlers that outlive the network thread keep their places", async () => {
  const open = [];
  let most = 0;
  worker.task("hold", ({ waits }) => {
    most = Math.max(most, open.length + 1);
    return waits ? new Promise((done) => open.push(done)) : 1; // deaf to its signal
  });
  const tasks = Array.from({ length: 3 }, () => service.submit("hold", { waits: true }));
  await worker.start();
  await service.until(() => open.length === 3);
  tasks.forEach((task) => (service.tasks.get(task).payload = { waits: false }));
  const frees = [];
  service.hook = (_, path, body) => void (path.endsWith("/poll") && frees.push(body.free));
  await worker.networkThread.terminate();
  service.expire();
  for (const task of tasks) {
    assert.equal((await service.ended(task)).result, 1);
  }
  assert.equal(Math.max(...frees), 1);
  open.forEach((done) => done(2));
  await service.until(() => frees.includes(4));
  assert.equal(most, 4);
});

// A proxy or a service that comes up may refuse what it takes a second later.
test("PeerFailure21: a late refusal of the registration is no end", async () => {
  let isAway = true;
  const refusals = [404, 401, 403, 422];
  service.hook = (method, path) => {
    if (method !== "POST" || path !== "/workers") {
      return undefined;
    }
    return isAway ? "refuse" : refusals.pop();
  };
  worker = makeWorker(service.url, { timing: { ...quick, start: 0.05 } });
  worker.task("echo", ({ value }) => value);
  await worker.start();
  isAway = false;
  const task = service.submit("echo", { value: 1 });
  assert.equal((await service.ended(task)).result, 1);
  assert.deepEqual(refusals, []);
});

test("PeerFailure21: a replaced network thread that is refused tries again", async () => {
  worker.task("echo", ({ value }) => value);
  await worker.start();
  const refusals = [404, 403];
  service.hook = (method, path) => (method === "POST" && path === "/workers" ? refusals.pop() : undefined);
  await worker.networkThread.terminate();
  service.expire();
  const task = service.submit("echo", { value: 1 });
  assert.equal((await service.ended(task)).result, 1);
  assert.deepEqual(refusals, []);
});

test("PeerFailure22: exceptions and refused results strand no task", async () => {
  worker.task("echo", ({ value }) => value);
  worker.task("odd", () => {
    throw "a text"; // eslint-disable-line no-throw-literal
  });
  worker.task("function", () => () => 1);
  worker.task("circle", () => {
    const circle = {};
    circle.circle = circle;
    return circle;
  });
  service.hook = (_, path, body) =>
    path.endsWith("/results") && body.some(({ result }) => result === "bad") ? 422 : undefined;
  const values = ["a", "bad", "b"].map((value) => service.submit("echo", { value }));
  const others = ["odd", "function", "circle"].map((kind) => service.submit(kind, null, { max_attempts: 1 }));
  await worker.start();
  const states = [];
  for (const task of [...values, ...others]) {
    states.push((await service.ended(task)).state);
  }
  assert.deepEqual(states, ["completed", "failed", "completed", "failed", "failed", "failed"]);
});
