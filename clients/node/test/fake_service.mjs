// SPDX-License-Identifier: MIT
// A service in memory that follows the protocol, and breaks it where a test says so. `hook` gets
// (method, path, body) of each request, and may return "cut" (done, the answer is lost), "refuse"
// (the connection ends before), or a status instead of an answer.
import { createServer } from "node:http";
import { once } from "node:events";

export class FakeService {
  static async start(times = {}) {
    const service = new FakeService();
    service.times = { lease: 1, heartbeat: 0.1, wait: 1, ...times };
    service.server = createServer((request, response) => service.#serve(request, response));
    service.server.listen(0, "127.0.0.1");
    await once(service.server, "listening");
    service.url = `http://127.0.0.1:${service.server.address().port}`;
    return service;
  }

  hook = () => undefined;
  requests = [];
  tasks = new Map();
  sessions = new Map();
  completions = [];
  waiting = new Set();

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async #serve(request, response) {
    const parts = [];
    for await (const part of request) {
      parts.push(part);
    }
    const text = Buffer.concat(parts).toString();
    const body = text ? JSON.parse(text) : null;
    this.requests.push({ method: request.method, path: request.url, body });
    const fault = await this.hook(request.method, request.url, body);
    if (fault === "refuse") {
      request.socket.destroy();
      return;
    }
    const [status, value] =
      typeof fault === "number" ? [fault, { title: "a fault" }] : await this.#answer(request.method, request.url, body);
    if (fault === "cut") {
      request.socket.destroy();
      return;
    }
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(value === undefined ? undefined : JSON.stringify(value));
  }

  changed() {
    const all = [...this.waiting];
    this.waiting.clear();
    all.forEach((wake) => wake());
  }

  submit(kind, payload = null, more = {}) {
    const id = String(this.tasks.size + 1).padStart(13, "0");
    this.tasks.set(id, {
      id, kind, payload, run: 0, attempt: 0, max_attempts: 5, queue: "default", tags: [], steps: [],
      seconds_left: 600, state: "pending", holder: null, outcomes: [], ...more,
    });
    this.changed();
    return id;
  }

  cancel(id) {
    const task = this.tasks.get(id);
    task.cancel = true;
    this.sessions.get(task.holder).news = true;
    this.changed();
  }

  expire() {
    for (const task of this.tasks.values()) {
      if (task.state === "running") {
        Object.assign(task, { state: "pending", holder: null });
      }
    }
    this.sessions.clear();
    this.changed();
  }

  async until(condition, seconds = 10) {
    const deadline = Date.now() + seconds * 1000;
    while (!condition()) {
      if (Date.now() > deadline) {
        throw new Error(`not so after ${seconds} s: ${condition}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async ended(id) {
    await this.until(() => ["completed", "failed", "cancelled"].includes(this.tasks.get(id).state));
    return this.tasks.get(id);
  }

  count(suffix) {
    return this.requests.filter(({ path }) => path.endsWith(suffix)).length;
  }

  async #answer(method, path, body) {
    const [, name, action] = path.split("/").slice(1);
    if (name === undefined) {
      const worker = String(this.requests.length).padStart(32, "0");
      this.sessions.set(worker, { kinds: body.kinds, poll: 0 });
      return [201, { worker, ...this.times }];
    }
    const session = this.sessions.get(name);
    if (session === undefined) {
      return [410, { title: "no such worker" }];
    }
    if (method === "DELETE") {
      this.#held(name).forEach((task) => Object.assign(task, { state: "pending", holder: null }));
      this.sessions.delete(name);
      this.changed();
      return [204];
    }
    const actions = {
      poll: () => this.#poll(name, session, body),
      heartbeat: () => this.#heartbeat(name, session, body),
      results: () => [200, body.map((result) => this.#settle(name, result))],
      steps: () => this.#step(name, body),
      drain: () => {
        session.drain = true;
        this.changed();
        return [204];
      },
    };
    return actions[action]();
  }

  #held(name) {
    return [...this.tasks.values()].filter((task) => task.holder === name);
  }

  async #poll(name, session, { poll, free, wait }) {
    if (poll < session.poll) {
      return [409, { title: "an older poll" }];
    }
    if (poll === session.poll) {
      const tasks = this.#held(name).filter((task) => task.poll === poll);
      return tasks.length > 0 ? [200, { tasks }] : [204];
    }
    session.poll = poll;
    const deadline = Date.now() + wait * 1000;
    for (;;) {
      if (this.sessions.get(name) !== session) {
        return [410, { title: "over" }];
      }
      if (session.poll !== poll || session.drain || session.news) {
        session.news = false;
        return [204];
      }
      const due = [...this.tasks.values()].filter(({ state, kind }) => state === "pending" && session.kinds.includes(kind));
      if (due.length > 0) {
        const tasks = due.slice(0, free);
        for (const task of tasks) {
          task.run += 1;
          task.attempt += 1;
          Object.assign(task, { state: "running", holder: name, poll });
        }
        return [200, { tasks }];
      }
      const left = deadline - Date.now();
      if (left <= 0) {
        return [204];
      }
      await new Promise((resolve) => {
        this.waiting.add(resolve);
        setTimeout(resolve, left).unref(); // a test that has ended does not wait for it
      });
    }
  }

  #heartbeat(name, session, { running, answered_poll: answered }) {
    const cancel = [];
    const lost = [];
    for (const { id, run, progress, message } of running) {
      const task = this.tasks.get(id);
      if (task?.holder !== name || task.run !== run) {
        lost.push({ id, run });
        continue;
      }
      Object.assign(task, { progress, message });
      if (task.cancel) {
        cancel.push({ id, run });
      }
    }
    for (const task of this.#held(name)) {
      if (task.poll <= answered && !running.some(({ id }) => id === task.id)) {
        Object.assign(task, { state: "pending", holder: null });
      }
    }
    return [200, { cancel, lost, state: session.drain ? "drain" : "ok" }];
  }

  #settle(name, result) {
    const task = this.tasks.get(result.id);
    if (task.outcomes.includes(JSON.stringify(result))) {
      return { accepted: true };
    }
    if (task.holder !== name || task.run !== result.run) {
      return { accepted: false, why: "not held" };
    }
    task.outcomes.push(JSON.stringify(result));
    task.holder = null;
    if (result.outcome === "completed") {
      this.completions.push(task.id);
      Object.assign(task, { state: "completed", result: result.result });
    } else if (result.outcome === "cancelled") {
      task.state = "cancelled";
    } else if (result.outcome === "failed") {
      task.error = result.error;
      task.state = result.permanent || task.attempt >= task.max_attempts ? "failed" : "pending";
    } else {
      task.state = "pending";
      task.attempt -= 1;
    }
    this.changed();
    return { accepted: true };
  }

  #step(name, { id, run, name: step, result }) {
    const task = this.tasks.get(id);
    if (task.holder !== name || task.run !== run) {
      return [409, { title: "not running" }];
    }
    const known = task.steps.find((each) => each.name === step);
    if (known === undefined) {
      task.steps.push({ name: step, result });
    }
    return [200, { result: (known ?? { result }).result }];
  }
}
