// SPDX-License-Identifier: MIT
// What the address of the page names: the view, the filter of the list, the group and the task that
// are open.
// So links can be shared, and the browser's buttons go back and forward.

export const views = ["tasks", "groups", "queues", "schedules", "nodes"] as const;
export type View = (typeof views)[number];

// Members of the query of GET /tasks, and `id`: the beginning of an id.
export const filterNames = ["id", "state", "status", "queue", "kind", "tag", "flow_key", "from", "to"] as const;
export type FilterName = (typeof filterNames)[number];
export type Filter = Partial<Record<FilterName, string>>;

export interface Place {
  view: View;
  filter: Filter;
  group: string | undefined; // of the view of groups
  task: string | undefined;
}

const idPattern = /^[0-7][0-9a-z]{12}$/i;

export function placeOf(address: URL | Location): Place {
  const query = new URLSearchParams(address.search);
  const named = query.get("view");
  const filter: Filter = {};
  for (const name of filterNames) {
    const value = query.get(name);
    if (value) {
      filter[name] = value;
    }
  }
  const hash = address.hash.slice(1);
  const group = query.get("group") ?? "";
  return {
    view: views.find((view) => view === named) ?? "tasks",
    filter,
    group: idPattern.test(group) ? group.toLowerCase() : undefined,
    task: idPattern.test(hash) ? hash.toLowerCase() : undefined,
  };
}

export function addressOf(view: View, filter: Filter = {}, group: string | undefined = undefined): string {
  const query = new URLSearchParams();
  if (view !== "tasks") {
    query.set("view", view);
  }
  for (const name of filterNames) {
    const value = filter[name];
    if (value) {
      query.set(name, value);
    }
  }
  if (group !== undefined) {
    query.set("group", group);
  }
  const text = query.toString();
  return text === "" ? "/" : `/?${text}`;
}

let changed: () => void = () => undefined;

// Called after each change of the address, by the page or by the browser.
export function onAddress(callback: () => void): void {
  changed = callback;
  window.addEventListener("popstate", callback);
  // Links within the page do not load it again, unless they are to open elsewhere.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (link !== null && isPlain && link.origin === window.location.origin && link.pathname === "/" && !link.getAttribute("href")?.startsWith("#")) {
      event.preventDefault();
      go(link.href);
    }
  });
}

export function go(address: string): void {
  if (new URL(address, window.location.href).href !== window.location.href) {
    history.pushState(null, "", address);
  }
  changed();
}

// Another spelling of the same place: no step of its own for the browser's buttons.
export function replace(address: string): void {
  history.replaceState(history.state, "", address);
}

// The task is a step of its own: going back closes it.
export function goToTask(id: string): void {
  if (placeOf(window.location).task !== id) {
    history.pushState(null, "", `#${id}`);
  }
  changed();
}

// At once, unlike history.back(): the user may open another task meanwhile.
export function leaveTask(): void {
  if (placeOf(window.location).task !== undefined) {
    replace(window.location.pathname + window.location.search);
  }
}
