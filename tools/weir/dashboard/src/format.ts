// SPDX-License-Identifier: MIT
// Numbers and times for people.

export function count(value: number | undefined): string {
  return (value ?? 0).toLocaleString("en");
}

export function rate(value: number | undefined): string {
  const number = value ?? 0;
  return number >= 100 || number === 0 ? Math.round(number).toLocaleString("en") : number.toFixed(1);
}

export function milliseconds(seconds: number | undefined): string {
  const value = (seconds ?? 0) * 1000;
  return value >= 100 ? `${Math.round(value)} ms` : `${value.toFixed(1)} ms`;
}

export function time(text: string | null | undefined): string {
  return text ? new Date(text).toLocaleString() : "";
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
  if (!from || !to) {
    return "";
  }
  const seconds = (new Date(to).getTime() - new Date(from).getTime()) / 1000;
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}
