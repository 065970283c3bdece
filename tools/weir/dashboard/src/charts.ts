// SPDX-License-Identifier: MIT
// The last five minutes, second by second: the history of the service, continued by messages of the
// feed.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { element } from "./dom";
import { nothing, rate, shortRate, span } from "./format";
import type { History, Stats } from "./types";

const kept = 300; // seconds
const height = 160;

// Null: no task to measure.
export interface Sample {
  at: number; // seconds
  values: Record<string, number | null>;
}

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

interface Line {
  name: string; // in samples
  label: string;
  color: string; // a variable of the style sheet
  dash?: number[]; // colours alone do not distinguish lines
}

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function clockOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

class Chart {
  private plot: uPlot | undefined;
  private data: (number | null)[][] = [];
  private readonly drawing = element("div", { class: "drawing" });
  private readonly empty: HTMLElement;
  private readonly shown: HTMLElement[];

  constructor(
    place: HTMLElement,
    private readonly lines: Line[],
    private readonly format: (value: number) => string,
    private readonly axis: (value: number) => string,
    whenEmpty: string,
  ) {
    this.empty = element("p", { class: "empty quiet" }, whenEmpty);
    this.shown = lines.map(() => element("span", { class: "reading" }, nothing));
    const legend = element(
      "ul",
      { class: "legend" },
      ...lines.map((line, index) => element("li", { class: `swatch ${line.color.slice(2)} ${line.dash === undefined ? "" : line.dash[0]! < 4 ? "dotted" : "dashed"}` }, line.label, " ", this.shown[index])),
    );
    this.drawing.append(this.empty);
    place.append(legend, this.drawing);
    this.set([]);
    this.draw();
    new ResizeObserver(() => this.plot?.setSize({ width: this.width(), height })).observe(place);
  }

  set(samples: Sample[]): void {
    this.data = [samples.map((sample) => sample.at), ...this.lines.map((line) => samples.map((sample) => sample.values[line.name] ?? null))];
    this.empty.hidden = this.data.slice(1).some((values) => values.some((value) => value !== null && value > 0));
    this.plot?.setData(this.data as uPlot.AlignedData);
    this.read();
  }

  // Also called when the theme has changed, since style sheets do not apply to a canvas.
  draw(): void {
    this.plot?.destroy();
    const axis = { stroke: colorOf("--quiet"), grid: { stroke: colorOf("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const now = () => Date.now() / 1000;
    this.plot = new uPlot(
      {
        width: this.width(),
        height,
        padding: [10, 22, 0, 0],
        cursor: { y: false, points: { size: 7 } },
        legend: { show: false },
        hooks: { setCursor: [() => this.read()] },
        // Five minutes, also while there is less: the line grows from the right.
        scales: {
          x: { range: (_plot, _least, most) => [(most ?? now()) - kept, most ?? now()] },
          y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.15 : 1] },
        },
        axes: [
          { ...axis, size: 28, space: 60, incrs: [60, 120, 300], values: (_plot, times) => times.map(clockOf) },
          { ...axis, size: 62, space: 34, values: (_plot, values) => values.map(this.axis) },
        ],
        series: [
          {},
          ...this.lines.map((line) => ({
            label: line.label,
            stroke: colorOf(line.color),
            dash: line.dash,
            width: 2,
            points: { show: true, size: 4, fill: colorOf(line.color), filter: lonely },
          })),
        ],
      },
      this.data as uPlot.AlignedData,
      this.drawing,
    );
  }

  // Where the pointer is, or else the newest.
  private read(): void {
    const index = this.plot?.cursor.idx ?? (this.data[0]?.length ?? 0) - 1;
    this.shown.forEach((place, line) => {
      const value = this.data[line + 1]?.[index];
      place.textContent = value === null || value === undefined ? nothing : this.format(value);
    });
  }

  private width(): number {
    return Math.max(200, this.drawing.clientWidth);
  }
}

// A value between two that are missing has no line, and is shown as a point.
function lonely(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  const isThere = (index: number) => values[index] !== null && values[index] !== undefined;
  return [...values.keys()].filter((index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1));
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
