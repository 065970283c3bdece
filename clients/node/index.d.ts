// SPDX-License-Identifier: MIT
export class WeirError extends Error {}
/** Thrown by a handler: the task has failed, and is not tried again. */
export class Permanent extends WeirError {
  constructor(message?: string);
}
/** Thrown by a handler: this attempt failed; the next begins after `after` seconds, not sooner. */
export class RetryLater extends WeirError {
  constructor(after: number, message?: string);
  readonly after: number;
}
/** Thrown by a handler: run the task again in `by` seconds. No attempt is spent. */
export class Postpone extends WeirError {
  constructor(reason: string, by: number);
  readonly reason: string;
  readonly by: number;
}
export class Unavailable extends WeirError {}
export class ServiceError extends WeirError {
  readonly status: number;
  readonly detail: string;
  readonly member?: string;
}
export class TaskFailed extends WeirError {
  readonly task: Task;
}

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A task that another one came after. */
export interface Dependency {
  readonly task: string;
  readonly onFailure: "cancel" | "run" | "hold";
  readonly outcome: "completed" | "failed" | "cancelled" | "gone";
}

/** One run of a task, as its handler sees it. */
export interface Job<Payload = any> {
  readonly id: string;
  readonly run: number;
  readonly kind: string;
  readonly payload: Payload;
  readonly queue: string;
  /** From 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly isLastAttempt: boolean;
  readonly tags: string[];
  /** The id of the group that the task is a member of. */
  readonly group: string | null;
  /** The tasks that it came after, and how they have ended. */
  readonly after: readonly Dependency[];
  readonly traceparent?: string;
  /** Until the time limit stops the handler. */
  readonly secondsLeft: number;
  /** Aborted when the task is cancelled, its time is over, or the worker shuts down. */
  readonly signal: AbortSignal;
  readonly isCancelled: boolean;
  /** Shown with the task, within a second or so. */
  progress(fraction?: number | null, message?: string): void;
  /** The result of `work()`, kept with the task: a later run gets the kept result. */
  step<Result>(name: string, work: () => Result | Promise<Result>): Promise<Result>;
}

export type Handler<Payload = any> = (payload: Payload, job: Job<Payload>) => unknown;

export interface WorkerOptions {
  /** Default: WEIR_TOKEN. */
  token?: string;
  /** Tasks at a time: 32. */
  concurrency?: number;
  /** Only tasks of these queues. */
  queues?: string[];
  /** What the service shows for this process. */
  name?: string;
  /** Seconds for running handlers at shutdown: 25. */
  drain?: number;
  log?: (level: "debug" | "info" | "warn" | "error", message: string) => void;
}

export interface TaskOptions {
  /** Seconds after which `job.signal` is aborted and the attempt fails. */
  timeout?: number;
  /** A limit of this kind alone, beside that of the worker. */
  concurrency?: number;
}

export class Worker {
  /** `url` defaults to WEIR_SERVER, or http://127.0.0.1:8080. */
  constructor(url?: string, options?: WorkerOptions);
  task<Payload = any>(kind: string, handler: Handler<Payload>, options?: TaskOptions): this;
  /** Runs until SIGTERM or SIGINT, then drains. */
  run(): Promise<void>;
  start(): Promise<void>;
  stop(drain?: number): Promise<void>;
}

export interface Task {
  id: string;
  kind: string;
  queue: string;
  state: "pending" | "running" | "completed" | "failed" | "cancelled";
  status: string;
  result: any;
  error: string | null;
  [member: string]: any;
}

export interface SubmitOptions {
  queue?: string;
  priority?: number;
  delay?: number;
  run_at?: string | Date;
  expires_in?: number;
  expires_at?: string | Date;
  max_attempts?: number;
  timeout?: number;
  idempotency_key?: string;
  unique_key?: string;
  tags?: string[];
  [member: string]: any;
}

export class Client {
  constructor(url?: string, options?: { token?: string; timeout?: number });
  submit(kind: string, payload?: unknown, options?: SubmitOptions): Promise<string>;
  submitMany(tasks: Iterable<{ kind: string; payload?: unknown } & SubmitOptions>): Promise<(string | ServiceError)[]>;
  get(id: string): Promise<Task>;
  wait(id: string, timeout?: number): Promise<Task>;
  result(id: string, timeout?: number): Promise<any>;
  cancel(id: string): Promise<boolean>;
  close(): void;
}
