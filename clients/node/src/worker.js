// SPDX-License-Identifier: MIT
// The worker: which kinds of tasks it runs, and its life from start to shutdown.
import os from "node:os";
import { Worker as Thread } from "node:worker_threads";
import { Permanent, ServiceError } from "./errors.js";
import { Backoff, Transport } from "./http.js";
import { Job } from "./job.js";
import * as outcome from "./outcome.js";

const defaults = {
  start: 3, // seconds, all of them: start() waits so long for the service's decision
  connect: 5,
  readMargin: 10, // a poll is given up after the service's wait and this
  request: 10,
  backoffFirst: 0.1,
  backoffMost: 10,
  progress: 1, // progress is sent this often at most
  busy: 2, // between heartbeats while no poll is open, by which cancels come
  drain: 25, // for running handlers at shutdown
  grace: 2, // for handlers that were told to stop at shutdown
};

const levels = { debug: 0, info: 1, warn: 2, error: 3 };

export class Worker {
  #handlers = new Map(); // kind -> {handler, timeout, concurrency}
  #jobs = new Map(); // "id/run" -> Job
  #steps = new Map(); // number -> resolve
  #nextStep = 0;
  #finished = []; // results by engine, sent together
  #running = []; // handlers by engine
  #isRunning = false;
  #isStopping = false;
  #thread = null; // also null between two
  #restart; // the timer of the next thread
  #isDeciding = false; // start() waits; later a refusal is a failure like others, and tried again
  #ended = null;
  #settings;

  constructor(url, options = {}) {
    const { token, concurrency = 32, queues = [], name, timing = {}, drain, log } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(`concurrency is ${concurrency}, expected 1 or more`);
    }
    this.#settings = {
      url: url ?? process.env.WEIR_SERVER ?? "http://127.0.0.1:8080",
      token: token ?? (process.env.WEIR_TOKEN || undefined),
      concurrency,
      queues: [...queues],
      name: name ?? `${os.hostname()}/${process.pid}`,
      timing: { ...defaults, ...(drain === undefined ? {} : { drain }), ...timing },
      log: log ?? ((level, message) => levels[level] > 0 && console.error(`${new Date().toISOString()} weir ${level} ${message}`)),
    };
    new Transport(this.#settings.url, this.#settings.token).close(); // an invalid URL is an error here
  }

  // Registers the handler of a kind: async (payload, job) => result. `timeout` is in seconds;
  // `concurrency` is a limit of this kind alone, beside that of the worker.
  task(kind, handler, { timeout, concurrency } = {}) {
    if (typeof kind !== "string" || kind === "" || typeof handler !== "function") {
      throw new TypeError("task(kind, handler): a text and a function");
    }
    if (timeout !== undefined && !(timeout > 0)) {
      throw new RangeError(`task '${kind}': timeout is ${timeout}, expected seconds > 0`);
    }
    if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0)) {
      throw new RangeError(`task '${kind}': concurrency is ${concurrency}, expected 1 or more`);
    }
    if (this.#handlers.has(kind)) {
      throw new Error(`task '${kind}' has a handler already`);
    }
    if (this.#isRunning) {
      throw new Error(`task '${kind}': register handlers before the worker starts`);
    }
    this.#handlers.set(kind, { handler, timeout, concurrency });
    return this;
  }

  // Runs until SIGTERM or SIGINT: then no more tasks are taken, running ones have 25 seconds
  // (`drain`), and the rest is given back. A second signal ends the process at once.
  async run() {
    let signals = 0;
    const onSignal = (signal) => {
      signals += 1;
      this.#settings.log("info", `${signal}: ${signals > 1 ? "ending now" : "no more tasks are taken"}`);
      const number = os.constants.signals[signal];
      if (signals > 1) {
        this.stop(0).finally(() => process.exit(128 + number));
        setTimeout(() => process.exit(128 + number), 5000).unref();
      } else {
        this.stop();
      }
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
    try {
      await this.start();
      await this.#ended.promise;
    } finally {
      process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
    }
  }

  // Begins to take tasks. Rejects with ServiceError if the service refuses this worker; if it does
  // not answer, the worker goes on trying.
  async start() {
    if (this.#isRunning) {
      throw new Error("the worker runs already");
    }
    if (this.#handlers.size === 0) {
      throw new Error("the worker has no handlers: register them with task(kind, handler)");
    }
    this.#isRunning = true;
    this.#isStopping = false;
    this.#ended = {};
    this.#ended.promise = new Promise((resolve) => (this.#ended.resolve = resolve));
    const groups = this.#groups();
    this.#finished = groups.map(() => []);
    this.#running = groups.map(() => 0);
    const { backoffFirst, backoffMost } = this.#settings.timing;
    const backoff = new Backoff(backoffFirst, backoffMost);
    const registered = new Set();
    this.#isDeciding = true;
    await new Promise((resolve, reject) => {
      const decided = () => {
        this.#isDeciding = false;
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(decided, this.#settings.timing.start * 1000);
      this.#startThread(groups, backoff, (message) => {
        if (message.type === "refused") {
          if (this.#isDeciding) {
            this.#isDeciding = false;
            clearTimeout(timer);
            this.stop(0).then(() => reject(new ServiceError(message.status, message.detail)));
          }
        } else if (message.type === "registered") {
          const { kinds, places } = groups[message.engine];
          const what = `runs ${kinds.join(", ")} for ${this.#settings.url}, ${places} at a time`;
          this.#settings.log("info", `worker ${message.id.slice(0, 8)} ${what}`);
          registered.add(message.engine);
          if (registered.size === groups.length) {
            decided();
          }
        } else {
          this.#receive(message);
        }
      });
    });
  }

  // A thread that dies is replaced: its session ends by its lease, so its handlers are stopped, and
  // keep their places until they end.
  #startThread(groups, backoff, receive) {
    const { url, token, timing } = this.#settings;
    const began = performance.now();
    const thread = new Thread(new URL("network.js", import.meta.url), {
      workerData: { url, token, timing, groups: groups.map((each, n) => ({ ...each, strays: this.#running[n] })) },
      execArgv: [], // not the options of the main thread, such as --input-type
    });
    this.#thread = thread;
    thread.on("message", receive);
    thread.on("error", (error) => this.#settings.log("error", `the network's thread failed: ${error.stack}`));
    thread.on("exit", () => {
      if (this.#thread !== thread) {
        return;
      }
      this.#thread = null;
      this.#isDeciding = false;
      this.#jobs.forEach((job) => job.stop(outcome.released));
      this.#steps.forEach((settle) => settle({ lost: true }));
      this.#steps.clear();
      this.#finished.forEach((results) => (results.length = 0));
      if (this.#isStopping) {
        this.#settings.log("error", "the network's thread has ended; the session ends by its lease");
        this.#end();
        return;
      }
      if (performance.now() - began > timing.backoffMost * 1000) {
        backoff.reset();
      }
      this.#settings.log("error", "the network's thread has ended; starting another");
      this.#restart = setTimeout(() => this.#startThread(groups, backoff, receive), backoff.next() * 1000);
    });
  }

  #end() {
    clearTimeout(this.#restart);
    this.#isRunning = false;
    this.#ended.resolve();
  }

  // For tests.
  get networkThread() {
    return this.#thread;
  }

  // One session for the kinds that share the places, and one for each kind with its own.
  #groups() {
    const { name, queues, concurrency } = this.#settings;
    const kinds = [...this.#handlers.keys()].sort();
    const shared = kinds.filter((kind) => this.#handlers.get(kind).concurrency === undefined);
    const groups = shared.length > 0 ? [{ name, queues, kinds: shared, places: concurrency }] : [];
    for (const kind of kinds.filter((each) => !shared.includes(each))) {
      groups.push({ name: `${name} ${kind}`, queues, kinds: [kind], places: this.#handlers.get(kind).concurrency });
    }
    return groups;
  }

  // Takes no more tasks, waits for running ones, and gives the rest back.
  async stop(drain = this.#settings.timing.drain) {
    if (!this.#isRunning) {
      return;
    }
    this.#isStopping = true;
    if (this.#thread === null) {
      this.#end();
    } else {
      this.#thread.postMessage({ type: "shutdown", limit: drain });
    }
    await this.#ended.promise;
  }

  #receive(message) {
    switch (message.type) {
      case "tasks":
        message.tasks.forEach((raw) => this.#begin(raw, message.engine, message.session));
        break;
      case "stop":
        message.keys.forEach((key) => this.#jobs.get(key)?.stop(message.reason));
        break;
      case "step":
        this.#steps.get(message.number)?.(message);
        this.#steps.delete(message.number);
        break;
      case "log":
        this.#settings.log(message.level, message.message);
        break;
      case "ended": {
        // Its timers, such as that of a lease that was just renewed, would keep the process alive.
        const thread = this.#thread;
        this.#thread = null;
        thread.terminate().then(() => this.#end());
        break;
      }
    }
  }

  async #begin(raw, engine, session) {
    const { handler, timeout } = this.#handlers.get(raw.kind) ?? {};
    const job = new Job(raw, this.#link(engine, session), timeout);
    const key = `${raw.id}/${raw.run}`;
    this.#jobs.set(key, job);
    this.#running[engine] += 1;
    let timer;
    if (job.timeLimit < 2 ** 31 / 1000) {
      timer = setTimeout(() => job.stop(outcome.timedOut), job.timeLimit * 1000);
      timer.unref();
    }
    let text;
    try {
      if (handler === undefined) {
        throw new Permanent(`no handler for '${raw.kind}'`);
      }
      text = outcome.completed(job, await handler(raw.payload, job));
    } catch (error) {
      text = outcome.ofError(job, error);
    }
    clearTimeout(timer);
    if (this.#jobs.get(key) === job) {
      this.#jobs.delete(key);
    }
    this.#running[engine] -= 1;
    this.#finish(engine, { id: raw.id, run: raw.run, session, text });
  }

  // Results of handlers that end together go to the network together.
  #finish(engine, result) {
    const results = this.#finished[engine];
    if (results.push(result) === 1) {
      setImmediate(() => {
        this.#finished[engine] = [];
        this.#thread?.postMessage({ type: "finish", engine, results });
      });
    }
  }

  #link(engine, session) {
    return {
      progress: ({ id, run }, fraction, message) =>
        this.#thread?.postMessage({ type: "progress", engine, id, run, fraction, message }),
      keepStep: async (job, name, value) => {
        const text = JSON.stringify(value === undefined ? null : value);
        if (text === undefined) {
          throw new Permanent(`step '${name}': the result is no JSON`);
        }
        const number = (this.#nextStep += 1);
        const answer = await new Promise((resolve) => {
          if (this.#thread === null) {
            resolve({ lost: true });
            return;
          }
          this.#steps.set(number, resolve);
          this.#thread.postMessage({ type: "step", engine, number, id: job.id, run: job.run, session, name, text });
        });
        if (answer.refused !== undefined) {
          throw new Permanent(`step '${name}': ${answer.refused}`);
        }
        if (answer.lost) {
          job.stop(outcome.released);
          throw new DOMException("the task is not ours any more", "AbortError");
        }
        return answer.result;
      },
    };
  }

  // For weir/testing.
  handlerOf(kind) {
    return this.#handlers.get(kind);
  }
}
