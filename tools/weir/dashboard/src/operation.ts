// SPDX-License-Identifier: MIT
// The dialog that changes all tasks that match the filter: counts them first, then shows the
// progress, and can be stopped.

import { actions, doneText, names, tasksText, type Action } from "./actions";
import type { Filter } from "./address";
import { ask, messageOf } from "./api";
import { dialogById, element } from "./dom";
import { count } from "./format";

interface Operation {
  id: string;
  state: string;
  matched: number;
  changed: number;
  skipped?: number;
  error?: string | null;
}

const possible: Record<Action, string> = { cancel: "can be cancelled", retry: "can be run again", delete: "have ended and can be deleted" };
const pollInterval = 300; // milliseconds

export class OperationDialog {
  private readonly dialog = dialogById("operation");
  private readonly told = element("p", { id: "operation-told" });
  private readonly status = element("p", { role: "status" });
  private readonly trouble = element("p", { role: "alert", class: "bad" });
  private readonly progress = element("progress", { "aria-label": "Progress", hidden: true });
  private readonly choice = element("select", { id: "operation-action" }, ...actions.map((action) => element("option", { value: action }, names[action])));
  private readonly start = element("button", { type: "button", id: "operation-start", class: "danger", click: () => void this.run() });
  private readonly stop = element("button", { type: "button", id: "operation-stop", hidden: true, click: () => void this.halt() }, "Stop");
  private readonly close = element("button", { type: "button", id: "operation-close", click: () => this.dialog.close() }, "Close");
  private filter: Filter = {};
  private running: string | undefined; // the id of the operation
  private counted = 0; // by the dry run
  private turn = 0;

  constructor(private readonly done: () => void) {
    this.choice.addEventListener("change", () => void this.count());
    this.dialog.append(
      element("h2", { id: "operation-title" }, "All tasks that match"),
      this.told,
      element("label", {}, "Action", this.choice),
      this.status,
      this.progress,
      this.trouble,
      element("p", { class: "actions" }, this.close, this.start, this.stop),
    );
    this.dialog.addEventListener("close", () => {
      ++this.turn; // the operation goes on, unless it was stopped
      document.getElementById("bulk-matching")?.focus();
      this.done();
    });
  }

  open(filter: Filter): void {
    this.filter = filter;
    const words = Object.entries(filter).map(([name, value]) => `${name.replace("_", " ")} ${value}`);
    this.told.textContent = words.length === 0 ? "All tasks: the list has no filter." : `Filter: ${words.join(", ")}.`;
    this.running = undefined;
    this.show(undefined);
    this.dialog.showModal();
    void this.count();
  }

  private post(isDryRun: boolean): Promise<Operation> {
    const hasFilter = Object.keys(this.filter).length > 0;
    return ask<Operation>("POST", "/operations", { action: this.choice.value, filter: this.filter, dry_run: isDryRun, all: hasFilter ? undefined : true });
  }

  private action(): Action {
    return this.choice.value as Action;
  }

  private async count(): Promise<void> {
    const turn = ++this.turn;
    this.start.disabled = true;
    this.start.textContent = names[this.action()];
    this.trouble.textContent = "";
    this.status.textContent = "Counting";
    try {
      const counted = await this.follow(await this.post(true), turn);
      if (counted !== undefined && turn === this.turn) {
        this.counted = counted.matched;
        this.start.disabled = counted.matched === 0;
        this.start.textContent = `${names[this.action()]} ${tasksText(counted.matched)}`;
        this.status.textContent = `${tasksText(counted.matched)} of the list ${possible[this.action()]}.`;
      }
    } catch (error) {
      this.complain(error, turn);
    }
  }

  private async run(): Promise<void> {
    const turn = ++this.turn;
    this.trouble.textContent = "";
    try {
      const begun = await this.post(false);
      this.running = begun.id;
      this.show(begun);
      this.stop.focus();
      const ended = await this.follow(begun, turn);
      if (ended !== undefined && turn === this.turn) {
        this.running = undefined;
        this.show(ended);
        const words = ended.state === "stopped" ? "Stopped. " : "";
        const skipped = ended.skipped ? ` ${count(ended.skipped)} had changed meanwhile.` : "";
        this.status.textContent = words + doneText(this.action(), ended.changed) + skipped;
        this.trouble.textContent = ended.error ?? "";
        this.close.focus();
      }
    } catch (error) {
      this.complain(error, turn);
    }
  }

  private async halt(): Promise<void> {
    try {
      await ask("DELETE", `/operations/${this.running}`);
    } catch (error) {
      this.complain(error, this.turn);
    }
  }

  // Until it has ended, or another one is shown.
  private async follow(operation: Operation, turn: number): Promise<Operation | undefined> {
    let last = operation;
    while (last.state === "running" || last.state === "pending") {
      await new Promise((resolve) => window.setTimeout(resolve, pollInterval));
      if (turn !== this.turn) {
        return undefined;
      }
      last = await ask<Operation>("GET", `/operations/${operation.id}`);
      if (this.running !== undefined && turn === this.turn) {
        this.show(last);
      }
    }
    return last;
  }

  private show(operation: Operation | undefined): void {
    const isRunning = this.running !== undefined;
    this.choice.disabled = isRunning;
    this.start.hidden = operation !== undefined;
    this.stop.hidden = !isRunning;
    this.progress.hidden = !isRunning;
    if (operation !== undefined && isRunning) {
      // The count of the dry run: a running operation knows those that it has found so far.
      this.progress.max = Math.max(this.counted, operation.changed, 1);
      this.progress.value = operation.changed;
      this.status.textContent = `${count(operation.changed)} of ${count(this.progress.max)}`;
    }
  }

  private complain(error: unknown, turn: number): void {
    if (turn === this.turn) {
      this.running = undefined;
      this.show(undefined);
      this.status.textContent = "";
      this.trouble.textContent = messageOf(error);
    }
  }
}
