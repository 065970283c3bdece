// SPDX-License-Identifier: MIT
// The nodes: processes that run tasks, each with those that it runs, and since when.

import { addressOf } from "./address";
import { ask } from "./api";
import { byId, element, refill, table, timeOf, words } from "./dom";
import { count, span } from "./format";
import { statusOf } from "./tasks";
import type { Node as ServiceNode, Task } from "./types";

const mostTasks = 200;

export class NodeList {
  private readonly place = byId("nodes");

  constructor(private readonly openTask: (id: string) => void) {}

  async load(): Promise<void> {
    const [{ nodes }, { tasks }] = await Promise.all([
      ask<{ nodes: ServiceNode[] }>("GET", "/nodes"),
      ask<{ tasks: Task[] }>("GET", `/tasks?state=running&limit=${mostTasks}`),
    ]);
    this.show(nodes, tasks);
  }

  private show(nodes: ServiceNode[], tasks: Task[]): void {
    const now = Date.now();
    if (nodes.length === 0) {
      refill(this.place, element("p", { class: "quiet" }, "None: this process has not begun to run tasks."));
      return;
    }
    refill(this.place, ...nodes.map((node) => this.card(node, tasks.filter((task) => task.node === node.id), now)));
  }

  private card(node: ServiceNode, tasks: Task[], now: number): HTMLElement {
    const fact = (name: string, value: HTMLElement | string | false) => element("div", {}, element("dt", {}, name), element("dd", {}, value));
    const left = node.running - tasks.length;
    return element(
      "section",
      { class: "card", id: `node-${node.id}`, "aria-labelledby": `node-title-${node.id}` },
      element(
        "h2",
        { id: `node-title-${node.id}`, class: "named" },
        element("code", {}, node.id),
        element("span", { class: `badge ${node.is_alive ? "completed" : "failed"}` }, node.is_alive ? "alive" : "lease expired"),
        node.is_self && element("span", { class: "badge" }, "answers here"),
      ),
      element(
        "dl",
        { class: "facts" },
        fact("Host", element("span", { title: node.host }, node.host.split(" ")[0])),
        fact("Process", String(node.pid)),
        fact("Since", timeOf(node.started_at)),
        fact("Last heard of", timeOf(node.heard_at)),
        fact("Lease until", timeOf(node.lease_until)),
        fact("Running", count(node.running)),
      ),
      tasks.length > 0 &&
        table(
          `Tasks that ${node.id} runs`,
          [{ name: "Task" }, { name: "Kind" }, { name: "Queue" }, { name: "Status" }, { name: "Since" }, { name: "For", isNumber: true }],
          tasks.map((task) => [
            element("button", { type: "button", class: "link", id: `runs-${task.id}`, click: () => this.openTask(task.id) }, task.id),
            words(task.kind),
            words(task.queue),
            statusOf(task),
            timeOf(task.started_at),
            task.started_at === null ? "" : span(Math.max(0, Math.round((now - Date.parse(task.started_at)) / 1000))),
          ]),
        ),
      left > 0 && element("p", {}, element("a", { href: addressOf("tasks", { state: "running" }) }, `${count(left)} more`)),
    );
  }
}
