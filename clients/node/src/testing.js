// SPDX-License-Identifier: MIT
// Runs handlers without a service, for tests: what the service would do is done here.
import { Permanent } from "./errors.js";
import { Job } from "./job.js";
import * as outcome from "./outcome.js";

// {state, result, error, permanent, retry_after, reason, by, progress, steps}. `steps` are results
// that an earlier run has kept, `cancelAfter` cancels the task after these seconds.
export async function run(worker, kind, payload = null, options = {}) {
  const { steps = {}, cancelAfter, attempt = 1, maxAttempts = 5, ...members } = options;
  const found = worker.handlerOf(kind);
  if (found === undefined) {
    throw new Error(`no handler for '${kind}'`);
  }
  const progress = [];
  const kept = { ...steps };
  const raw = {
    id: "0000000000000", run: 1, kind, queue: "default", tags: [], attempt, max_attempts: maxAttempts,
    payload: JSON.parse(JSON.stringify(payload)), // as it would arrive
    steps: Object.entries(kept).map(([name, result]) => ({ name, result })),
    ...members,
  };
  const link = {
    progress: (_job, fraction, message) => progress.push([fraction, message]),
    keepStep: async (_job, name, value) => {
      const text = JSON.stringify(value === undefined ? null : value);
      if (text === undefined) {
        throw new Permanent(`step '${name}': the result is no JSON`);
      }
      return (kept[name] = JSON.parse(text));
    },
  };
  const job = new Job(raw, link, found.timeout);
  const timers = [];
  const stopAfter = (seconds, reason) => timers.push(setTimeout(() => job.stop(reason), seconds * 1000));
  if (cancelAfter !== undefined) {
    stopAfter(cancelAfter, outcome.cancelled);
  }
  if (found.timeout !== undefined) {
    stopAfter(found.timeout, outcome.timedOut);
  }
  let text;
  try {
    text = outcome.completed(job, await found.handler(raw.payload, job));
  } catch (error) {
    text = outcome.ofError(job, error);
  }
  timers.forEach(clearTimeout);
  const { outcome: state, ...rest } = JSON.parse(text);
  return { ...rest, state, progress, steps: kept };
}
