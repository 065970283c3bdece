// SPDX-License-Identifier: MIT
// The responses of the API, as far as the page uses them. /openapi.json has all of them.

export const statuses = [
  "waiting", "scheduled", "pending", "retrying", "running", "cancelling", "completed", "failed", "cancelled",
] as const;
export type Status = (typeof statuses)[number];

export interface Task {
  id: string;
  kind: string;
  state: string;
  status: Status;
  queue: string;
  priority: number;
  payload?: unknown;
  tags: string[];
  flow_key: string | null;
  unique_key: string | null;
  idempotency_key: string | null;
  destination: string | null;
  node: string | null;
  created_at: string;
  due_at: string;
  expires_at?: string | null; // of services that know it
  started_at: string | null;
  finished_at: string | null;
  run: number;
  failures: number;
  crashes: number;
  max_attempts: number;
  progress: number;
  message: string | null;
  result?: unknown;
  error: string | null;
  held_by: string | null;
  attempts?: Attempt[];
  group?: string | null; // of services that know it, so the next ones
  after?: Dependency[];
  children?: string[];
}

export interface Dependency {
  task: string;
  on_failure: string;
  outcome: string;
}

export interface Group {
  id: string;
  name: string | null;
  state: string;
  is_held: boolean;
  sealed: boolean;
  on_failure: string;
  total: number;
  open: number;
  completed: number;
  failed: number;
  cancelled: number;
  callback: string | null;
  callback_task: string | null;
  created_at: string;
  finished_at: string | null;
}

export interface Attempt {
  run: number;
  end: string;
  started_at: string;
  ended_at: string;
  error: string | null;
}

export interface TaskEvent {
  id: string;
  kind: string;
  queue: string;
  state: string;
  status: Status;
  run: number;
  failures: number;
  progress: number;
  message: string | null;
  at: string;
}

export interface Queue {
  name: string;
  is_paused: boolean;
  counts: Record<string, number>;
  due: number;
  limits: Record<string, number>;
}

export interface Schedule {
  name: string;
  cron: string;
  zone: string;
  missed: string;
  overlap?: string; // of services that know it
  is_paused: boolean;
  task: Record<string, unknown>;
  next_slot: string;
  last_slot: string | null;
  last_task: string | null;
}

export interface Node {
  id: string;
  host: string;
  pid: number;
  started_at: string;
  lease_until: string;
  heard_at: string | null;
  is_alive: boolean;
  is_self: boolean;
  running: number;
}

export interface Worker {
  id: string;
  name: string | null;
  sdk: string | null;
  kinds: string[];
  queues: string[]; // empty: all
  started_at: string;
  heard_at: string;
  state: string;
  free: number;
  running: { id: string; run: number; kind: string }[];
}

export interface WorkerKind {
  kind: string;
  due: number;
  running: number;
  workers: number;
}

export interface Host {
  host: string;
  circuit: string;
  retry_after: number;
  in_flight: number;
  waiting: number;
}

export interface Latencies {
  count: number;
  p50: number;
  p90: number;
  p99: number;
}

export interface Stats {
  at: string;
  rates?: Record<string, number>;
  wait?: Latencies;
  run?: Latencies;
  hosts: Host[];
  [name: string]: unknown;
}

// One list for each number, oldest first.
export interface History {
  interval: number;
  at: string[];
  [name: string]: unknown;
}

export interface Hold {
  reason: string;
  text: string;
  until: string | null;
}
