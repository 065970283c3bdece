// SPDX-License-Identifier: MIT
// The flow keys of a queue: their tasks, and a pause and limits of each.

import { ask, messageOf } from "./api";
import { element, numberOf, refill, table, words } from "./dom";
import { Fields } from "./fields";
import { nothing } from "./format";
import { limitsText } from "./limits";
import { queuePath } from "./queues";

interface FlowKey {
  key: string;
  paused: boolean;
  pending: number | null; // null: too many to be counted
  running: number;
  max_running: number | null; // of its own; null: that of the queue
  rate: number | null;
  burst: number | null;
  limits: Record<string, number>; // those that apply
}

interface KeyPage {
  keys: FlowKey[];
  next: string | null; // the path of the page after it
}

const names = ["max_running", "rate", "burst"] as const;

export class KeyTable {
  readonly element: HTMLElement;
  private readonly rows = element("div");
  private readonly trouble = element("p", { role: "alert", class: "bad" });
  private readonly fields = new Fields("key");
  private readonly form: HTMLFormElement;
  private readonly title = element("h3");
  private readonly more = element("button", { type: "button", hidden: true, click: () => void this.loadMore() }, "More keys");
  private keys: FlowKey[] = [];
  private next: string | null = null;
  private queue = "";
  private edited: FlowKey | undefined;

  constructor() {
    this.form = element(
      "form",
      { class: "form card", novalidate: true, hidden: true },
      this.title,
      element("div", { class: "fields" }, this.fields.number("max_running", "Running at once"), this.fields.number("rate", "Starts per second"), this.fields.number("burst", "Burst")),
      element("p", { class: "quiet" }, "Empty: as the queue says for each key. 0: no limit."),
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
    this.element = element("section", { hidden: true, "aria-labelledby": "keys-title" }, element("h3", { id: "keys-title" }, "Flow keys"), this.trouble, this.form, this.rows, this.more);
  }

  async load(queue: string): Promise<void> {
    this.queue = queue;
    this.edit(undefined);
    this.trouble.textContent = "";
    this.keys = [];
    this.take(await ask<KeyPage>("GET", `${queuePath(queue)}/keys`));
    this.element.hidden = false;
  }

  private async loadMore(): Promise<void> {
    try {
      this.take(await ask<KeyPage>("GET", this.next!));
    } catch (error) {
      this.trouble.textContent = messageOf(error);
    }
  }

  private take(page: KeyPage): void {
    this.keys.push(...page.keys);
    this.next = page.next;
    this.more.hidden = page.next === null;
    this.show();
  }

  private show(): void {
    const keys = this.keys;
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
            element("span", { class: "named" }, words(key.key), key.paused && element("span", { class: "badge paused" }, "paused")),
            key.pending === null ? nothing : numberOf(key.pending),
            numberOf(key.running),
            words(limitsText(key.limits), "quiet"),
            element(
              "span",
              { class: "pair" },
              button("limit", "Limit", key, () => this.edit(key.key)),
              button("pause", key.paused ? "Resume" : "Pause", key, () => void this.put(key.key, { paused: !key.paused })),
            ),
          ]),
        ),
      ),
    );
  }

  // Buttons that look the same are kept, with their listeners: these know the name, not the state.
  private edit(name: string | undefined): void {
    const key = this.keys.find((each) => each.key === name);
    this.edited = key;
    this.form.hidden = key === undefined;
    this.fields.clear();
    if (key !== undefined) {
      refill(this.title, "Limits of the key ", words(key.key, ""));
      names.forEach((name) => this.fields.set(name, String(key[name] ?? "")));
      document.getElementById("key-max_running")?.focus();
    }
  }

  private async save(): Promise<void> {
    const key = this.edited;
    if (key === undefined) {
      return;
    }
    try {
      await this.send(key.key, Object.fromEntries(names.map((name) => [name, this.fields.getNumber(name) ?? null])));
      document.getElementById(`limit-key-${key.key}`)?.focus();
    } catch (error) {
      this.fields.complain(error);
    }
  }

  private async put(key: string, change: object): Promise<void> {
    try {
      await this.send(key, change);
    } catch (error) {
      this.trouble.textContent = messageOf(error);
    }
  }

  private async send(name: string, change: object): Promise<void> {
    const { paused, max_running, rate, burst } = this.keys.find((each) => each.key === name)!;
    await ask("PUT", `${queuePath(this.queue)}/keys/${encodeURIComponent(name)}`, { paused, max_running, rate, burst, ...change });
    await this.load(this.queue);
  }
}
