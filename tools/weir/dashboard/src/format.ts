// SPDX-License-Identifier: MIT
// Numbers and times for people.

export const nothing = "–";

export function count(value: number | undefined): string {
  return (value ?? 0).toLocaleString("en");
}

export function rate(value: number | undefined): string {
  const number = value ?? 0;
  return (number >= 100 ? Math.round(number) : Number(number.toFixed(1))).toLocaleString("en");
}

// '1.2 ms', '350 ms', '9.4 s', '12 min': of seconds.
export function span(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) {
    return nothing;
  }
  const plain = (value: number, unit: string) => `${value >= 100 || value === 0 ? Math.round(value) : Number(value.toPrecision(value < 1 ? 1 : 2))} ${unit}`;
  return seconds < 0.9995 ? plain(seconds * 1000, "ms") : seconds < 120 ? plain(seconds, "s") : seconds < 7200 ? plain(seconds / 60, "min") : plain(seconds / 3600, "h");
}

// '5k/s', for axes.
export function shortRate(value: number): string {
  return (value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(Number(value.toPrecision(3)))) + "/s";
}

const two = (value: number) => String(value).padStart(2, "0");

// '2026-11-15 09:30:00', in the time zone of the browser; with milliseconds where they matter.
export function localTime(text: string, isExact = false): string {
  const at = new Date(text);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return `${day} ${clock}${isExact ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : ""}`;
}

// '2026-11-15 09:30:00.250 UTC'.
export function utcTime(text: string): string {
  return `${new Date(text).toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

// '3 s ago', 'in 2 min'.
export function relative(text: string | null | undefined, now = Date.now()): string {
  if (!text) {
    return "";
  }
  const seconds = Math.round((new Date(text).getTime() - now) / 1000);
  const size = Math.abs(seconds);
  const words =
    size < 60 ? `${size} s` : size < 3600 ? `${Math.round(size / 60)} min` : size < 86400 ? `${Math.round(size / 3600)} h` : `${Math.round(size / 86400)} d`;
  return seconds > 0 ? `in ${words}` : size === 0 ? "now" : `${words} ago`;
}

export function duration(from: string | null | undefined, to: string | null | undefined): string {
  return from && to ? span((new Date(to).getTime() - new Date(from).getTime()) / 1000) : "";
}
