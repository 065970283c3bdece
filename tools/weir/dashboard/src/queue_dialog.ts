// SPDX-License-Identifier: MIT
// One queue: its limits, and its flow keys where the service has settings for them.

import { ask } from "./api";
import { dialogById, element, refill, words } from "./dom";
import { features } from "./features";
import { Fields } from "./fields";
import { KeyTable } from "./keys";
import { fillLimits, limitFields, readLimits } from "./limits";
import { queuePath } from "./queues";
import type { Queue } from "./types";

export class QueueDialog {
  private readonly dialog = dialogById("queue");
  private readonly title = element("h2", { id: "queue-title" });
  private readonly fields = new Fields("limit");
  private readonly keys = new KeyTable();
  private name = "";

  constructor(private readonly changed: () => void) {
    const form = element(
      "form",
      { class: "form", novalidate: true },
      element("h3", {}, "Limits"),
      element("p", { class: "quiet" }, "Empty: no limit. They hold for all nodes."),
      limitFields(this.fields),
      element("p", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Save limits")),
      this.fields.status,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.save();
    });
    const close = element("button", { type: "button", click: () => this.dialog.close() }, "Close");
    this.dialog.append(element("header", {}, this.title, close), form, this.keys.element);
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => document.getElementById(`edit-${this.name}`)?.focus());
  }

  open(queue: Queue): void {
    this.name = queue.name;
    refill(this.title, "Queue ", words(queue.name, ""));
    this.fields.clear();
    fillLimits(this.fields, queue.limits);
    this.keys.element.hidden = true;
    this.dialog.showModal();
    features()
      .then((offered) => (offered.has("/queues/{}/keys") ? this.keys.load(queue.name) : undefined))
      .catch((error: unknown) => this.fields.complain(error));
  }

  private async save(): Promise<void> {
    this.fields.clear();
    try {
      const queue = await ask<Queue>("PATCH", queuePath(this.name), readLimits(this.fields));
      fillLimits(this.fields, queue.limits);
      this.fields.say("Saved.");
      this.changed();
    } catch (error) {
      this.fields.complain(error);
    }
  }
}
