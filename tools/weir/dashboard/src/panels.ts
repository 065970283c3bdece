// SPDX-License-Identifier: MIT
// Numbers, queues and hosts: what is shown anew with each message of the feed.

import { ask } from "./api";
import { byId, element, refill, table } from "./dom";
import { count, milliseconds, rate } from "./format";
import type { Host, Queue, Stats } from "./types";

export function showNumbers(stats: Stats): void {
  const tile = (name: string, value: string) =>
    element("div", { class: "tile" }, element("span", { class: "value" }, value), element("span", { class: "quiet" }, name));
  refill(
    byId("numbers"),
    tile("submitted a second", rate(stats.rates?.submitted)),
    tile("completed a second", rate(stats.rates?.completed)),
    tile("failed a second", rate(stats.rates?.failed)),
    tile("running", count(stats.running as number | undefined)),
    tile("wait, median", milliseconds(stats.wait?.p50)),
    tile("run, median", milliseconds(stats.run?.p50)),
  );
}

export function showQueues(queues: Queue[], failed: (error: unknown) => void): void {
  const place = byId("queues");
  if (queues.length === 0) {
    refill(place, element("p", { class: "quiet" }, "None yet: the first task makes one."));
    return;
  }
  const button = (queue: Queue) =>
    element(
      "button",
      {
        type: "button",
        id: `pause-${queue.name}`,
        "aria-label": `${queue.is_paused ? "Resume" : "Pause"} the queue ${queue.name}`,
        click: () => {
          ask("POST", `/queues/${encodeURIComponent(queue.name)}/${queue.is_paused ? "resume" : "pause"}`)
            .then(() => loadQueues(failed))
            .catch(failed);
        },
      },
      queue.is_paused ? "Resume" : "Pause",
    );
  refill(
    place,
    table(
      "Tasks by queue",
      ["Queue", "Pending", "Running", "Completed", "Failed", "Cancelled", ""],
      queues.map((queue) => [
        element("span", {}, queue.name, queue.is_paused && element("span", { class: "badge paused" }, "paused")),
        count(queue.counts.pending),
        count(queue.counts.running),
        count(queue.counts.completed),
        count(queue.counts.failed),
        count(queue.counts.cancelled),
        button(queue),
      ]),
    ),
  );
}

export async function loadQueues(failed: (error: unknown) => void): Promise<Queue[]> {
  const { queues } = await ask<{ queues: Queue[] }>("GET", "/queues");
  showQueues(queues, failed);
  return queues;
}

export function showHosts(hosts: Host[]): void {
  const place = byId("hosts");
  if (hosts.length === 0) {
    refill(place, element("p", { class: "quiet" }, "Deliveries of the kind 'http' show their hosts here."));
    return;
  }
  refill(
    place,
    table(
      "Circuit breakers and limits by host",
      ["Host", "Circuit", "In flight", "Waiting", "Again in"],
      hosts.map((host) => [
        host.host,
        element("span", { class: `badge ${host.circuit}` }, host.circuit.replace("_", " ")),
        count(host.in_flight),
        count(host.waiting),
        host.retry_after > 0 ? `${host.retry_after.toFixed(1)} s` : "",
      ]),
    ),
  );
}
