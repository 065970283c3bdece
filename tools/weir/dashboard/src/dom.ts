// SPDX-License-Identifier: MIT
// Elements made by hand. Texts become text nodes, never markup: what tasks contain cannot become part of the page.

type Child = Node | string | number | null | undefined | false;

interface Properties {
  [name: string]: string | number | boolean | ((event: Event) => void) | undefined;
}

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) {
      continue;
    }
    if (typeof value === "function") {
      made.addEventListener(key, value);
    } else {
      made.setAttribute(key, value === true ? "" : String(value));
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map(asNode));
  return made;
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

// A text of somebody else's: whatever directions of writing are in it stay in it. Cut where there is no room; the whole
// of it is its title.
export function words(text: string, className = "name"): HTMLElement {
  return element("bdi", { class: className, dir: "auto", title: text.length > 24 ? text : undefined }, text);
}

export interface Column {
  name: string;
  isNumber?: boolean;
  isAction?: boolean; // its name is for screen readers alone
}

// A table whose cells know their column's name, so that narrow screens can show rows as cards.
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

// Makes the element have this content, and leaves alone what is the same already: so the focus, a selection and where
// something was scrolled to outlive it.
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

// What listens is replaced as a whole: its listener belongs to what it says.
function patch(old: ChildNode, fresh: ChildNode): void {
  if (old.isEqualNode(fresh)) {
    return;
  }
  const isAlike =
    old instanceof HTMLElement && fresh instanceof HTMLElement && old.tagName === fresh.tagName && old.id === fresh.id && old.tagName !== "BUTTON";
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
