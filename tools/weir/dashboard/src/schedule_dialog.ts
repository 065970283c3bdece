// SPDX-License-Identifier: MIT
// The dialog that adds a schedule, or changes one.

import { ask, askForText } from "./api";
import { dialogById, element, refill } from "./dom";
import { features, type Features } from "./features";
import { FieldError, Fields } from "./fields";
import { rawMember } from "./raw_json";
import { TaskFields, type TaskMembers } from "./task_fields";
import type { Schedule } from "./types";

export function schedulePath(name: string): string {
  return `/schedules/${encodeURIComponent(name)}`;
}

// What a request may set of a schedule: the service shows more of it, as its slots. The payload is
// left out, since it is sent as it was written.
function settable(schedule: Schedule, offered: Features): { members: Record<string, unknown>; task: TaskMembers } {
  const chosen = (from: object, names: string[]) => Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
  const inner = offered.membersOf("NewTask").filter((name) => !["payload", "run_at", "delay", "expires_at", "expires_in", "idempotency_key"].includes(name));
  return { members: chosen(schedule, offered.membersOf("NewSchedule").filter((name) => name !== "task")), task: chosen(schedule.task, inner) };
}

export function payloadOf(text: string): string {
  return rawMember(rawMember(text, "task") ?? "{}", "payload") ?? "null";
}

function joined(members: Record<string, unknown>, name: string, raw: string): string {
  return `${JSON.stringify(members).slice(0, -1)},"${name}":${raw}}`;
}

// Where the service has no request for it, the schedule is replaced as a whole.
export async function setPaused(name: string, isPaused: boolean): Promise<void> {
  const offered = await features();
  if (offered.has("/schedules/{}/pause")) {
    await ask("POST", `${schedulePath(name)}/${isPaused ? "pause" : "resume"}`);
    return;
  }
  const text = await askForText("GET", schedulePath(name));
  const { members, task } = settable(JSON.parse(text) as Schedule, offered);
  await ask("PUT", schedulePath(name), joined({ ...members, is_paused: isPaused }, "task", joined(task, "payload", payloadOf(text))));
}

export class ScheduleDialog {
  private readonly dialog = dialogById("schedule");
  private readonly title = element("h2", { id: "schedule-title" });
  private readonly fields = new Fields("schedule");
  private readonly task = new TaskFields(this.fields, true);
  private readonly name = element("input", { type: "text", autocomplete: "off", maxlength: 100 });
  private readonly overlap: HTMLElement;
  private edited: Schedule | undefined;

  constructor(
    private readonly changed: () => void,
    private readonly failed: (error: unknown) => void,
  ) {
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

  // An existing schedule, or a new one. Opens when everything is there: what the user enters is not
  // overwritten by a late response.
  async open(name: string | undefined): Promise<void> {
    try {
      this.overlap.hidden = !(await features()).membersOf("NewSchedule").includes("overlap");
      await this.task.loadKinds();
      const text = name === undefined ? undefined : await askForText("GET", schedulePath(name));
      this.fields.clear();
      refill(this.title, name === undefined ? "New schedule" : `Schedule ${name}`);
      this.fill(text);
      this.dialog.showModal();
    } catch (error) {
      this.failed(error);
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
      this.task.fill(schedule.task, payloadOf(text!));
    }
  }

  private async save(): Promise<void> {
    this.fields.clear();
    try {
      const name = this.fields.get("name");
      if (name === "") {
        throw new FieldError("name", "A schedule needs a name.");
      }
      const kept = this.edited && settable(this.edited, await features());
      const members = {
        ...kept?.members,
        cron: this.fields.get("cron"),
        zone: this.fields.get("zone"),
        missed: this.fields.get("missed"),
        overlap: this.overlap.hidden ? undefined : this.fields.get("overlap"),
      };
      await ask("PUT", schedulePath(name), joined(members, "task", this.task.read(kept?.task)));
      this.dialog.close();
      this.changed();
    } catch (error) {
      this.fields.complain(error);
    }
  }
}
