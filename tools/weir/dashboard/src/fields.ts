// SPDX-License-Identifier: MIT
// The fields of a form. Each has the name of a member of the request, and shows the errors of the
// service about it.

import { ApiError, messageOf } from "./api";
import { element, type Child } from "./dom";

export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

interface Field {
  control: Control;
  problem: HTMLElement;
}

// What the user has entered is no value for this member.
export class FieldError extends Error {
  constructor(
    readonly member: string,
    message: string,
  ) {
    super(message);
  }
}

export class Fields {
  private readonly fields = new Map<string, Field>();
  // For errors that are about no field, and for success.
  readonly status = element("p", { role: "status" });

  constructor(private readonly prefix: string) {}

  // A label with its control, a hint, and room for an error.
  field(member: string, label: string, control: Control, hint?: Child): HTMLElement {
    const id = `${this.prefix}-${member}`;
    const problem = element("span", { id: `${id}-problem`, class: "bad" });
    control.id = id;
    control.name = member;
    control.setAttribute("aria-describedby", hint ? `${id}-hint ${id}-problem` : `${id}-problem`);
    this.fields.set(member, { control, problem });
    return element(
      "div",
      { class: control instanceof HTMLTextAreaElement ? "field wide" : "field" },
      element("label", { for: id }, label),
      control,
      hint && element("span", { id: `${id}-hint`, class: "hint" }, hint),
      problem,
    );
  }

  text(member: string, label: string, hint?: Child, value = ""): HTMLElement {
    return this.field(member, label, element("input", { type: "text", autocomplete: "off", spellcheck: "false", value }), hint);
  }

  // A text field, so that the service judges numbers, and says which are valid.
  number(member: string, label: string, hint?: Child, value = ""): HTMLElement {
    return this.field(member, label, element("input", { type: "text", inputmode: "decimal", autocomplete: "off", value }), hint);
  }

  choice(member: string, label: string, options: [value: string, text: string][], hint?: Child): HTMLElement {
    return this.field(member, label, element("select", {}, ...options.map(([value, text]) => element("option", { value }, text))), hint);
  }

  get(member: string): string {
    return this.fields.get(member)?.control.value.trim() ?? "";
  }

  set(member: string, value: string): void {
    const field = this.fields.get(member);
    if (field !== undefined) {
      field.control.value = value;
    }
  }

  // Undefined where nothing was entered.
  getNumber(member: string): number | undefined {
    const text = this.get(member);
    if (text === "") {
      return undefined;
    }
    const value = Number(text.replace(",", "."));
    if (!Number.isFinite(value)) {
      throw new FieldError(member, `'${text}' is no number`);
    }
    return value;
  }

  clear(): void {
    for (const { control, problem } of this.fields.values()) {
      control.removeAttribute("aria-invalid");
      problem.textContent = "";
    }
    this.say("");
  }

  say(text: string, isBad = false): void {
    this.status.textContent = text;
    this.status.className = isBad ? "bad" : "quiet";
  }

  // At the field that the error is about, which gets the focus; otherwise below the form.
  complain(error: unknown): void {
    this.clear();
    const field = this.fields.get(memberOf(error) ?? "");
    if (field === undefined) {
      this.say(messageOf(error), true);
      return;
    }
    field.control.setAttribute("aria-invalid", "true");
    field.problem.textContent = messageOf(error);
    const folded = field.control.closest("details");
    if (folded !== null) {
      folded.open = true;
    }
    field.control.focus();
  }
}

// Errors about a member of a schedule's task have the member 'task', and name the inner one in
// their text.
function memberOf(error: unknown): string | undefined {
  if (error instanceof FieldError) {
    return error.member;
  }
  if (!(error instanceof ApiError)) {
    return undefined;
  }
  const inner = error.member === "task" ? /in 'task': .*?'(\w+)'/.exec(error.message)?.[1] : undefined;
  return inner ?? error.member?.replace(/^task\./, "").replace(/[.[].*$/, "");
}
