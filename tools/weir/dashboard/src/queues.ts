// SPDX-License-Identifier: MIT
// The table of queues: counts that lead to their tasks, limits, pauses.

import { addressOf, type Filter } from "./address";
import { ask } from "./api";
import { byId, element, numberOf, refill, table, words } from "./dom";
import { count } from "./format";
import { limitsText } from "./limits";
import type { QuestionDialog } from "./question";
import { tasksText } from "./actions";
import type { Queue } from "./types";

export function queuePath(name: string): string {
  return `/queues/${encodeURIComponent(name)}`;
}

const columns = ["pending", "running", "completed", "failed", "cancelled"];

export class QueueTable {
  private readonly place = byId("queues");
  private queues: Queue[] = [];

  constructor(
    private readonly question: QuestionDialog,
    private readonly edit: (queue: Queue) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  async load(): Promise<void> {
    this.show((await ask<{ queues: Queue[] }>("GET", "/queues")).queues);
  }

  show(queues: Queue[]): void {
    this.queues = queues;
    const sorted = [...queues].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    byId("queue-count").textContent = queues.length > 1 ? count(queues.length) : "";
    refill(byId("queue-names"), ...sorted.slice(0, 200).map((queue) => element("option", { value: queue.name })));
    if (queues.length === 0) {
      refill(this.place, element("p", { class: "quiet" }, "None yet: the first task makes one."));
      return;
    }
    const capital = (name: string) => name.replace(/^./, (letter) => letter.toUpperCase());
    refill(
      this.place,
      element(
        "div",
        { class: "scroll", role: "region", tabindex: 0, "aria-label": "Queues" },
        table(
          "Tasks by queue",
          [{ name: "Queue" }, ...columns.map((name) => ({ name: capital(name), isNumber: true })), { name: "Limits" }, { name: "Edit, pause or delete", isAction: true }],
          sorted.map((queue) => [
            element("span", { class: "named" }, this.link({ queue: queue.name }, words(queue.name)), queue.is_paused && element("span", { class: "badge paused" }, "paused")),
            ...columns.map((state) => this.counted(queue, state)),
            words(limitsText(queue.limits), "quiet limits"),
            this.buttons(queue),
          ]),
        ),
      ),
    );
  }

  private link(filter: Filter, content: HTMLElement | string, label?: string): HTMLElement {
    return element("a", { href: addressOf("tasks", filter), "aria-label": label }, content);
  }

  private counted(queue: Queue, state: string): HTMLElement {
    const value = queue.counts[state] ?? 0;
    return value === 0 ? numberOf(0) : this.link({ queue: queue.name, state }, count(value), `${tasksText(value)} ${state} in the queue ${queue.name}`);
  }

  private buttons(queue: Queue): HTMLElement {
    const button = (id: string, name: string, click: () => void) =>
      element("button", { type: "button", id: `${id}-${queue.name}`, "aria-label": `${name} the queue ${queue.name}`, click }, name);
    const verb = queue.is_paused ? "resume" : "pause";
    const pause = () =>
      void ask("POST", `${queuePath(queue.name)}/${verb}`)
        .then(() => this.load())
        .catch((error: unknown) => this.failed(error));
    return element(
      "span",
      { class: "pair" },
      button("edit", "Edit", () => this.open(queue.name)),
      button("pause", queue.is_paused ? "Resume" : "Pause", pause),
      button("delete", "Delete", () => void this.remove(queue.name)),
    );
  }

  // Buttons that look the same are kept, with their listeners: these know the name, not the limits.
  private open(name: string): void {
    const queue = this.queues.find((each) => each.name === name);
    if (queue !== undefined) {
      this.edit(queue);
    }
  }

  // Asks for the counts: those of the page may be a second old. Pending tasks are deleted only if
  // the dialog has said so: the service refuses others.
  private async remove(name: string): Promise<void> {
    try {
      const { counts } = await ask<Queue>("GET", queuePath(name));
      const { pending = 0, completed = 0, failed = 0, cancelled = 0 } = counts;
      const tasks = (number: number, kind: string) => `${count(number)} ${kind} ${number === 1 ? "task" : "tasks"}`;
      const lost = [pending > 0 && tasks(pending, "pending"), tasks(completed + failed + cancelled, "ended")].filter((each) => each !== false);
      this.question.open({
        title: ["Delete the queue ", words(name, ""), "?"],
        told: `Its limits and ${lost.join(" and ")} are deleted with it. This cannot be undone.`,
        verb: "Delete",
        act: () => ask("DELETE", `${queuePath(name)}${pending > 0 ? "?force=true" : ""}`).then(() => this.load()),
        back: `delete-${name}`,
      });
    } catch (error) {
      this.failed(error);
    }
  }
}
