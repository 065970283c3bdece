// SPDX-License-Identifier: MIT
// The hosts that deliveries go to, with their circuits and limits.

import { byId, element, numberOf, refill, table, words } from "./dom";
import { span } from "./format";
import type { Host } from "./types";

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
          numberOf(host.in_flight),
          numberOf(host.waiting),
          host.retry_after > 0 ? span(host.retry_after) : "",
        ]),
      ),
    ),
  );
}
