// SPDX-License-Identifier: MIT
// What a run comes to, as the JSON that the service gets.
import { Permanent, Postpone, RetryLater } from "./errors.js";

const mostError = 3900;

// Why a handler was told to stop.
export const cancelled = "cancelled";
export const timedOut = "timeout";
export const released = "released";

function text(job, members) {
  return JSON.stringify({ id: job.id, run: job.run, ...members });
}

export function completed(job, value) {
  try {
    const result = JSON.stringify(value === undefined ? null : value);
    if (result === undefined) {
      return failed(job, `the result is no JSON: a ${typeof value}`, { permanent: true });
    }
    return `{"id":${JSON.stringify(job.id)},"run":${job.run},"outcome":"completed","result":${result}}`;
  } catch (error) {
    // Another attempt would do the work again, and return no better value.
    return failed(job, `the result is no JSON: ${error.message}`, { permanent: true });
  }
}

export function failed(job, error, more = {}) {
  return text(job, { outcome: "failed", error: cut(error), ...more });
}

export function of(job, outcome) {
  return text(job, { outcome });
}

// The outcome of a handler that threw. Once it was told to stop, that is the reason.
export function ofError(job, error) {
  if (error instanceof Permanent) {
    return failed(job, error.message || "Permanent", { permanent: true });
  }
  if (job.stopReason === timedOut) {
    return failed(job, `timed out after ${job.timeLimit} s`);
  }
  if (job.stopReason !== null) {
    return of(job, job.stopReason);
  }
  if (error instanceof RetryLater) {
    return failed(job, error.message, { retry_after: error.after });
  }
  if (error instanceof Postpone) {
    return text(job, { outcome: "postponed", reason: cut(error.reason), by: error.by });
  }
  return failed(job, error instanceof Error ? (error.stack ?? String(error)) : String(error));
}

function cut(message) {
  const data = Buffer.from(String(message));
  return data.length <= mostError ? data.toString() : `${data.subarray(0, mostError).toString()} ...`;
}
