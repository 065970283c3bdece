// SPDX-License-Identifier: MIT
// One task: what it is, why it does not run, its attempts as a timeline, and what can be done with it.

import { ask } from "./api";
import { dialogById, element, refill } from "./dom";
import { duration, relative, time } from "./format";
import { statusOf } from "./tasks";
import type { Hold, Task, TaskEvent } from "./types";

const over = ["completed", "failed", "cancelled"];

export class Detail {
  private readonly dialog = dialogById("detail");
  private shown: string | undefined;
  private reloading: number | undefined;

  constructor(private readonly failed: (error: unknown) => void) {
    this.dialog.addEventListener("close", () => {
      this.shown = undefined;
      if (window.location.hash !== "") {
        history.replaceState(null, "", window.location.pathname);
      }
    });
  }

  open(id: string): void {
    this.shown = id;
    history.replaceState(null, "", `#${id}`);
    refill(this.dialog, element("p", {}, "Loading"));
    if (!this.dialog.open) {
      this.dialog.showModal();
    }
    void this.load();
  }

  take(events: TaskEvent[], more: number): void {
    if (this.shown !== undefined && (more > 0 || events.some((event) => event.id === this.shown))) {
      window.clearTimeout(this.reloading);
      this.reloading = window.setTimeout(() => void this.load(), 150);
    }
  }

  private async load(): Promise<void> {
    const id = this.shown;
    if (id === undefined) {
      return;
    }
    try {
      const task = await ask<Task>("GET", `/tasks/${id}`);
      const isWaiting = task.state === "pending";
      const why = isWaiting ? (await ask<{ reasons: Hold[] }>("GET", `/tasks/${id}/why`)).reasons : [];
      if (this.shown === id) {
        this.show(task, why);
      }
    } catch (error) {
      this.dialog.close();
      this.failed(error);
    }
  }

  private show(task: Task, why: Hold[]): void {
    const act = (name: string, verb: string) =>
      element(
        "button",
        {
          type: "button",
          id: `do-${verb}`,
          click: () => {
            ask("POST", `/tasks/${task.id}/${verb}`)
              .then(() => this.load())
              .catch(this.failed);
          },
        },
        name,
      );
    const isOver = over.includes(task.state);
    refill(
      this.dialog,
      element(
        "header",
        {},
        element("h2", { id: "detail-title" }, `${task.kind} `, element("code", {}, task.id)),
        element("button", { type: "button", id: "close-detail", "aria-label": "Close", click: () => this.dialog.close() }, "Close"),
      ),
      element("p", {}, statusOf(task), " ", task.message ?? ""),
      element(
        "p",
        { class: "actions" },
        !isOver && task.status !== "cancelling" && act("Cancel", "cancel"),
        (isOver || task.state === "pending") && task.state !== "completed" && act("Retry now", "retry"),
      ),
      why.length > 0 && element("ul", { class: "why" }, ...why.map((hold) => element("li", {}, hold.text))),
      facts(task),
      timeline(task),
      json("Payload", task.payload),
      task.state === "completed" && json("Result", task.result),
      task.error !== null && element("section", {}, element("h3", {}, "Error"), element("pre", {}, task.error)),
    );
  }
}

function facts(task: Task): HTMLElement {
  const list: [string, string][] = [
    ["Queue", task.queue],
    ["Priority", String(task.priority)],
    ["Tags", task.tags.join(", ")],
    ["Flow key", task.flow_key ?? ""],
    ["Attempts", `${task.failures + (task.state === "completed" ? 1 : 0)} of ${task.max_attempts}`],
    ["Crashes", task.crashes > 0 ? String(task.crashes) : ""],
  ];
  return element(
    "dl",
    {},
    ...list.filter(([, value]) => value !== "").flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
  );
}

function timeline(task: Task): HTMLElement {
  const entry = (at: string | null, words: string, kind = "") =>
    at === null ? null : element("li", { class: kind }, element("time", { datetime: at }, time(at)), ` ${words}`);
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
  return element("section", {}, element("h3", {}, title), element("pre", {}, JSON.stringify(value, null, 2)));
}
