// SPDX-License-Identifier: MIT
// The table of schedules: when each creates its next task, and what can be done with it.

import { ask, messageOf } from "./api";
import { byId, element, refill, table, timeOf, words } from "./dom";
import { features } from "./features";
import type { QuestionDialog } from "./question";
import { schedulePath, setPaused, type ScheduleDialog } from "./schedule_dialog";
import type { Schedule } from "./types";

export class ScheduleTable {
  private readonly place = byId("schedules");
  private readonly status = element("p", { role: "status", class: "quiet" });
  private readonly rows = element("div");

  constructor(
    private readonly question: QuestionDialog,
    private readonly dialog: ScheduleDialog,
    private readonly openTask: (id: string) => void,
    private readonly failed: (error: unknown) => void,
  ) {
    this.place.append(this.status, this.rows);
    byId("new-schedule").addEventListener("click", () => void dialog.open(undefined));
  }

  async load(): Promise<void> {
    const [{ schedules }, offered] = await Promise.all([ask<{ schedules: Schedule[] }>("GET", "/schedules"), features()]);
    this.show(schedules, offered.has("/schedules/{}/run"));
  }

  private show(schedules: Schedule[], canRun: boolean): void {
    byId("schedule-count").textContent = schedules.length > 1 ? String(schedules.length) : "";
    if (schedules.length === 0) {
      refill(this.rows, element("p", { class: "quiet" }, "None yet. A schedule submits a task again and again, at times of day in a time zone."));
      return;
    }
    refill(
      this.rows,
      table(
        "Schedules by name",
        [{ name: "Schedule" }, { name: "Cron" }, { name: "Zone" }, { name: "Kind" }, { name: "Queue" }, { name: "Next" }, { name: "Last" }, { name: "Run, edit, pause or delete", isAction: true }],
        schedules.map((schedule) => [
          element("span", { class: "named" }, words(schedule.name), schedule.is_paused && element("span", { class: "badge paused" }, "paused")),
          element("code", {}, schedule.cron),
          schedule.zone,
          words(String(schedule.task["kind"])),
          words(String(schedule.task["queue"])),
          schedule.is_paused ? "" : timeOf(schedule.next_slot),
          this.last(schedule),
          this.buttons(schedule, canRun),
        ]),
      ),
    );
  }

  private last({ name, last_task: task, last_slot: slot }: Schedule): HTMLElement | false {
    const open = task !== null && element("button", { type: "button", class: "link", id: `last-${name}`, click: () => this.openTask(task) }, task);
    return (slot !== null || open !== false) && element("span", { class: "stacked" }, timeOf(slot), open);
  }

  private buttons(schedule: Schedule, canRun: boolean): HTMLElement {
    const { name } = schedule;
    const button = (id: string, text: string, click: () => void) => element("button", { type: "button", id: `${id}-schedule-${name}`, "aria-label": `${text} the schedule ${name}`, click }, text);
    return element(
      "span",
      { class: "pair" },
      canRun && button("run", "Run now", () => void this.run(name)),
      button("edit", "Edit", () => void this.dialog.open(name)),
      button("pause", schedule.is_paused ? "Resume" : "Pause", () => void this.pause(schedule)),
      button("delete", "Delete", () => this.remove(name)),
    );
  }

  private async run(name: string): Promise<void> {
    try {
      const { id } = await ask<{ id: string }>("POST", `${schedulePath(name)}/run`);
      refill(this.status, "Submitted ", element("button", { type: "button", class: "link", id: "ran", click: () => this.openTask(id) }, id), ".");
      await this.load();
    } catch (error) {
      this.status.textContent = messageOf(error);
    }
  }

  private async pause({ name, is_paused: isPaused }: Schedule): Promise<void> {
    try {
      await setPaused(name, !isPaused);
      await this.load();
    } catch (error) {
      this.failed(error);
    }
  }

  private remove(name: string): void {
    this.question.open({
      title: ["Delete the schedule ", words(name, ""), "?"],
      told: "The tasks that it has submitted stay.",
      verb: "Delete",
      act: () => ask("DELETE", schedulePath(name)).then(() => this.load()),
      back: "new-schedule",
    });
  }
}
