// SPDX-License-Identifier: MIT
// The dialog that submits a task.

import { ask } from "./api";
import { byId, dialogById, element } from "./dom";
import { Fields } from "./fields";
import { TaskFields } from "./task_fields";

export class SubmitDialog {
  private readonly dialog = dialogById("submit");
  private readonly fields = new Fields("submit");
  private readonly task = new TaskFields(this.fields, false);

  constructor(private readonly submitted: (id: string) => void) {
    const form = element(
      "form",
      { class: "form", novalidate: true },
      this.task.content,
      element("p", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Submit")),
      this.fields.status,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    const close = element("button", { type: "button", click: () => this.dialog.close() }, "Close");
    this.dialog.append(element("header", {}, element("h2", { id: "submit-title" }, "New task"), close), form);
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    byId("new-task").addEventListener("click", () => this.open());
  }

  private open(): void {
    this.fields.clear();
    this.dialog.showModal();
    this.task.loadKinds().catch((error: unknown) => this.fields.complain(error));
  }

  private async submit(): Promise<void> {
    this.fields.clear();
    try {
      const { id, duplicate } = await ask<{ id: string; duplicate: boolean }>("POST", "/tasks", this.task.read());
      if (duplicate) {
        this.fields.say(`No new task: ${id} has this key.`);
        return;
      }
      this.dialog.close();
      this.submitted(id);
    } catch (error) {
      this.fields.complain(error);
    }
  }
}
