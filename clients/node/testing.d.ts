// SPDX-License-Identifier: MIT
import type { Worker } from "./index.js";

export interface Outcome {
  state: "completed" | "failed" | "postponed" | "cancelled" | "released";
  result?: any;
  error?: string;
  permanent?: boolean;
  retry_after?: number;
  reason?: string;
  by?: number;
  progress: [number | undefined, string][];
  steps: Record<string, any>;
}

/** Runs the handler of a kind to its end, without a service. */
export function run(
  worker: Worker,
  kind: string,
  payload?: unknown,
  options?: { steps?: Record<string, any>; cancelAfter?: number; attempt?: number; maxAttempts?: number },
): Promise<Outcome>;
