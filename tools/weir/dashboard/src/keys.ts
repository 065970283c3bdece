// SPDX-License-Identifier: MIT
// The flow keys of a queue: their tasks, and a pause and limits of each.

import { ask, messageOf } from "./api";
import { element, numberOf, refill, table, words } from "./dom";
import { Fields } from "./fields";
import { limitsText } from "./limits";
import { queuePath } from "./queues";

interface FlowKey {
  key: string;
  paused?: boolean;
  is_paused?: boolean;
  pending: number;
  running: number;
  max_running?: number | null;
  rate?: number | null;
  burst?: number | null;
  limits?: Record<string, number | null>;
}

const names = ["max_running", "rate", "burst"] as const;

export class KeyTable {
  readonly element: HTMLElement;
  private readonly rows = element("div");
  private readonly trouble = element("p", { role: "alert", class: "bad" });
  private readonly fields = new Fields("key");
  private readonly form: HTMLFormElement;
  private readonly title = element("h3");
  private queue = "";
  private edited: FlowKey | undefined;

  constructor() {
    this.form = element(
      "form",
      { class: "form card", novalidate: true, hidden: true },
      this.title,
      element("div", { class: "fields" }, this.fields.number("max_running", "Running at once"), this.fields.number("rate", "Starts per second"), this.fields.number("burst", "Burst")),
      element("p", { class: "quiet" }, "Empty: as the queue says for each key."),
      element(
        "p",
        { class: "actions" },
        element("button", { type: "submit", class: "primary" }, "Save the key's limits"),
        element("button", { type: "button", click: () => this.edit(undefined) }, "Cancel"),
      ),
      this.fields.status,
    );
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.save();
    });
    this.element = element("section", { hidden: true, "aria-labelledby": "keys-title" }, element("h3", { id: "keys-title" }, "Flow keys"), this.trouble, this.form, this.rows);
  }

  async load(queue: string): Promise<void> {
    this.queue = queue;
    this.edit(undefined);
    this.trouble.textContent = "";
    const { keys } = await ask<{ keys: FlowKey[] }>("GET", `${queuePath(queue)}/keys`);
    this.element.hidden = false;
    this.show(keys);
  }

  private show(keys: FlowKey[]): void {
    if (keys.length === 0) {
      refill(this.rows, element("p", { class: "quiet" }, "No tasks of this queue have a flow key."));
      return;
    }
    const button = (id: string, name: string, key: FlowKey, click: () => void) =>
      element("button", { type: "button", id: `${id}-key-${key.key}`, "aria-label": `${name} the key ${key.key}`, click }, name);
    refill(
      this.rows,
      element(
        "div",
        { class: "scroll", role: "region", tabindex: 0, "aria-label": "Flow keys" },
        table(
          "Flow keys",
          [{ name: "Key" }, { name: "Pending", isNumber: true }, { name: "Running", isNumber: true }, { name: "Limits" }, { name: "Pause or limit", isAction: true }],
          keys.map((key) => [
            element("span", { class: "named" }, words(key.key), isPaused(key) && element("span", { class: "badge paused" }, "paused")),
            numberOf(key.pending),
            numberOf(key.running),
            words(limitsText(limitsOf(key)), "quiet"),
            element(
              "span",
              { class: "pair" },
              button("limit", "Limit", key, () => this.edit(key)),
              button("pause", isPaused(key) ? "Resume" : "Pause", key, () => void this.put(key, { paused: !isPaused(key) })),
            ),
          ]),
        ),
      ),
    );
  }

  private edit(key: FlowKey | undefined): void {
    this.edited = key;
    this.form.hidden = key === undefined;
    this.fields.clear();
    if (key !== undefined) {
      refill(this.title, "Limits of the key ", words(key.key, ""));
      const limits = limitsOf(key);
      names.forEach((name) => this.fields.set(name, limits[name] ? String(limits[name]) : ""));
      document.getElementById("key-max_running")?.focus();
    }
  }

  private async save(): Promise<void> {
    const key = this.edited;
    if (key === undefined) {
      return;
    }
    try {
      await this.send(key, Object.fromEntries(names.map((name) => [name, this.fields.getNumber(name) ?? null])));
      document.getElementById(`limit-key-${key.key}`)?.focus();
    } catch (error) {
      this.fields.complain(error);
    }
  }

  private async put(key: FlowKey, change: object): Promise<void> {
    try {
      await this.send(key, change);
    } catch (error) {
      this.trouble.textContent = messageOf(error);
    }
  }

  // A setting replaces the one before as a whole.
  private async send(key: FlowKey, change: object): Promise<void> {
    const limits = limitsOf(key);
    const settings = Object.fromEntries(names.map((name) => [name, limits[name] || null]));
    await ask("PUT", `${queuePath(this.queue)}/keys/${encodeURIComponent(key.key)}`, { paused: isPaused(key), ...settings, ...change });
    await this.load(this.queue);
  }
}

function isPaused(key: FlowKey): boolean {
  return key.paused ?? key.is_paused ?? false;
}

function limitsOf(key: FlowKey): Record<string, number> {
  const given = key.limits ?? key;
  return Object.fromEntries(names.map((name) => [name, given[name] ?? 0]));
}
