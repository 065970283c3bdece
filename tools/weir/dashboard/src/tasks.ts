// SPDX-License-Identifier: MIT
// The list of tasks: filtered by the service, newest first, kept up to date by the feed.

import type { Filter } from "./address";
import { ask } from "./api";
import { BulkBar } from "./bulk";
import { element, refill, table, timeOf, words } from "./dom";
import { FilterForm } from "./filter";
import { localTime } from "./format";
import { endOfPrefix, isIdPrefix } from "./id_range";
import { OperationDialog } from "./operation";
import type { QuestionDialog } from "./question";
import { Selection } from "./selection";
import type { Task, TaskEvent } from "./types";

const pageSize = 25;

interface Page {
  tasks: Task[];
  next: string | null; // the path of the page after it
  searched_until: string | null; // older tasks may match: the search has ended early
}

const emptyPage: Page = { tasks: [], next: null, searched_until: null };

export class TaskList {
  private tasks: Task[] = [];
  private next: string | null = null;
  private searchedUntil: string | null = null;
  private filter: Filter = {};
  private readonly form = new FilterForm();
  private readonly selection = new Selection();
  private readonly bulk: BulkBar;
  private readonly rows = element("div", { "aria-live": "off" });
  private readonly more = element("button", { type: "button", hidden: true, click: () => void this.loadMore() });
  private readonly following = element("input", { type: "checkbox", checked: true });
  private reloading: number | undefined;
  private requests = 0;
  private wasLoaded = false;

  constructor(
    place: HTMLElement,
    question: QuestionDialog,
    private readonly open: (id: string) => void,
    private readonly failed: (error: unknown) => void,
  ) {
    const operation = new OperationDialog(() => this.reload());
    this.bulk = new BulkBar(
      this.selection,
      question,
      operation,
      () => this.show(),
      () => this.reload(),
      element("label", { class: "check follow" }, this.following, "Follow new tasks"),
    );
    this.following.addEventListener("change", () => this.following.checked && this.reload());
    this.rows.addEventListener("click", (event) => this.pick(event as PointerEvent));
    place.append(this.form.element, this.bulk.element, this.rows, this.more);
  }

  // The filter of the address.
  setFilter(filter: Filter): void {
    const isSame = JSON.stringify(filter) === JSON.stringify(this.filter);
    this.filter = filter;
    this.form.show(filter);
    if (!isSame) {
      this.selection.clear();
      this.reload();
    }
  }

  async load(): Promise<void> {
    const turn = ++this.requests;
    const page = await this.firstPage();
    if (turn === this.requests) {
      this.tasks = [];
      this.take(page);
    }
    await this.bulk.load();
  }

  private reload(): void {
    this.load().catch((error: unknown) => this.failed(error));
  }

  // Visible tasks change at once; a task that is new, or may not match the filter any more, reloads
  // the list, a few times a second at most, unless the user has selected tasks of it.
  hear(events: TaskEvent[], more: number): void {
    let isOutdated = more > 0;
    for (const event of events) {
      const shown = this.tasks.find((task) => task.id === event.id);
      if (shown === undefined) {
        isOutdated = true;
      } else {
        isOutdated ||= shown.status !== event.status;
        Object.assign(shown, { status: event.status, state: event.state, progress: event.progress, message: event.message, failures: event.failures });
      }
    }
    this.show();
    if (isOutdated && this.following.checked && this.selection.size === 0 && this.reloading === undefined && this.tasks.length <= pageSize) {
      this.reloading = window.setTimeout(() => {
        this.reloading = undefined;
        this.reload();
      }, 300);
    }
  }

  private firstPage(): Promise<Page> {
    const { id = "", ...others } = this.filter;
    const query = new URLSearchParams({ ...others, limit: String(pageSize) });
    if (id !== "") {
      if (!isIdPrefix(id)) {
        return Promise.resolve(emptyPage);
      }
      const cursor = endOfPrefix(id);
      if (cursor !== undefined) {
        query.set("cursor", cursor);
      }
    }
    return ask<Page>("GET", `/tasks?${query}`);
  }

  private async loadMore(): Promise<void> {
    if (this.next === null) {
      return;
    }
    try {
      this.take(await ask<Page>("GET", this.next));
    } catch (error) {
      this.failed(error);
    }
  }

  // Below the ids with the beginning that is searched for, others follow.
  private take(page: Page): void {
    const prefix = (this.filter.id ?? "").toLowerCase();
    const fitting = page.tasks.filter((task) => task.id.startsWith(prefix));
    const isOver = fitting.length < page.tasks.length;
    this.tasks.push(...fitting);
    this.next = isOver ? null : page.next;
    this.searchedUntil = isOver ? null : page.searched_until;
    this.wasLoaded = true;
    this.show();
  }

  private pick(event: PointerEvent): void {
    const box = event.target;
    if (box instanceof HTMLInputElement && box.classList.contains("pick")) {
      this.selection.pick(box.value, box.checked, event.shiftKey, this.tasks.map((task) => task.id));
      this.show();
    }
  }

  private emptyText(): string {
    if (!this.wasLoaded) {
      return "Loading";
    }
    if (this.filter.id !== undefined && !isIdPrefix(this.filter.id)) {
      return `No tasks. '${this.filter.id}' begins no id: ids have 13 digits and letters, without i, l, o and u, and begin with 0 to 7.`;
    }
    if (this.searchedUntil !== null) {
      return `None so far: searched until ${localTime(this.searchedUntil)}.`;
    }
    return Object.keys(this.filter).length > 0 ? "No tasks. None fits the filter." : "No tasks. Submit one with ‘New task’, or with curl as `weir serve` shows it.";
  }

  private show(): void {
    this.selection.keepOnly(this.tasks.map((task) => task.id));
    this.more.hidden = this.next === null;
    this.more.textContent = this.searchedUntil === null ? "Older ones" : `Search on, before ${localTime(this.searchedUntil)}`;
    this.bulk.show(this.tasks, this.filter);
    if (this.tasks.length === 0) {
      refill(this.rows, element("p", { class: "quiet" }, this.emptyText()));
      return;
    }
    refill(
      this.rows,
      table(
        "Newest first",
        [{ name: "Select", isAction: true }, { name: "Task" }, { name: "Kind" }, { name: "Queue" }, { name: "Status" }, { name: "Created" }, { name: "What" }],
        this.tasks.map((task) => [
          element("input", { type: "checkbox", class: "pick", id: `pick-${task.id}`, value: task.id, "aria-label": `Select task ${task.id}` }),
          element("button", { type: "button", class: "link", id: `task-${task.id}`, click: () => this.open(task.id) }, task.id),
          words(task.kind),
          words(task.queue),
          statusOf(task),
          timeOf(task.created_at),
          words((task.error ?? task.message ?? task.held_by ?? "").slice(0, 500), "words"),
        ]),
      ),
    );
    for (const box of this.rows.querySelectorAll<HTMLInputElement>("input.pick")) {
      box.checked = this.selection.has(box.value);
      box.closest("tr")?.classList.toggle("selected", box.checked);
    }
  }
}

export function statusOf(task: { status: string; progress: number }): HTMLElement {
  const isRunning = task.status === "running" || task.status === "cancelling";
  return element(
    "span",
    { class: "status" },
    element("span", { class: `badge ${task.status}` }, task.status),
    isRunning && task.progress > 0 && element("progress", { value: task.progress, max: 1, "aria-label": "Progress" }),
  );
}
