// SPDX-License-Identifier: MIT
// The line above the list: selects tasks, and cancels, retries or deletes those that are selected,
// or all that match the filter.

import { actions, applies, names, performAll, tasksText, type Action } from "./actions";
import type { Filter } from "./address";
import { messageOf } from "./api";
import { element } from "./dom";
import { features } from "./features";
import type { OperationDialog } from "./operation";
import type { QuestionDialog } from "./question";
import type { Selection } from "./selection";
import type { Task } from "./types";

export class BulkBar {
  readonly element: HTMLElement;
  private readonly all = element("input", { type: "checkbox", id: "pick-all" });
  private readonly label = element("span", {}, "Select");
  private readonly status = element("span", { role: "status", class: "quiet", id: "bulk-status" });
  private readonly buttons = new Map<Action, HTMLButtonElement>();
  private readonly matching: HTMLButtonElement;
  private tasks: Task[] = [];
  private filter: Filter = {};

  // Changed: the selection. Done: tasks were changed.
  constructor(
    private readonly selection: Selection,
    private readonly question: QuestionDialog,
    operation: OperationDialog,
    private readonly changed: () => void,
    private readonly done: () => void,
    ...more: HTMLElement[]
  ) {
    for (const action of actions) {
      this.buttons.set(action, element("button", { type: "button", id: `bulk-${action}`, class: action === "delete" ? "danger" : "", hidden: true, click: () => this.act(action) }));
    }
    this.all.addEventListener("change", () => {
      this.selection.set(this.tasks.map((task) => task.id), this.all.checked);
      this.changed();
    });
    this.matching = element("button", { type: "button", id: "bulk-matching", hidden: true, click: () => operation.open(this.filter) }, "All that match…");
    this.element = element(
      "div",
      { class: "bulk", role: "group", "aria-label": "Actions on tasks" },
      element("label", { class: "check" }, this.all, this.label),
      ...this.buttons.values(),
      this.matching,
      this.status,
      ...more,
    );
  }

  // The service may not offer it.
  async load(): Promise<void> {
    this.matching.hidden = !(await features()).has("/operations");
  }

  show(tasks: Task[], filter: Filter): void {
    this.tasks = tasks;
    this.filter = filter;
    const selected = this.selected();
    this.all.checked = tasks.length > 0 && selected.length === tasks.length;
    this.all.indeterminate = selected.length > 0 && selected.length < tasks.length;
    this.all.disabled = tasks.length === 0;
    this.label.textContent = selected.length === 0 ? "Select all shown" : `${selected.length} selected`;
    this.buttons.forEach((button, action) => {
      const number = selected.filter(applies[action]).length;
      button.hidden = selected.length === 0;
      button.disabled = number === 0;
      button.textContent = `${names[action]} ${number}`;
      button.setAttribute("aria-label", `${names[action]} ${tasksText(number)}`);
    });
    // An operation needs a filter, and knows no part of an id.
    this.matching.disabled = filter.id !== undefined;
    if (selected.length > 0) {
      this.say("");
    }
  }

  private selected(): Task[] {
    return this.tasks.filter((task) => this.selection.has(task.id));
  }

  private act(action: Action): void {
    const ids = this.selected().filter(applies[action]).map((task) => task.id);
    if (action !== "delete") {
      void this.perform(action, ids);
      return;
    }
    this.question.open({
      title: [`Delete ${tasksText(ids.length)}?`],
      told: "With their payloads, results and attempts. This cannot be undone.",
      verb: "Delete",
      act: () => this.perform(action, ids),
      back: "pick-all",
    });
  }

  private async perform(action: Action, ids: string[]): Promise<void> {
    try {
      const { text, isBad } = await performAll(action, ids);
      this.selection.clear();
      this.changed();
      this.say(text, isBad);
    } catch (error) {
      this.say(messageOf(error), true);
    }
    this.all.focus();
    this.done();
  }

  private say(text: string, isBad = false): void {
    this.status.textContent = text;
    this.status.className = isBad ? "bad" : "quiet";
  }
}
