// SPDX-License-Identifier: MIT
// Endpoints that have answered that they are gone: nothing is delivered to them until somebody
// enables them.

import { ask } from "./api";
import { byId, element, refill, table, timeOf, words } from "./dom";
import { features } from "./features";

interface Endpoint {
  kind: string;
  name: string;
  since: string;
  reason: string;
}

export class EndpointList {
  private readonly place = byId("endpoints");

  constructor(private readonly failed: (error: unknown) => void) {}

  // The service may not know such endpoints.
  async load(): Promise<void> {
    const isKnown = (await features()).has("/destinations");
    this.show(isKnown ? (await ask<{ disabled: Endpoint[] }>("GET", "/destinations")).disabled : []);
  }

  private show(endpoints: Endpoint[]): void {
    const enable = ({ kind, name }: Endpoint) =>
      ask("POST", "/destinations/enable", { kind, name })
        .then(() => this.load())
        .catch((error: unknown) => this.failed(error));
    refill(
      this.place,
      endpoints.length > 0 && element("h3", {}, "Disabled endpoints"),
      endpoints.length > 0 &&
        table(
          "Disabled endpoints",
          [{ name: "Endpoint" }, { name: "Since" }, { name: "Reason" }, { name: "Enable", isAction: true }],
          endpoints.map((each) => [
            words(each.name, ""),
            timeOf(each.since),
            words(each.reason, "quiet"),
            element("button", { type: "button", id: `enable-${each.name}`, "aria-label": `Enable ${each.name}`, click: () => void enable(each) }, "Enable"),
          ]),
        ),
    );
  }
}
