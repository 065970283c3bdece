// SPDX-License-Identifier: MIT
// Numbers, queues and hosts, refreshed with each message of the feed.

import { ask } from "./api";
import { byId, element, refill, table, words } from "./dom";
import { count, nothing, rate, span } from "./format";
import type { Host, Queue, Stats } from "./types";

// Without numbers: the service is away.
export function showNumbers(stats: Stats | undefined): void {
  const tile = (name: string, value: string, className = "") =>
    element("div", { class: `tile ${className}` }, element("span", { class: "value" }, value), element("span", { class: "quiet" }, name));
  const perSecond = (value: number | undefined) => (stats === undefined ? nothing : rate(value));
  const latency = (latencies: Stats["wait"]) => (latencies === undefined || latencies.count === 0 ? nothing : span(latencies.p50));
  const failed = stats?.rates?.failed ?? 0;
  refill(
    byId("numbers"),
    tile("submitted per second", perSecond(stats?.rates?.submitted)),
    tile("completed per second", perSecond(stats?.rates?.completed)),
    tile("failed per second", perSecond(failed), failed > 0 ? "bad" : ""),
    tile("running", stats === undefined ? nothing : count(stats.running as number | undefined)),
    tile("wait, median", latency(stats?.wait)),
    tile("run, median", latency(stats?.run)),
  );
}

// Zeros are shown in a quiet colour.
function number(value: number | undefined): HTMLElement {
  return element("span", { class: (value ?? 0) === 0 ? "nought" : undefined }, count(value));
}

export interface QueueActions {
  remove(name: string): void;
  failed(error: unknown): void;
}

export function showQueues(queues: Queue[], actions: QueueActions): void {
  const place = byId("queues");
  byId("queue-count").textContent = queues.length > 1 ? String(queues.length) : "";
  if (queues.length === 0) {
    refill(place, element("p", { class: "quiet" }, "None yet: the first task makes one."));
    return;
  }
  const pause = (queue: Queue) =>
    element(
      "button",
      {
        type: "button",
        id: `pause-${queue.name}`,
        "aria-label": `${queue.is_paused ? "Resume" : "Pause"} the queue ${queue.name}`,
        click: () => {
          ask("POST", `/queues/${encodeURIComponent(queue.name)}/${queue.is_paused ? "resume" : "pause"}`)
            .then(() => loadQueues(actions))
            .catch((error: unknown) => actions.failed(error));
        },
      },
      queue.is_paused ? "Resume" : "Pause",
    );
  const remove = (queue: Queue) =>
    element("button", { type: "button", id: `delete-${queue.name}`, "aria-label": `Delete the queue ${queue.name}`, click: () => actions.remove(queue.name) }, "Delete");
  const sorted = [...queues].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  refill(
    place,
    element(
      "div",
      { class: "scroll", role: "region", tabindex: 0, "aria-label": "Queues" },
      table(
        "Tasks by queue",
        [
          { name: "Queue" },
          { name: "Pending", isNumber: true },
          { name: "Running", isNumber: true },
          { name: "Completed", isNumber: true },
          { name: "Failed", isNumber: true },
          { name: "Cancelled", isNumber: true },
          { name: "Pause, resume or delete", isAction: true },
        ],
        sorted.map((queue) => [
          element("span", { class: "named" }, words(queue.name), queue.is_paused && element("span", { class: "badge paused" }, "paused")),
          number(queue.counts.pending),
          number(queue.counts.running),
          number(queue.counts.completed),
          number(queue.counts.failed),
          number(queue.counts.cancelled),
          element("span", { class: "pair" }, pause(queue), remove(queue)),
        ]),
      ),
    ),
  );
}

export async function loadQueues(actions: QueueActions): Promise<Queue[]> {
  const { queues } = await ask<{ queues: Queue[] }>("GET", "/queues");
  showQueues(queues, actions);
  return queues;
}

export function showHosts(hosts: Host[]): void {
  const place = byId("hosts");
  if (hosts.length === 0) {
    refill(place, element("p", { class: "quiet" }, "Tasks of the kind ", element("code", {}, "http"), " deliver requests; the hosts they go to are shown here, with their circuit breakers."));
    return;
  }
  refill(
    place,
    element(
      "div",
      { class: "scroll", role: "region", tabindex: 0, "aria-label": "Hosts" },
      table(
        "Circuit breakers and limits by host",
        [{ name: "Host" }, { name: "Circuit" }, { name: "In flight", isNumber: true }, { name: "Waiting", isNumber: true }, { name: "Again in", isNumber: true }],
        hosts.map((host) => [
          words(host.host),
          element("span", { class: `badge ${host.circuit}` }, host.circuit.replace("_", " ")),
          number(host.in_flight),
          number(host.waiting),
          host.retry_after > 0 ? span(host.retry_after) : "",
        ]),
      ),
    ),
  );
}
