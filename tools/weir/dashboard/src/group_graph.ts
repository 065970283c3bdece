// SPDX-License-Identifier: MIT
// The graph of a group: each task is right of those that it comes after. Tasks without neighbours
// are a list below it. Large groups are summarised by kind and status.

import { element, numberOf, table, words } from "./dom";
import { count } from "./format";
import type { Task } from "./types";

const nodeWidth = 150;
const nodeHeight = 42;
const gapX = 48;
const gapY = 12;
const mostLetters = 18; // of a kind, in a node
const mostFailed = 50; // listed of a large group

interface Point {
  x: number;
  y: number;
}

function shape(name: string, properties: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) {
    created.setAttribute(key, String(value));
  }
  created.append(...children);
  return created;
}

// The column of each task: one more than the last of those before it.
export function layersOf(tasks: Task[]): Map<string, number> {
  const layers = new Map<string, number>();
  for (const task of tasks) {
    // Members come in the order of their ids, and a task has a larger one than those before it.
    const before = (task.after ?? []).flatMap((each) => layers.get(each.task) ?? []);
    layers.set(task.id, before.length === 0 ? 0 : Math.max(...before) + 1);
  }
  return layers;
}

// Those that come before or after other members.
function neighbours(tasks: Task[]): Set<string> {
  const members = new Set(tasks.map((task) => task.id));
  const found = new Set<string>();
  for (const task of tasks) {
    for (const { task: before } of task.after ?? []) {
      if (members.has(before)) {
        found.add(before).add(task.id);
      }
    }
  }
  return found;
}

export function drawGraph(tasks: Task[]): HTMLElement[] {
  const linked = neighbours(tasks);
  const drawn = tasks.filter((task) => linked.has(task.id));
  const loose = tasks.filter((task) => !linked.has(task.id));
  return [...(drawn.length > 0 ? [drawLinked(drawn)] : []), ...(loose.length > 0 ? [listOf("Tasks that wait for no other", loose)] : [])];
}

function placesOf(tasks: Task[]): { places: Map<string, Point>; width: number; height: number } {
  const layers = layersOf(tasks);
  const columns: string[][] = [];
  for (const task of tasks) {
    (columns[layers.get(task.id) ?? 0] ??= []).push(task.id);
  }
  const rows = Math.max(...columns.map((column) => column.length));
  const places = new Map<string, Point>();
  columns.forEach((column, layer) => {
    const top = ((rows - column.length) * (nodeHeight + gapY)) / 2; // in the middle
    column.forEach((id, row) => places.set(id, { x: layer * (nodeWidth + gapX) + 2, y: top + row * (nodeHeight + gapY) + 2 }));
  });
  return { places, width: columns.length * (nodeWidth + gapX) - gapX + 4, height: rows * (nodeHeight + gapY) - gapY + 4 };
}

function drawLinked(tasks: Task[]): HTMLElement {
  const { places, width, height } = placesOf(tasks);
  const edges = tasks.flatMap((task) => (task.after ?? []).flatMap((each) => edge(places.get(each.task), places.get(task.id), each.outcome)));
  const place = element("div", { class: "graph-of-group", tabindex: 0, role: "region", "aria-label": "Graph of the group" });
  place.append(
    shape(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Tasks, each right of those that it comes after" },
      ...edges,
      ...tasks.map((task) => node(task, places.get(task.id)!)),
    ),
  );
  return place;
}

function edge(from: Point | undefined, to: Point | undefined, outcome: string): SVGElement[] {
  if (from === undefined || to === undefined) {
    return []; // a task that is no member
  }
  const [x1, y1, x2, y2] = [from.x + nodeWidth, from.y + nodeHeight / 2, to.x, to.y + nodeHeight / 2];
  const middle = (x1 + x2) / 2;
  return [
    shape("path", { d: `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2 - 5},${y2}`, class: `edge ${outcome}` }),
    shape("path", { d: `M${x2 - 6},${y2 - 4} L${x2},${y2} L${x2 - 6},${y2 + 4} z`, class: "tip" }),
  ];
}

function node(task: Task, { x, y }: Point): SVGElement {
  return shape(
    "a",
    { href: `#${task.id}`, id: `node-${task.id}`, class: `node ${task.status}`, "aria-label": nameOf(task) },
    shape("title", {}, titleOf(task)),
    shape("rect", { x, y, width: nodeWidth, height: nodeHeight, rx: 6 }),
    shape("text", { x: x + 10, y: y + 17 }, cut(task.kind)),
    shape("text", { x: x + 10, y: y + 34, class: "status-text" }, task.status),
  );
}

function listOf(name: string, tasks: Task[]): HTMLElement {
  return element(
    "ul",
    { class: "loose-tasks", "aria-label": name },
    ...tasks.map((task) =>
      element(
        "li",
        {},
        element(
          "a",
          { href: `#${task.id}`, id: `node-${task.id}`, class: `node ${task.status}`, "aria-label": nameOf(task), title: titleOf(task) },
          element("bdi", {}, cut(task.kind)),
          element("span", { class: "status-text" }, task.status),
        ),
      ),
    ),
  );
}

const nameOf = (task: Task) => `${task.kind} ${task.id}: ${task.status}`;
const titleOf = (task: Task) => `${task.kind} ${task.id}${task.error === null ? "" : `: ${task.error.slice(0, 300)}`}`;
const cut = (kind: string) => (kind.length > mostLetters ? `${kind.slice(0, mostLetters - 1)}…` : kind);

// How many tasks of each kind have each status, of those that were read.
export function summarise(tasks: Task[]): HTMLElement {
  const counts = new Map<string, number>();
  for (const task of tasks) {
    const key = `${task.kind}\n${task.status}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return table(
    "Tasks by kind and status",
    [{ name: "Kind" }, { name: "Status" }, { name: "Tasks", isNumber: true }],
    [...counts].sort().map(([key, number]) => {
      const [kind, status] = key.split("\n");
      return [words(kind ?? ""), element("span", { class: `badge ${status}` }, status), numberOf(number)];
    }),
  );
}

// The failed ones of a large group, of those that were read.
export function listFailed(tasks: Task[]): HTMLElement | false {
  const failed = tasks.filter((task) => task.status === "failed");
  const title = failed.length > mostFailed ? `The first ${count(mostFailed)} failed tasks` : "Failed tasks";
  return failed.length > 0 && element("section", {}, element("h3", {}, title), listOf(title, failed.slice(0, mostFailed)));
}
