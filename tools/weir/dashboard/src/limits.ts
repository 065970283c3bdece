// SPDX-License-Identifier: MIT
// The limits of a queue, in words and as fields of a form.

import { element } from "./dom";
import type { Fields } from "./fields";
import { count, rate } from "./format";

export type Limits = Record<string, number>;

const names = ["max_pending", "max_running", "rate", "burst", "key_max_running", "key_rate", "key_burst"];

// '4 running, 10/s'. 0 is no limit; a burst of 1 is the default.
export function limitsText(limits: Limits): string {
  const speed = (perSecond: number, burst: number) => perSecond > 0 && `${rate(perSecond)}/s${burst > 1 ? ` in bursts of ${count(burst)}` : ""}`;
  const parts = [
    (limits["max_running"] ?? 0) > 0 && `${count(limits["max_running"])} running`,
    speed(limits["rate"] ?? 0, limits["burst"] ?? 1),
    (limits["max_pending"] ?? 0) > 0 && `${count(limits["max_pending"])} pending`,
  ];
  const perKey = [(limits["key_max_running"] ?? 0) > 0 && `${count(limits["key_max_running"])} running`, speed(limits["key_rate"] ?? 0, limits["key_burst"] ?? 1)];
  const text = (list: (string | false)[]) => list.filter((part) => part !== false).join(", ");
  return [text(parts), text(perKey) === "" ? "" : `per key ${text(perKey)}`].filter((part) => part !== "").join("; ");
}

export function limitFields(fields: Fields): HTMLElement {
  return element(
    "div",
    { class: "fields" },
    fields.number("max_running", "Running at once"),
    fields.number("max_pending", "Pending, more are refused"),
    fields.number("rate", "Starts per second"),
    fields.number("burst", "Burst", "starts at once, with a rate"),
    fields.number("key_max_running", "Running at once, of each flow key"),
    fields.number("key_rate", "Starts per second, of each flow key"),
    fields.number("key_burst", "Burst of each flow key"),
  );
}

export function fillLimits(fields: Fields, limits: Limits): void {
  for (const name of names) {
    const value = limits[name] ?? 0;
    const isDefault = value === 0 || (name.endsWith("burst") && value === 1);
    fields.set(name, isDefault ? "" : String(value));
  }
}

// Empty fields remove their limit.
export function readLimits(fields: Fields): Record<string, number | null> {
  return Object.fromEntries(names.map((name) => [name, fields.getNumber(name) ?? null]));
}
