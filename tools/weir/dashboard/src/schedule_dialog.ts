// SPDX-License-Identifier: MIT
// The dialog that adds a schedule, or changes one.

import { ask, askForText } from "./api";
import { dialogById, element, refill } from "./dom";
import { features } from "./features";
import { FieldError, Fields } from "./fields";
import { rawMember } from "./raw_json";
import { TaskFields } from "./task_fields";
import type { Schedule } from "./types";

export function schedulePath(name: string): string {
  return `/schedules/${encodeURIComponent(name)}`;
}

// Members that a schedule has, and that a request may not set.
const readOnly = ["next_slot", "last_slot", "last_task", "name", "task"];

export class ScheduleDialog {
  private readonly dialog = dialogById("schedule");
  private readonly title = element("h2", { id: "schedule-title" });
  private readonly fields = new Fields("schedule");
  private readonly task = new TaskFields(this.fields, true);
  private readonly name = element("input", { type: "text", autocomplete: "off", maxlength: 100 });
  private readonly overlap: HTMLElement;
  private edited: Schedule | undefined;

  constructor(private readonly changed: () => void) {
    this.overlap = this.fields.choice(
      "overlap",
      "If the task before still runs or waits",
      [
        ["queue", "submit the next one as well"],
        ["skip", "skip the slot"],
        ["replace", "cancel it and submit the next one"],
      ],
    );
    const form = element(
      "form",
      { class: "form", novalidate: true },
      element(
        "div",
        { class: "fields" },
        this.fields.field("name", "Name", this.name),
        this.fields.text("cron", "Cron", "minute hour day month weekday, or @daily"),
        this.fields.text("zone", "Time zone", "as in Europe/Berlin", "UTC"),
        this.fields.choice("missed", "Slots that were missed", [
          ["run_latest", "run the latest"],
          ["skip", "skip"],
        ]),
        this.overlap,
      ),
      element("h3", {}, "Its task"),
      this.task.content,
      element("p", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Save schedule")),
      this.fields.status,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.save();
    });
    const close = element("button", { type: "button", click: () => this.dialog.close() }, "Close");
    this.dialog.append(element("header", {}, this.title, close), form);
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => {
      const edited = document.getElementById(`edit-schedule-${this.edited?.name}`);
      (edited ?? document.getElementById("new-schedule"))?.focus();
    });
  }

  // An existing schedule, or a new one.
  async open(name: string | undefined): Promise<void> {
    this.edited = undefined;
    this.fields.clear();
    refill(this.title, name === undefined ? "New schedule" : `Schedule ${name}`);
    this.dialog.showModal();
    try {
      this.overlap.hidden = !(await features()).hasMember("NewSchedule", "overlap");
      await this.task.loadKinds();
      const text = name === undefined ? undefined : await askForText("GET", schedulePath(name));
      this.fill(text);
    } catch (error) {
      this.fields.complain(error);
    }
  }

  private fill(text: string | undefined): void {
    const schedule = text === undefined ? undefined : (JSON.parse(text) as Schedule);
    this.edited = schedule;
    this.name.readOnly = schedule !== undefined;
    this.fields.set("name", schedule?.name ?? "");
    this.fields.set("cron", schedule?.cron ?? "");
    this.fields.set("zone", schedule?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
    this.fields.set("missed", schedule?.missed ?? "run_latest");
    this.fields.set("overlap", schedule?.overlap ?? "queue");
    if (schedule !== undefined) {
      this.task.fill(schedule.task, rawMember(rawMember(text!, "task") ?? "{}", "payload") ?? "null");
    }
  }

  private async save(): Promise<void> {
    this.fields.clear();
    try {
      const name = this.fields.get("name");
      if (name === "") {
        throw new FieldError("name", "A schedule needs a name.");
      }
      const kept = Object.entries(this.edited ?? {}).filter(([member]) => !readOnly.includes(member));
      const members = {
        ...Object.fromEntries(kept),
        cron: this.fields.get("cron"),
        zone: this.fields.get("zone"),
        missed: this.fields.get("missed"),
        overlap: this.overlap.hidden ? undefined : this.fields.get("overlap"),
      };
      const task = this.task.read(this.edited?.task);
      await ask("PUT", schedulePath(name), `${JSON.stringify(members).slice(0, -1)},"task":${task}}`);
      this.dialog.close();
      this.changed();
    } catch (error) {
      this.fields.complain(error);
    }
  }
}
