// SPDX-License-Identifier: MIT
// The last five minutes, second by second.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Stats } from "./types";

const kept = 300;

interface Line {
  label: string;
  color: string; // a variable of the style sheet
  value: (stats: Stats) => number;
}

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function clockOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

class Chart {
  private plot: uPlot | undefined;
  private readonly data: number[][];

  constructor(
    private readonly place: HTMLElement,
    private readonly lines: Line[],
  ) {
    this.data = [[], ...lines.map(() => [])];
    this.draw();
    new ResizeObserver(() => this.plot?.setSize({ width: this.width(), height: 160 })).observe(place);
  }

  add(stats: Stats): void {
    const values = [new Date(stats.at).getTime() / 1000, ...this.lines.map((line) => line.value(stats))];
    values.forEach((value, index) => {
      const series = this.data[index]!;
      series.push(value);
      if (series.length > kept) {
        series.shift();
      }
    });
    this.plot?.setData(this.data as uPlot.AlignedData);
  }

  // Also when the theme has changed: a canvas does not know of style sheets.
  draw(): void {
    this.plot?.destroy();
    const axis = { stroke: colorOf("--quiet"), grid: { stroke: colorOf("--line"), width: 1 }, ticks: { show: false } };
    this.plot = new uPlot(
      {
        width: this.width(),
        height: 160,
        cursor: { y: false },
        legend: { live: true },
        // Five minutes, also while there is less: the line grows from the right.
        scales: { x: { range: (_plot, _least, most) => [(most ?? Date.now() / 1000) - kept, most ?? Date.now() / 1000] }, y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
        axes: [{ ...axis, space: 90, values: (_plot, times) => times.map(clockOf) }, { ...axis, size: 48 }],
        series: [
          { value: (_plot: uPlot, time: number | null) => (time === null ? "-" : clockOf(time)) },
          ...this.lines.map((line) => ({
            label: line.label,
            stroke: colorOf(line.color),
            width: 2,
            points: { show: false },
            value: (_plot: uPlot, value: number | null) => (value === null ? "-" : value.toFixed(1)),
          })),
        ],
      },
      this.data as uPlot.AlignedData,
      this.place,
    );
  }

  private width(): number {
    return Math.max(200, this.place.clientWidth);
  }
}

export class Charts {
  private readonly charts: Chart[];

  constructor(throughput: HTMLElement, latency: HTMLElement) {
    const of = (name: string) => (stats: Stats) => stats.rates?.[name] ?? 0;
    this.charts = [
      new Chart(throughput, [
        { label: "submitted", color: "--blue", value: of("submitted") },
        { label: "completed", color: "--green", value: of("completed") },
        { label: "failed", color: "--red", value: of("failed") },
      ]),
      new Chart(latency, [
        { label: "wait p50", color: "--blue", value: (stats) => (stats.wait?.p50 ?? 0) * 1000 },
        { label: "wait p99", color: "--violet", value: (stats) => (stats.wait?.p99 ?? 0) * 1000 },
        { label: "run p50", color: "--green", value: (stats) => (stats.run?.p50 ?? 0) * 1000 },
      ]),
    ];
  }

  add(stats: Stats): void {
    this.charts.forEach((chart) => chart.add(stats));
  }

  draw(): void {
    this.charts.forEach((chart) => chart.draw());
  }
}
