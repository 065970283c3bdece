// SPDX-License-Identifier: MIT
// A task as its handler sees it.

export class Job {
  #raw;
  #link;
  #steps;
  #controller;

  // `link` takes progress(job, fraction, message) and keepStep(job, name, value).
  constructor(raw, link, timeout) {
    this.#raw = raw;
    this.#link = link;
    this.id = raw.id;
    this.run = raw.run;
    this.kind = raw.kind;
    this.payload = raw.payload;
    this.queue = raw.queue ?? "default";
    this.attempt = raw.attempt ?? 1;
    this.maxAttempts = raw.max_attempts ?? 1;
    this.tags = raw.tags ?? [];
    this.group = raw.group ?? null;
    this.after = (raw.after ?? []).map((each) => ({ task: each.task, onFailure: each.on_failure, outcome: each.outcome }));
    this.traceparent = raw.traceparent;
    this.timeLimit = Math.min(raw.seconds_left ?? Infinity, timeout ?? Infinity);
    this.stopReason = null;
    this.deadline = performance.now() + this.timeLimit * 1000;
  }

  get isLastAttempt() {
    return this.attempt >= this.maxAttempts;
  }

  get secondsLeft() {
    return (this.deadline - performance.now()) / 1000;
  }

  // Aborted when the task is cancelled, its time is over, or the worker shuts down.
  get signal() {
    this.#controller ??= new AbortController();
    if (this.stopReason !== null && !this.#controller.signal.aborted) {
      this.#controller.abort(new DOMException(this.stopReason, "AbortError"));
    }
    return this.#controller.signal;
  }

  get isCancelled() {
    return this.stopReason !== null;
  }

  // Shown with the task, within a second or so.
  progress(fraction, message = "") {
    const share = fraction == null ? undefined : Math.min(1, Math.max(0, Number(fraction)));
    this.#link.progress(this, share, String(message).slice(0, 900));
  }

  // The result of `work()`, kept with the task: a later run gets the kept result and does not call
  // `work`.
  async step(name, work) {
    this.#steps ??= new Map((this.#raw.steps ?? []).map((each) => [each.name, each.result]));
    if (this.#steps.has(name)) {
      return this.#steps.get(name);
    }
    const result = await this.#link.keepStep(this, name, await work());
    this.#steps.set(name, result);
    return result;
  }

  stop(reason) {
    if (this.stopReason === null) {
      this.stopReason = reason;
      if (this.#controller) {
        this.#controller.abort(new DOMException(reason, "AbortError"));
      }
    }
  }
}
