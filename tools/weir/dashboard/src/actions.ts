// SPDX-License-Identifier: MIT
// What can be done with tasks, with which of them, and in which words.

import { ask, messageOf } from "./api";
import { count } from "./format";

export const actions = ["cancel", "retry", "delete"] as const;
export type Action = (typeof actions)[number];

interface Judged {
  state: string;
  status: string;
}

const isOver = ({ state }: Judged) => ["completed", "failed", "cancelled"].includes(state);

export const applies: Record<Action, (task: Judged) => boolean> = {
  cancel: (task) => !isOver(task) && task.status !== "cancelling",
  retry: ({ status }) => ["failed", "cancelled", "scheduled", "retrying"].includes(status),
  delete: isOver,
};

export const names: Record<Action, string> = { cancel: "Cancel", retry: "Retry", delete: "Delete" };
const past: Record<Action, string> = { cancel: "cancelled", retry: "to be run again", delete: "deleted" };

export function tasksText(number: number): string {
  return `${count(number)} ${number === 1 ? "task" : "tasks"}`;
}

export function doneText(action: Action, number: number): string {
  return `${tasksText(number)} ${past[action]}.`;
}

export function perform(action: Action, id: string): Promise<unknown> {
  return action === "delete" ? ask("DELETE", `/tasks/${id}`) : ask("POST", `/tasks/${id}/${action}`);
}

// A few at a time. The result says how many were changed, and the first refusal.
export async function performAll(action: Action, ids: string[]): Promise<{ text: string; isBad: boolean }> {
  const left = [...ids];
  const refusals: string[] = [];
  const work = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      await perform(action, id).catch((error: unknown) => refusals.push(messageOf(error)));
    }
  };
  await Promise.all(Array.from({ length: 6 }, work));
  const done = doneText(action, ids.length - refusals.length);
  return refusals.length === 0 ? { text: done, isBad: false } : { text: `${done} ${count(refusals.length)} refused: ${refusals[0]}`, isBad: true };
}
