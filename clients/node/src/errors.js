// SPDX-License-Identifier: MIT
// Errors: those that handlers throw to say what becomes of a task, and those of the client.

export class WeirError extends Error {
  constructor(message) {
    super(message);
    this.name = this.constructor.name;
  }
}

// Thrown by a handler: the task has failed, and is not tried again.
export class Permanent extends WeirError {}

// Thrown by a handler: this attempt failed; the next begins after `after` seconds, not sooner.
export class RetryLater extends WeirError {
  constructor(after, message) {
    super(message ?? `retry after ${after} s`);
    this.after = checkSeconds("RetryLater", after);
  }
}

// Thrown by a handler: run the task again in `by` seconds. No attempt is spent.
export class Postpone extends WeirError {
  constructor(reason, by) {
    super(reason);
    this.reason = String(reason);
    this.by = checkSeconds("Postpone", by);
  }
}

// No answer from the service: the connection was refused, cut, or silent for too long.
export class Unavailable extends WeirError {}

// The service refused a request.
export class ServiceError extends WeirError {
  constructor(status, detail, member) {
    super(`${status}: ${detail}`);
    this.status = status;
    this.detail = detail;
    this.member = member;
  }
}

// Client.result(): the task has failed, or was cancelled.
export class TaskFailed extends WeirError {
  constructor(task) {
    super(`task ${task.id} ${task.state}: ${task.error}`);
    this.task = task;
  }
}

function checkSeconds(what, seconds) {
  if (!(seconds >= 0 && seconds < Infinity)) {
    throw new RangeError(`${what}: ${seconds} is not a number of seconds >= 0`);
  }
  return Number(seconds);
}
