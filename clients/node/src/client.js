// SPDX-License-Identifier: MIT
// Submits tasks, waits for them, cancels them. Requests whose answer did not come are repeated for
// `timeout` seconds; a submit is safe to repeat, because each has an idempotency key.
import { randomUUID } from "node:crypto";
import { ServiceError, TaskFailed, WeirError } from "./errors.js";
import { Backoff, errorOf, parse, sleep, Transport } from "./http.js";

const ends = new Set(["completed", "failed", "cancelled"]);
const longestWait = 25;
const mostTasks = 1000;
const mostBytes = 768 * 1024;

export class Client {
  #transport;
  #timeout;

  constructor(url, { token, timeout = 30 } = {}) {
    this.#timeout = timeout;
    this.#transport = new Transport(
      url ?? process.env.WEIR_SERVER ?? "http://127.0.0.1:8080",
      token ?? (process.env.WEIR_TOKEN || undefined),
    );
  }

  // The id of the new task, which is on disk by then. Options are the members of a submit.
  async submit(kind, payload = null, options = {}) {
    const body = { kind, payload, idempotency_key: randomUUID(), ...options };
    return parse(await this.#checked("POST", "/tasks", JSON.stringify(body))).id;
  }

  // Ids in the order of the tasks ({kind, payload, ...}); a ServiceError for each refused one.
  async submitMany(tasks) {
    const key = randomUUID();
    const ids = [];
    let texts = [];
    let size = 0;
    const send = async () => {
      if (texts.length > 0) {
        const { results } = parse(await this.#checked("POST", "/tasks/batch", `[${texts.join(",")}]`));
        ids.push(...results.map(({ id, error }) => (error ? new ServiceError(error.status, error.detail, error.member) : id)));
      }
      texts = [];
      size = 0;
    };
    let index = 0;
    for (const task of tasks) {
      const text = JSON.stringify({ idempotency_key: `${key}/${index}`, ...task });
      index += 1;
      if (texts.length === mostTasks || size + text.length > mostBytes) {
        await send();
      }
      texts.push(text);
      size += text.length + 1;
    }
    await send();
    return ids;
  }

  async get(id) {
    return parse(await this.#checked("GET", path(id)));
  }

  // The task when it has ended; rejects after `timeout` seconds.
  async wait(id, timeout = Infinity) {
    const deadline = performance.now() / 1000 + timeout;
    for (;;) {
      const began = performance.now() / 1000;
      const left = deadline - began;
      const wait = Math.min(longestWait, Math.max(0, left));
      const task = parse(await this.#checked("GET", `${path(id)}?wait=${wait.toFixed(3)}`, undefined, wait));
      if (ends.has(task.state)) {
        return task;
      }
      if (left <= 0) {
        throw new WeirError(`task ${id} is ${task.state} after ${timeout} s`);
      }
      if (performance.now() / 1000 - began < wait * 0.9) {
        await sleep(0.2); // the service shuts down, and answers at once
      }
    }
  }

  // The result of the task when it has completed; rejects with TaskFailed if it does not.
  async result(id, timeout) {
    const task = await this.wait(id, timeout);
    if (task.state !== "completed") {
      throw new TaskFailed(task);
    }
    return task.result;
  }

  // False: the task had ended.
  async cancel(id) {
    const answer = await this.#ask("POST", `${path(id)}/cancel`);
    if (answer.status >= 300 && answer.status !== 409) {
      throw errorOf(answer);
    }
    return answer.status !== 409;
  }

  close() {
    this.#transport.close();
  }

  async #checked(...request) {
    const answer = await this.#ask(...request);
    if (answer.status >= 300) {
      throw errorOf(answer);
    }
    return answer;
  }

  async #ask(method, at, body, wait = 0) {
    const deadline = performance.now() / 1000 + this.#timeout;
    const backoff = new Backoff(0.1, 2);
    for (;;) {
      let problem;
      try {
        const answer = await this.#transport.request(method, at, body, { timeout: wait + 10 });
        if (answer.status !== 503) {
          return answer;
        }
        problem = errorOf(answer);
      } catch (error) {
        problem = error;
      }
      const pause = backoff.next();
      if (performance.now() / 1000 + pause > deadline) {
        throw problem;
      }
      await sleep(pause);
    }
  }
}

function path(id) {
  return `/tasks/${encodeURIComponent(id)}`;
}
