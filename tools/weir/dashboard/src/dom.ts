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

// A table whose cells know their column's name, so that narrow screens can show rows as cards.
export function table(caption: string, columns: string[], rows: Child[][]): HTMLElement {
  return element(
    "table",
    {},
    element("caption", { class: "quiet" }, caption),
    element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)))),
    element(
      "tbody",
      {},
      ...rows.map((cells) =>
        element("tr", {}, ...cells.map((cell, index) => element("td", { "data-column": columns[index] }, cell))),
      ),
    ),
  );
}

// Replaces what is in the element, and gives the focus back to the element that had it, by its id.
export function refill(place: HTMLElement, ...content: Child[]): void {
  const focused = place.contains(document.activeElement) ? document.activeElement?.id : undefined;
  place.replaceChildren(...content.filter((child): child is Node | string => child instanceof Node || typeof child === "string"));
  if (focused) {
    document.getElementById(focused)?.focus();
  }
}
