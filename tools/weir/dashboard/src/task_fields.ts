// SPDX-License-Identifier: MIT
// The fields that describe a task: to submit one, and in a schedule.

import { ask } from "./api";
import { element, refill } from "./dom";
import { FieldError, Fields } from "./fields";

const examples: Record<string, string> = {
  sleep: '{"seconds": 5}',
  echo: '{"hello": "world"}',
  http: '{"url": "https://example.com/hook", "body": {"event": "tried"}}',
  exec: '{"command": "name"}',
  crawl: '{"urls": ["https://example.com/"], "check": true}',
};

export type TaskMembers = Record<string, unknown>;

const texts = ["queue", "flow_key", "unique_key", "idempotency_key"];
const numbers = ["priority", "max_attempts", "timeout", "delay", "expires_in"];

export class TaskFields {
  readonly content: HTMLElement;
  private readonly kind = element("select");
  private readonly payload = element("textarea", { rows: 4, spellcheck: "false" });

  // A schedule decides about the time and the idempotency of its tasks.
  constructor(
    readonly fields: Fields,
    isScheduled: boolean,
  ) {
    this.kind.addEventListener("change", () => this.propose());
    this.content = element(
      "div",
      { class: "fields" },
      fields.field("kind", "Kind", this.kind),
      fields.text("queue", "Queue", undefined, "default"),
      fields.field("payload", "Payload, JSON", this.payload),
      element(
        "details",
        { class: "wide" },
        element("summary", {}, "More settings"),
        element(
          "div",
          { class: "fields" },
          fields.number("priority", "Priority", "-1000 to 1000, higher first"),
          fields.number("max_attempts", "Attempts", "including the first; 5 unless given"),
          !isScheduled && fields.number("delay", "Delay in seconds"),
          !isScheduled && fields.number("expires_in", "Expires in seconds", "cancelled unless begun by then"),
          fields.number("timeout", "Timeout of a run in seconds"),
          fields.text("tags", "Tags", "separated by commas"),
          fields.text("flow_key", "Flow key", "tasks of a key share limits; keys take turns"),
          fields.text("unique_key", "Unique key", "one task at a time has it"),
          !isScheduled && fields.text("idempotency_key", "Idempotency key", "the same submit again makes no second task"),
        ),
      ),
    );
  }

  async loadKinds(): Promise<void> {
    const { kinds } = await ask<{ kinds: string[] }>("GET", "/kinds");
    const chosen = this.kind.value;
    refill(this.kind, ...kinds.map((kind) => element("option", { value: kind }, kind)));
    this.kind.value = kinds.includes(chosen) ? chosen : kinds.includes("sleep") ? "sleep" : (kinds[0] ?? "");
    this.propose();
  }

  // The payload is a text, as it was written.
  fill(members: TaskMembers, payload: string): void {
    const kind = String(members["kind"] ?? "");
    if (![...this.kind.options].some((option) => option.value === kind)) {
      this.kind.append(element("option", { value: kind }, kind)); // without a handler any more
    }
    this.kind.value = kind;
    this.payload.value = payload;
    [...texts, ...numbers].forEach((member) => this.fields.set(member, String(members[member] ?? "")));
    this.fields.set("tags", ((members["tags"] as string[] | undefined) ?? []).join(", "));
  }

  // JSON of the members, on top of those that have no field here. Throws FieldError.
  read(others: TaskMembers = {}): string {
    const members: TaskMembers = { ...others, kind: this.kind.value };
    delete members["payload"];
    for (const member of texts) {
      members[member] = this.fields.get(member) || undefined;
    }
    for (const member of numbers) {
      members[member] = this.fields.getNumber(member);
    }
    if (members["unique_key"] === undefined) {
      delete members["unique_for"]; // of a schedule that had a key
    }
    const tags = this.fields.get("tags").split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
    members["tags"] = tags.length > 0 ? tags : undefined;
    return `${JSON.stringify(members).slice(0, -1)},"payload":${this.readPayload()}}`;
  }

  // Only checked: it is sent as it was written.
  private readPayload(): string {
    const text = this.payload.value.trim();
    try {
      JSON.parse(text);
    } catch (error) {
      throw new FieldError("payload", `The payload is no JSON: ${(error as Error).message}`);
    }
    return text;
  }

  private propose(): void {
    if (this.payload.value === "" || this.payload.value === "null" || Object.values(examples).includes(this.payload.value)) {
      this.payload.value = examples[this.kind.value] ?? "null";
    }
  }
}
