// SPDX-License-Identifier: MIT
// What this service offers, by its own description: the page also works with a service of another
// version. Read once, when a part of the page first needs it.

import { ask } from "./api";

interface Description {
  paths: Record<string, unknown>;
  components: { schemas: Record<string, { properties?: Record<string, unknown> }> };
}

export class Features {
  constructor(private readonly description: Description) {}

  // Names of parameters do not matter: '/queues/{}/keys'.
  has(path: string): boolean {
    return Object.keys(this.description.paths).some((each) => each.replaceAll(/\{\w+\}/g, "{}") === path);
  }

  // The members that a request may have.
  membersOf(schema: string): string[] {
    return Object.keys(this.description.components.schemas[schema]?.properties ?? {});
  }
}

let known: Promise<Features> | undefined;

export function features(): Promise<Features> {
  known ??= ask<Description>("GET", "/openapi.json").then(
    (description) => new Features(description),
    (error: unknown) => {
      known = undefined; // asked again next time
      throw error;
    },
  );
  return known;
}

// The next service on this address may be another version.
export function forgetFeatures(): void {
  known = undefined;
}
