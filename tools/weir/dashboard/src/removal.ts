// SPDX-License-Identifier: MIT
// The dialog that asks before a queue is deleted, and says what goes with it.

import { ask, messageOf } from "./api";
import { dialogById, element, refill, words } from "./dom";
import { count } from "./format";
import type { Queue } from "./types";

export class QueueRemoval {
  private readonly dialog = dialogById("removal");
  private readonly title = element("h2", { id: "removal-title" });
  private readonly told = element("p", { id: "removal-told" });
  private readonly trouble = element("p", { role: "alert", class: "bad" });
  private queue: Queue | undefined;

  constructor(
    private readonly failed: (error: unknown) => void,
    private readonly removed: () => void,
  ) {
    this.dialog.append(
      this.title,
      this.told,
      this.trouble,
      element(
        "p",
        { class: "actions" },
        element("button", { type: "button", id: "keep-queue", autofocus: true, click: () => this.dialog.close() }, "Keep"),
        element("button", { type: "button", id: "remove-queue", class: "danger", click: () => void this.remove() }, "Delete"),
      ),
    );
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => document.getElementById(`delete-${this.queue?.name}`)?.focus());
  }

  // Asks for the counts: those of the page may be a second old.
  async open(name: string): Promise<void> {
    try {
      this.show(await ask<Queue>("GET", pathOf(name)));
      this.dialog.showModal();
    } catch (error) {
      this.failed(error);
    }
  }

  private show(queue: Queue): void {
    this.queue = queue;
    const { pending = 0, completed = 0, failed = 0, cancelled = 0 } = queue.counts;
    const tasks = (number: number, kind: string) => `${count(number)} ${kind} ${number === 1 ? "task" : "tasks"}`;
    const lost = [pending > 0 && tasks(pending, "pending"), tasks(completed + failed + cancelled, "ended")].filter((each) => each !== false);
    refill(this.title, "Delete the queue ", words(queue.name, ""), "?");
    this.told.textContent = `Its limits and ${lost.join(" and ")} are deleted with it. This cannot be undone.`;
    this.trouble.textContent = "";
  }

  // Pending tasks are deleted only if the dialog has said so: the service refuses others.
  private async remove(): Promise<void> {
    const queue = this.queue;
    if (queue === undefined) {
      return;
    }
    try {
      await ask("DELETE", `${pathOf(queue.name)}${(queue.counts.pending ?? 0) > 0 ? "?force=true" : ""}`);
      this.dialog.close();
      this.removed();
    } catch (error) {
      this.trouble.textContent = messageOf(error); // here: elements behind a dialog are not visible
    }
  }
}

function pathOf(name: string): string {
  return `/queues/${encodeURIComponent(name)}`;
}
