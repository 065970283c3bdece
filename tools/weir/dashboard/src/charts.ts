// SPDX-License-Identifier: MIT
// The last five minutes, second by second: the history of the service, continued by messages of the
// feed.

import { Chart, kept, type Sample } from "./chart";
import { rate, shortRate, span } from "./format";
import type { History, Stats } from "./types";

export function sampleOf(stats: Stats): Sample {
  const latency = (latencies: Stats["wait"], part: "p50" | "p99") => (latencies === undefined || latencies.count === 0 ? null : latencies[part]);
  return {
    at: new Date(stats.at).getTime() / 1000,
    values: {
      ...stats.rates,
      wait_p50: latency(stats.wait, "p50"),
      wait_p99: latency(stats.wait, "p99"),
      run_p50: latency(stats.run, "p50"),
    },
  };
}

export function samplesOf(history: History): Sample[] {
  return history.at.map((at, index) => ({
    at: new Date(at).getTime() / 1000,
    values: Object.fromEntries(
      Object.entries(history).flatMap(([name, list]) => (Array.isArray(list) && name !== "at" ? [[name, (list[index] as number | null) ?? null]] : [])),
    ),
  }));
}

export class Charts {
  private samples: Sample[] = [];
  private readonly charts: Chart[];

  constructor(throughput: HTMLElement, latency: HTMLElement) {
    const none = "Nothing in the last five minutes";
    this.charts = [
      new Chart(
        throughput,
        [
          { name: "submitted", label: "submitted", color: "--blue" },
          { name: "completed", label: "completed", color: "--green", dash: [8, 3] },
          { name: "failed", label: "failed", color: "--red", dash: [2, 3] },
        ],
        (value) => `${rate(value)}/s`,
        shortRate,
        none,
      ),
      new Chart(
        latency,
        [
          { name: "wait_p50", label: "wait, median", color: "--blue" },
          { name: "wait_p99", label: "wait, 99 %", color: "--violet", dash: [8, 3] },
          { name: "run_p50", label: "run, median", color: "--green", dash: [2, 3] },
        ],
        span,
        span,
        none,
      ),
    ];
  }

  add(...samples: Sample[]): void {
    const all = new Map(this.samples.map((sample) => [sample.at, sample]));
    samples.forEach((sample) => all.set(sample.at, sample));
    const sorted = [...all.values()].sort((a, b) => a.at - b.at);
    const end = sorted.at(-1)?.at ?? 0;
    this.samples = sorted.filter((sample) => sample.at >= end - kept);
    this.charts.forEach((chart) => chart.set(this.samples));
  }

  // The samples after a gap are not connected to those before it.
  interrupt(): void {
    const last = this.samples.at(-1);
    if (last !== undefined) {
      this.add({ at: last.at + 0.5, values: {} });
    }
  }

  draw(): void {
    this.charts.forEach((chart) => chart.draw());
  }
}
