// SPDX-License-Identifier: MIT
// The list of tasks: filtered by the service, newest first, kept up to date by the feed.

import { ask } from "./api";
import { element, refill, table, words } from "./dom";
import { relative, time } from "./format";
import { statuses, type Task, type TaskEvent } from "./types";

const pageSize = 25;

interface Page {
  tasks: Task[];
  next: string | null; // the path of the page after it
  searched_until: string | null; // older tasks may match: the search has ended early
}

export class TaskList {
  private tasks: Task[] = [];
  private next: string | null = null;
  private searchedUntil: string | null = null;
  private readonly filters: HTMLFormElement;
  private readonly rows = element("div", { "aria-live": "off" });
  private readonly more: HTMLButtonElement;
  private readonly following = element("input", { type: "checkbox", checked: true });
  private readonly clear = element("button", { type: "reset", hidden: true }, "Clear");
  private reloading: number | undefined;
  private requests = 0;
  private wasLoaded = false;

  constructor(
    place: HTMLElement,
    private readonly open: (id: string) => void,
    private readonly failed: (error: unknown) => void,
  ) {
    this.filters = this.makeFilters();
    this.more = element("button", { type: "button", hidden: true, click: () => void this.loadMore() }, "Older ones");
    place.append(this.filters, this.rows, this.more);
    window.setInterval(() => this.show(), 5000); // 'a minute ago' does not stay true
  }

  async load(): Promise<void> {
    const turn = ++this.requests;
    try {
      const page = await ask<Page>("GET", `/tasks?${this.query()}`);
      if (turn === this.requests) {
        this.tasks = page.tasks;
        this.next = page.next;
        this.searchedUntil = page.searched_until;
        this.wasLoaded = true;
        this.show();
      }
    } catch (error) {
      this.failed(error);
    }
  }

  // Visible tasks change at once; a task that is new, or may not match the filter any more, reloads
  // the list, a few times a second at most.
  take(events: TaskEvent[], more: number): void {
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
    if (isOutdated && this.following.checked && this.reloading === undefined && this.tasks.length <= pageSize) {
      this.reloading = window.setTimeout(() => {
        this.reloading = undefined;
        void this.load();
      }, 300);
    }
  }

  private async loadMore(): Promise<void> {
    if (this.next === null) {
      return;
    }
    try {
      const page = await ask<Page>("GET", this.next);
      this.tasks.push(...page.tasks);
      this.next = page.next;
      this.searchedUntil = page.searched_until;
      this.show();
    } catch (error) {
      this.failed(error);
    }
  }

  private query(): string {
    const wanted = new URLSearchParams({ limit: String(pageSize) });
    for (const [name, value] of new FormData(this.filters)) {
      if (value !== "") {
        wanted.set(name, String(value));
      }
    }
    return wanted.toString();
  }

  private makeFilters(): HTMLFormElement {
    const field = (label: string, control: HTMLElement) => element("label", {}, label, control);
    const text = (name: string) => element("input", { name, type: "text", autocomplete: "off", maxlength: 100 });
    const form = element(
      "form",
      { class: "filters", role: "search", "aria-label": "Filter the tasks" },
      field(
        "Status",
        element("select", { name: "status" }, element("option", { value: "" }, "any"), ...statuses.map((status) => element("option", { value: status }, status))),
      ),
      field("Queue", text("queue")),
      field("Kind", text("kind")),
      field("Tag", text("tag")),
      this.clear,
      element("label", { class: "check" }, this.following, "Follow new tasks"),
    );
    this.following.addEventListener("change", () => this.following.checked && void this.load());
    let typing: number | undefined;
    form.addEventListener("input", () => {
      window.clearTimeout(typing);
      typing = window.setTimeout(() => void this.load(), 200);
    });
    form.addEventListener("reset", () => window.setTimeout(() => void this.load()));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.load();
    });
    return form;
  }

  private isFiltered(): boolean {
    return [...new FormData(this.filters).values()].some((value) => value !== "");
  }

  private show(): void {
    this.more.hidden = this.next === null;
    this.more.textContent = this.searchedUntil === null ? "Older ones" : `Search on, before ${time(this.searchedUntil)}`;
    this.clear.hidden = !this.isFiltered();
    if (this.tasks.length === 0) {
      const why = !this.wasLoaded ? "Loading" : this.searchedUntil !== null ? `None so far: searched until ${time(this.searchedUntil)}.` : this.isFiltered() ? "No tasks. None fits the filter." : "No tasks. Submit one above, or with curl as `weir serve` shows it.";
      refill(this.rows, element("p", { class: "quiet" }, why));
      return;
    }
    refill(
      this.rows,
      table(
        "Newest first",
        [{ name: "Task" }, { name: "Kind" }, { name: "Queue" }, { name: "Status" }, { name: "Created" }, { name: "What" }],
        this.tasks.map((task) => [
          element("button", { type: "button", class: "link", id: `task-${task.id}`, click: () => this.open(task.id) }, task.id),
          words(task.kind),
          words(task.queue),
          statusOf(task),
          element("time", { datetime: task.created_at, title: time(task.created_at) }, relative(task.created_at)),
          words((task.error ?? task.message ?? task.held_by ?? "").slice(0, 500), "words"),
        ]),
      ),
    );
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
