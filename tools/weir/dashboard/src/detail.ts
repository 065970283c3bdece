// SPDX-License-Identifier: MIT
// One task: its settings, why it does not run, its attempts as a timeline, and the available
// actions.

import { applies, names, perform, type Action } from "./actions";
import { addressOf, leaveTask } from "./address";
import { ApiError, ask, messageOf } from "./api";
import { byId, dialogById, element, refill, timeOf, words } from "./dom";
import { duration, relative } from "./format";
import type { QuestionDialog } from "./question";
import { statusOf } from "./tasks";
import type { Hold, Task, TaskEvent } from "./types";

export class Detail {
  private readonly dialog = dialogById("detail");
  private readonly title = element("h2", { id: "detail-title" });
  private readonly status = element("p", { role: "status", class: "status" }); // stays, so that changes are read out
  private readonly trouble = element("p", { role: "alert", class: "bad", hidden: true });
  private readonly content = element("div");
  private shown: string | undefined;
  private reloading: number | undefined;
  private turn = 0; // of the newest load: the answers of older ones are dropped
  private loading: Promise<unknown> = Promise.resolve();
  private isLeaving = false; // the task is being deleted

  // The task that is shown and followed, or undefined.
  constructor(
    private readonly question: QuestionDialog,
    private readonly failed: (error: unknown) => void,
    private readonly followed: (id: string | undefined) => void,
  ) {
    const close = element("button", { type: "button", id: "close-detail", click: () => this.dialog.close() }, "Close");
    this.dialog.append(element("header", {}, this.title, close), this.status, this.trouble, this.content);
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => {
      const id = this.shown;
      this.shown = undefined;
      this.followed(undefined);
      leaveTask();
      // The list may have been rebuilt meanwhile: the button that opened this dialog may be another
      // element.
      const openers = ["task", "node", "runs", "works"].map((each) => document.getElementById(`${each}-${id}`));
      (openers.find((each) => each !== null && each.getClientRects().length > 0) ?? byId("tasks")).focus();
    });
  }

  // The task of the address, or none.
  show(id: string | undefined): void {
    if (id === undefined) {
      this.dialog.close();
    } else if (id !== this.shown) {
      this.open(id);
    }
  }

  private open(id: string): void {
    this.shown = id;
    this.followed(id);
    refill(this.title, "Task ", element("code", {}, id));
    refill(this.status, "Loading");
    refill(this.content);
    this.trouble.hidden = true;
    if (!this.dialog.open) {
      this.dialog.showModal();
    }
    void this.load();
  }

  // The feed has all changes from now on: this loads what came before.
  hasSubscribed(): void {
    void this.load();
  }

  // A few times a second at most.
  take(events: TaskEvent[]): void {
    if (this.shown !== undefined && this.reloading === undefined && events.some((event) => event.id === this.shown)) {
      this.reloading = window.setTimeout(() => {
        this.reloading = undefined;
        void this.load();
      }, 150);
    }
  }

  private load(): Promise<unknown> {
    this.loading = Promise.all([this.loading, this.loadNow()]);
    return this.loading;
  }

  private async loadNow(): Promise<void> {
    const id = this.shown;
    if (id === undefined || this.isLeaving) {
      return;
    }
    const turn = ++this.turn;
    try {
      const task = await ask<Task>("GET", `/tasks/${id}`);
      const isWaiting = task.state === "pending";
      const why = isWaiting ? (await ask<{ reasons: Hold[] }>("GET", `/tasks/${id}/why`)).reasons : [];
      if (this.shown === id && this.turn === turn) {
        this.render(task, why);
      }
    } catch (error) {
      this.complain(error);
    }
  }

  // Nothing is loaded meanwhile: it would find the task gone.
  private async remove(id: string): Promise<void> {
    this.isLeaving = true;
    try {
      await this.loading;
      await perform("delete", id);
      this.dialog.close();
    } finally {
      this.isLeaving = false;
    }
  }

  // Errors are shown here: elements behind a dialog are not visible.
  private complain(error: unknown): void {
    if (error instanceof ApiError && error.status === 401) {
      this.dialog.close();
      this.failed(error);
      return;
    }
    if (this.content.childElementCount === 0) {
      refill(this.status);
    }
    this.trouble.textContent = messageOf(error);
    this.trouble.hidden = false;
  }

  private render(task: Task, why: Hold[]): void {
    const act = (action: Action, name = names[action]) =>
      applies[action](task) && element("button", { type: "button", id: `do-${action}`, class: action === "delete" ? "danger" : "", click: () => this.act(task, action) }, name);
    this.trouble.hidden = true;
    refill(this.title, words(task.kind), " ", element("code", {}, task.id));
    refill(this.status, statusOf(task), " ", words(task.message ?? "", ""));
    refill(
      this.content,
      element("p", { class: "actions" }, act("cancel"), act("retry", "Retry now"), act("delete")),
      why.length > 0 && element("ul", { class: "why" }, ...why.map((hold) => element("li", {}, words(hold.text, "")))),
      facts(task),
      linksTo("Comes after", (task.after ?? []).map((each) => [each.task, each.outcome])),
      linksTo("Comes before", (task.children ?? []).map((each) => [each, ""])),
      timeline(task),
      json("Payload", task.payload),
      task.state === "completed" && json("Result", task.result),
      task.error !== null && element("section", {}, element("h3", {}, "Error"), element("pre", { dir: "auto", tabindex: 0, "aria-label": "Error", role: "region" }, task.error)),
    );
  }

  private act(task: Task, action: Action): void {
    if (action === "delete") {
      this.question.open({
        title: ["Delete the task ", element("code", {}, task.id), "?"],
        told: "With its payload, result and attempts. This cannot be undone.",
        verb: "Delete",
        act: () => this.remove(task.id),
        back: "do-delete",
      });
      return;
    }
    perform(action, task.id)
      .then(() => this.load())
      .catch((error: unknown) => this.complain(error));
  }
}

function facts(task: Task): HTMLElement {
  const list: [string, string][] = [
    ["Queue", task.queue],
    ["Priority", String(task.priority)],
    ["Tags", task.tags.join(", ")],
    ["Flow key", task.flow_key ?? ""],
    ["Unique key", task.unique_key ?? ""],
    ["Idempotency key", task.idempotency_key ?? ""],
    ["Destination", task.destination ?? ""],
    ["Node", task.node ?? ""],
    ["Attempts", `${task.failures + (task.state === "completed" ? 1 : 0)} of ${task.max_attempts}`],
    ["Crashes", task.crashes > 0 ? String(task.crashes) : ""],
  ];
  return element(
    "dl",
    {},
    ...list.filter(([, value]) => value !== "").flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, words(value, ""))]),
    ...(task.group ? [element("dt", {}, "Group"), element("dd", {}, element("a", { class: "mono", href: addressOf("groups", {}, task.group) }, task.group))] : []),
  );
}

function linksTo(title: string, tasks: [id: string, note: string][]): HTMLElement | false {
  return (
    tasks.length > 0 &&
    element(
      "section",
      {},
      element("h3", {}, title),
      element("ul", { class: "why" }, ...tasks.map(([id, note]) => element("li", {}, element("a", { class: "mono", href: `#${id}` }, id), note === "" ? "" : `: ${note}`))),
    )
  );
}

function timeline(task: Task): HTMLElement {
  const entry = (at: string | null, what: string, kind = "") =>
    at === null ? null : element("li", { class: kind }, timeOf(at, true), " ", words(what, ""));
  const isRunning = task.state === "running";
  const entries = [
    entry(task.created_at, "submitted"),
    ...(task.attempts ?? []).map((attempt) =>
      entry(
        attempt.started_at,
        `run ${attempt.run}: ${attempt.end.replace("_", " ")} after ${duration(attempt.started_at, attempt.ended_at)}${attempt.error === null ? "" : `: ${attempt.error}`}`,
        attempt.end,
      ),
    ),
    task.state === "pending" && task.due_at > task.created_at ? entry(task.due_at, `to be run ${relative(task.due_at)}`) : null,
    task.state === "pending" && task.run === 0 ? entry(task.expires_at ?? null, "expires, unless it has begun") : null,
    isRunning ? entry(task.started_at, `run ${task.run}: running`, "running") : null,
    task.state === "completed" ? entry(task.started_at, `run ${task.run}: took ${duration(task.started_at, task.finished_at)}`, "completed") : null,
    entry(task.finished_at, task.state, task.state),
  ];
  return element("section", {}, element("h3", {}, "Timeline"), element("ol", { class: "timeline" }, ...entries));
}

function json(title: string, value: unknown): HTMLElement | false {
  if (value === undefined) {
    return false;
  }
  return element("section", {}, element("h3", {}, title), element("pre", { dir: "auto", tabindex: 0, "aria-label": title, role: "region" }, JSON.stringify(value, null, 2)));
}
