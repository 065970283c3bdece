// SPDX-License-Identifier: MIT
// The filter of the task list: a form whose values are those of the address.

import { addressOf, go, replace, type Filter, type FilterName } from "./address";
import { element } from "./dom";
import { localTime } from "./format";

// The state, or more precisely the status.
const states: [value: string, text: string][] = [
  ["", "any"],
  ["state=pending", "pending"],
  ["status=scheduled", "pending: scheduled"],
  ["status=pending", "pending: due"],
  ["status=retrying", "pending: retrying"],
  ["state=running", "running"],
  ["status=cancelling", "running: cancelling"],
  ["state=completed", "completed"],
  ["state=failed", "failed"],
  ["state=cancelled", "cancelled"],
];

// Completed, failed and cancelled are both.
function stateOf({ state, status }: Filter): string {
  const plain = ["running", "completed", "failed", "cancelled"];
  return state ? `state=${state}` : status ? `${plain.includes(status) ? "state" : "status"}=${status}` : "";
}

const texts: FilterName[] = ["id", "queue", "kind", "tag", "flow_key"];
const times: FilterName[] = ["from", "to"];

function localInput(time: string | undefined): string {
  return time && !Number.isNaN(Date.parse(time)) ? localTime(time).replace(" ", "T").replace(/:00$/, "") : "";
}

export class FilterForm {
  readonly element: HTMLFormElement;
  private readonly inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();
  private readonly toggle: HTMLButtonElement;
  private readonly clear = element("button", { type: "button", id: "clear-filter", hidden: true, click: () => go(addressOf("tasks")) }, "Clear");
  private typing: number | undefined;
  private typedIn: EventTarget | null = null; // the field of the last step of the browser's history

  constructor() {
    const named = <Control extends HTMLInputElement | HTMLSelectElement>(name: string, control: Control): Control => {
      this.inputs.set(name, control);
      return control;
    };
    const field = (label: string, control: HTMLElement) => element("label", {}, label, control);
    const text = (name: string, properties = {}) =>
      named(name, element("input", { name, type: "text", autocomplete: "off", spellcheck: "false", maxlength: 200, ...properties }));
    const time = (name: string) => named(name, element("input", { name, type: "datetime-local" }));
    this.toggle = element("button", { type: "button", class: "toggle", "aria-expanded": "false", click: () => this.unfold() }, "Filter");
    this.element = element(
      "form",
      { class: "filters", role: "search", "aria-label": "Filter the tasks" },
      field("Id, or its beginning", text("id", { maxlength: 13, class: "mono" })),
      this.toggle,
      field("State", named("state", element("select", { name: "state" }, ...states.map(([value, name]) => element("option", { value }, name))))),
      field("Queue", text("queue", { list: "queue-names" })),
      field("Kind", text("kind")),
      field("Tag", text("tag")),
      field("Flow key", text("flow_key")),
      field("Created from", time("from")),
      field("Created before", time("to")),
      this.clear,
    );
    this.element.addEventListener("input", (event) => {
      window.clearTimeout(this.typing);
      this.typing = window.setTimeout(() => this.apply(event.target), 250);
    });
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.apply(event.submitter);
    });
    this.element.addEventListener("focusout", () => (this.typedIn = null));
  }

  // Fields in which the user is typing are left alone.
  show(filter: Filter): void {
    const set = (name: string, value: string) => {
      const input = this.inputs.get(name)!;
      if (input !== document.activeElement || this.typing === undefined) {
        input.value = value;
      }
    };
    texts.forEach((name) => set(name, filter[name] ?? ""));
    times.forEach((name) => set(name, localInput(filter[name])));
    set("state", stateOf(filter));
    const count = Object.keys(filter).filter((name) => name !== "id").length;
    this.clear.hidden = Object.keys(filter).length === 0;
    this.toggle.textContent = count === 0 ? "Filter" : `Filter (${count})`;
  }

  // The changes of one field, while it has the focus, are one step of the browser's history.
  private apply(field: EventTarget | null): void {
    window.clearTimeout(this.typing);
    this.typing = undefined;
    const address = addressOf("tasks", this.read());
    if (this.typedIn !== null && this.typedIn === field) {
      replace(address);
    }
    go(address);
    this.typedIn = field;
  }

  private read(): Filter {
    const filter: Filter = {};
    for (const name of texts) {
      filter[name] = this.inputs.get(name)!.value.trim();
    }
    for (const name of times) {
      const value = this.inputs.get(name)!.value;
      filter[name] = value === "" ? "" : new Date(value).toISOString();
    }
    const [name, value] = this.inputs.get("state")!.value.split("=");
    if (value !== undefined) {
      filter[name as FilterName] = value;
    }
    return filter;
  }

  private unfold(): void {
    const isOpen = this.element.classList.toggle("open");
    this.toggle.setAttribute("aria-expanded", String(isOpen));
  }
}
