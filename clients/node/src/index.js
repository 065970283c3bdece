// SPDX-License-Identifier: MIT
export { Client } from "./client.js";
export { Permanent, Postpone, RetryLater, ServiceError, TaskFailed, Unavailable, WeirError } from "./errors.js";
export { Job } from "./job.js";
export { Worker } from "./worker.js";
