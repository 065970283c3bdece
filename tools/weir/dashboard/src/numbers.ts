// SPDX-License-Identifier: MIT
// The numbers at the top, refreshed with each message of the feed.

import { byId, element, refill } from "./dom";
import { count, nothing, rate, span } from "./format";
import type { Stats } from "./types";

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
