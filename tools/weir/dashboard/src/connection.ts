// SPDX-License-Identifier: MIT
// The line that says whether the service answers, and the banner while it does not.

import { byId, element } from "./dom";

export class Connection {
  private isLive = false;
  private lostAt: Date | undefined;
  private nextAttempt = 0;
  // Announced once, then counted down without a new announcement each second.
  private readonly seconds = element("span", { "aria-hidden": "true" });

  constructor() {
    window.setInterval(() => this.showBanner(), 1000);
  }

  found(): void {
    this.isLive = true;
    this.lostAt = undefined;
    this.show();
  }

  // True for the first time since it was found.
  lost(): boolean {
    const isNew = this.isLive || this.lostAt === undefined;
    this.isLive = false;
    this.lostAt = isNew ? new Date() : this.lostAt;
    this.show();
    return isNew;
  }

  // For lack of a valid token.
  refused(): void {
    this.isLive = false;
    this.lostAt = undefined;
    this.show();
  }

  retriesIn(milliseconds: number): void {
    this.nextAttempt = Date.now() + milliseconds;
    this.showBanner();
  }

  private show(): void {
    const place = byId("connection");
    place.textContent = this.isLive ? "live" : this.lostAt === undefined ? "a token is needed" : "not connected";
    place.className = this.isLive ? "live" : "away";
    document.body.classList.toggle("stale", !this.isLive && this.lostAt !== undefined);
    this.showBanner();
  }

  private showBanner(): void {
    const place = byId("banner");
    place.hidden = this.isLive || this.lostAt === undefined;
    if (!place.hidden && place.childElementCount === 0) {
      place.append(`The service has not answered since ${this.lostAt?.toLocaleTimeString("en-GB")}; what is shown is from then. `, this.seconds);
    } else if (place.hidden) {
      place.replaceChildren();
    }
    const left = Math.ceil((this.nextAttempt - Date.now()) / 1000);
    this.seconds.textContent = left > 0 ? `Trying again in ${left} s.` : "Trying again.";
  }
}
