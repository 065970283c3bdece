// SPDX-License-Identifier: MIT
// The form that submits a task, and the one that requests a token.

import { ask, messageOf, onTokenNeeded, setToken, token } from "./api";
import { byId, dialogById, element, refill } from "./dom";

const examples: Record<string, string> = {
  sleep: '{"seconds": 5}',
  echo: '{"hello": "world"}',
  http: '{"url": "https://example.com/hook", "body": {"event": "tried"}}',
  exec: '{"command": "name"}',
};

export class SubmitForm {
  private readonly kind = element("select", { name: "kind" });
  private readonly payload = element("textarea", { name: "payload", rows: 3, spellcheck: "false" });
  private readonly queue = element("input", { name: "queue", type: "text", value: "default", maxlength: 100, required: true });
  private readonly delay = element("input", { name: "delay", type: "number", min: 0, step: "any", value: 0 });
  private readonly status = element("p", { role: "status" });

  constructor(submitted: (id: string) => void) {
    const field = (label: string, control: HTMLElement) => element("label", {}, label, control);
    const form = element(
      "form",
      { class: "submit" },
      field("Kind", this.kind),
      field("Queue", this.queue),
      field("Delay in seconds", this.delay),
      field("Payload, JSON", this.payload),
      element("button", { type: "submit", class: "primary" }, "Submit"),
      this.status,
    );
    this.kind.addEventListener("change", () => this.propose());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit(submitted);
    });
    byId("submit").append(form);
  }

  async load(): Promise<void> {
    const { kinds } = await ask<{ kinds: string[] }>("GET", "/kinds");
    const chosen = this.kind.value;
    refill(this.kind, ...kinds.map((kind) => element("option", { value: kind }, kind)));
    this.kind.value = kinds.includes(chosen) ? chosen : kinds.includes("sleep") ? "sleep" : (kinds[0] ?? "");
    this.propose();
  }

  private propose(): void {
    if (this.payload.value === "" || Object.values(examples).includes(this.payload.value)) {
      this.payload.value = examples[this.kind.value] ?? "null";
    }
  }

  private async submit(submitted: (id: string) => void): Promise<void> {
    this.say("");
    try {
      JSON.parse(this.payload.value); // only a check: the text is sent as it was written
      const settings = JSON.stringify({
        kind: this.kind.value,
        queue: this.queue.value,
        delay: Number(this.delay.value),
      });
      const body = `${settings.slice(0, -1)},"payload":${this.payload.value}}`;
      const { id } = await ask<{ id: string }>("POST", "/tasks", body);
      this.say(`Submitted ${id}.`);
      submitted(id);
    } catch (error) {
      this.say(error instanceof SyntaxError ? `The payload is no JSON: ${error.message}` : messageOf(error), true);
    }
  }

  private say(words: string, isBad = false): void {
    this.status.textContent = words;
    this.status.className = isBad ? "bad" : "quiet";
  }
}

// Accepted: a token was entered, though it may be invalid.
export function askForTokens(accepted: () => void): void {
  const dialog = dialogById("login");
  const input = element("input", { type: "password", name: "token", autocomplete: "off", required: true, autofocus: true, "aria-describedby": "login-said" });
  const problem = element("p", { id: "login-said", role: "alert", class: "bad" });
  const form = element(
    "form",
    { method: "dialog" },
    element("h2", { id: "login-title" }, "This service wants a token"),
    element("p", { class: "quiet" }, "It was given one with ", element("code", {}, "--token-file"), " or ", element("code", {}, "WEIR_TOKEN"), ". This page keeps it for this tab only."),
    element("label", {}, "Token", input),
    problem,
    element("button", { type: "submit", class: "primary" }, "Enter"),
  );
  form.addEventListener("submit", () => {
    setToken(input.value.trim());
    input.value = "";
    accepted();
  });
  dialog.addEventListener("cancel", (event) => event.preventDefault()); // the page shows nothing without a token
  dialog.append(form);
  onTokenNeeded(() => {
    if (!dialog.open) {
      problem.textContent = token() === "" ? "" : "The token that was given is not right, or not any more.";
      dialog.showModal();
    }
  });
}
