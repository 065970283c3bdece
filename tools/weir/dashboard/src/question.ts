// SPDX-License-Identifier: MIT
// The dialog that asks before something is deleted, and says what goes with it.

import { messageOf } from "./api";
import { dialogById, element, refill, type Child } from "./dom";

export interface Question {
  title: Child[];
  told: string;
  verb: string;
  act: () => Promise<unknown>;
  back: string; // the id of the element that gets the focus afterwards
}

export class QuestionDialog {
  private readonly dialog = dialogById("question");
  private readonly title = element("h2", { id: "question-title" });
  private readonly told = element("p", { id: "question-told" });
  private readonly trouble = element("p", { role: "alert", class: "bad" });
  private readonly agree = element("button", { type: "button", id: "agree", class: "danger", click: () => void this.act() });
  private question: Question | undefined;

  constructor() {
    const keep = element("button", { type: "button", id: "keep", autofocus: true, click: () => this.dialog.close() }, "Keep");
    this.dialog.append(this.title, this.told, this.trouble, element("p", { class: "actions" }, keep, this.agree));
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => document.getElementById(this.question?.back ?? "")?.focus());
  }

  open(question: Question): void {
    this.question = question;
    refill(this.title, ...question.title);
    this.told.textContent = question.told;
    this.agree.textContent = question.verb;
    this.trouble.textContent = "";
    this.dialog.showModal();
  }

  private async act(): Promise<void> {
    this.agree.disabled = true;
    try {
      await this.question?.act();
      this.dialog.close();
    } catch (error) {
      this.trouble.textContent = messageOf(error); // here: elements behind a dialog are not visible
    } finally {
      this.agree.disabled = false;
    }
  }
}
