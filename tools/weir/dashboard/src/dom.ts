// SPDX-License-Identifier: MIT
// Creates elements. Texts become text nodes, never markup: the contents of tasks cannot become part
// of the page.

import { count, localTime, utcTime } from "./format";

export type Child = Node | string | number | null | undefined | false;

interface Properties {
  [name: string]: string | number | boolean | ((event: Event) => void) | undefined;
}

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) {
      continue;
    }
    if (typeof value === "function") {
      created.addEventListener(key, value);
    } else {
      created.setAttribute(key, value === true ? "" : String(value));
    }
  }
  created.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map(asNode));
  return created;
}

function asNode(child: Child): Node | string {
  return child instanceof Node ? child : String(child);
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) {
    throw new Error(`the page has no element '${id}'`);
  }
  return found;
}

export function dialogById(id: string): HTMLDialogElement {
  return byId(id) as HTMLDialogElement;
}

// A text from a task: its writing direction does not affect its surroundings. Cut if there is no
// room; the title has all of it.
export function words(text: string, className = "name"): HTMLElement {
  return element("bdi", { class: className, dir: "auto", title: text.length > 24 ? text : undefined }, text);
}

// A moment in local time; its title is the same in UTC.
export function timeOf(at: string | null | undefined, isExact = false): HTMLElement | false {
  return !!at && element("time", { datetime: at, title: utcTime(at) }, localTime(at, isExact));
}

// Zeros are shown in a quiet colour.
export function numberOf(value: number | undefined): HTMLElement {
  return element("span", { class: (value ?? 0) === 0 ? "nought" : undefined }, count(value));
}

export interface Column {
  name: string;
  isNumber?: boolean;
  isAction?: boolean; // its name is for screen readers alone
}

// A table whose cells have the name of their column, so that narrow screens can show rows as cards.
export function table(caption: string, columns: Column[], rows: Child[][]): HTMLElement {
  const classOf = (column: Column) => (column.isNumber ? "number" : column.isAction ? "action" : undefined);
  const heading = (column: Column) =>
    element("th", { scope: "col", class: classOf(column) }, column.isAction ? element("span", { class: "hidden" }, column.name) : column.name);
  return element(
    "table",
    {},
    element("caption", { class: "hidden" }, caption),
    element("thead", {}, element("tr", {}, ...columns.map(heading))),
    element(
      "tbody",
      {},
      ...rows.map((cells) =>
        element("tr", {}, ...cells.map((cell, index) => element("td", { "data-column": columns[index]?.name, class: classOf(columns[index]!) }, cell))),
      ),
    ),
  );
}

// Replaces the content of the element, but keeps nodes that are equal: so focus, selection and
// scroll positions survive.
export function refill(place: HTMLElement, ...content: Child[]): void {
  const fresh = element("div", {}, ...content);
  const focused = place.contains(document.activeElement) ? document.activeElement?.id : undefined;
  patchChildren(place, fresh);
  if (focused && document.activeElement?.id !== focused) {
    document.getElementById(focused)?.focus();
  }
}

function patchChildren(old: Element, fresh: Element): void {
  const wanted = [...fresh.childNodes];
  wanted.forEach((node, index) => {
    const present = old.childNodes[index];
    if (present === undefined) {
      old.append(node);
    } else {
      patch(present, node);
    }
  });
  while (old.childNodes.length > wanted.length) {
    old.lastChild?.remove();
  }
}

// Buttons are replaced as a whole: the listener belongs to the content.
function patch(old: ChildNode, fresh: ChildNode): void {
  if (old.isEqualNode(fresh)) {
    return;
  }
  const isAlike =
    old instanceof Element && fresh instanceof Element && old.tagName === fresh.tagName && old.id === fresh.id && old.tagName !== "BUTTON";
  if (!isAlike) {
    old.replaceWith(fresh);
    return;
  }
  for (const name of old.getAttributeNames()) {
    if (!fresh.hasAttribute(name)) {
      old.removeAttribute(name);
    }
  }
  for (const name of fresh.getAttributeNames()) {
    old.setAttribute(name, fresh.getAttribute(name) ?? "");
  }
  patchChildren(old, fresh);
}
