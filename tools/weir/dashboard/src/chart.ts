// SPDX-License-Identifier: MIT
// A chart of lines over the last five minutes, with a legend that shows the values at the pointer.

import Dygraph, { type Row, type Tick } from "dygraphs";
import { element } from "./dom";
import { nothing } from "./format";

export const kept = 300; // seconds

// Null: no task to measure.
export interface Sample {
  at: number; // seconds
  values: Record<string, number | null>;
}

export interface Line {
  name: string; // in samples
  label: string;
  color: string; // a variable of the style sheet
  dash?: number[]; // colours alone do not distinguish lines
}

// The other plugins are not used. That of the legend also sets style attributes, which the page's
// Content-Security-Policy forbids.
Dygraph.PLUGINS = [Dygraph.Plugins.Axes, Dygraph.Plugins.Grid];

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function clockOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

// Full minutes, every second or every fifth of them where there is no room for all.
function minuteTicks(from: number, to: number, pixels: number): Tick[] {
  const step = [60, 120, 300].find((seconds) => (pixels * seconds) / (to - from) >= 60) ?? kept;
  const ticks: Tick[] = [];
  for (let v = Math.ceil(from / step) * step; v <= to; v += step) {
    ticks.push({ v, label: clockOf(v) });
  }
  return ticks;
}

export class Chart {
  private plot: Dygraph | undefined;
  private samples: Sample[] = [];
  private pointer: number | undefined; // its distance from the chart's left edge
  private readonly graph = element("div", { class: "graph" });
  private readonly cursor = element("div", { class: "cursor" });
  private readonly empty: HTMLElement;
  private readonly shown: HTMLElement[];

  constructor(
    place: HTMLElement,
    private readonly lines: Line[],
    private readonly format: (value: number) => string,
    axis: (value: number) => string,
    whenEmpty: string,
  ) {
    this.empty = element("p", { class: "empty quiet" }, whenEmpty);
    this.shown = lines.map(() => element("span", { class: "reading" }, nothing));
    const legend = element(
      "ul",
      { class: "legend" },
      ...lines.map((line, index) => element("li", { class: `swatch ${line.color.slice(2)} ${line.dash === undefined ? "" : line.dash[0]! < 4 ? "dotted" : "dashed"}` }, line.label, " ", this.shown[index])),
    );
    place.append(legend, element("div", { class: "drawing" }, this.graph, this.cursor, this.empty));
    this.plot = new Dygraph(this.graph, this.rows(), {
      ...this.ranges(),
      ...this.colors(),
      labels: ["at", ...lines.map((line) => line.label)],
      axes: {
        x: { ticker: minuteTicks },
        y: { axisLabelFormatter: axis, axisLabelWidth: 56, axisTickSize: 6, axisLineColor: "transparent", pixelsPerLabel: 34 },
      },
      axisLabelFontSize: 12,
      axisLineWidth: 1,
      gridLineWidth: 1,
      xAxisHeight: 24,
      rightGap: 22,
      strokeWidth: 2,
      pointSize: 2, // of a value between two that are missing, which has no line
      highlightCircleSize: 3.5,
      interactionModel: {}, // neither zoom nor pan
      resizable: "passive", // with the place
      drawCallback: () => this.read(),
    });
    this.graph.addEventListener("pointermove", (event) => this.point(event.clientX - this.graph.getBoundingClientRect().left));
    this.graph.addEventListener("pointerleave", () => this.point(undefined));
    this.set([]);
  }

  set(samples: Sample[]): void {
    this.samples = samples;
    this.empty.hidden = this.largest() > 0;
    this.plot?.updateOptions({ file: this.rows(), ...this.ranges() });
  }

  // Called when the theme has changed, since style sheets do not apply to a canvas.
  draw(): void {
    this.plot?.updateOptions(this.colors());
  }

  // Dygraphs reports an error where there is no row.
  private rows(): Row[] {
    const samples = this.samples.length > 0 ? this.samples : [{ at: Date.now() / 1000, values: {} as Sample["values"] }];
    return samples.map((sample) => [sample.at, ...this.lines.map((line) => sample.values[line.name] ?? null)]);
  }

  // Five minutes, also while there is less: the line grows from the right.
  private ranges(): { dateWindow: [number, number]; valueRange: [number, number] } {
    const end = this.samples.at(-1)?.at ?? Date.now() / 1000;
    return { dateWindow: [end - kept, end], valueRange: [0, this.largest() * 1.15 || 1] };
  }

  private colors() {
    return {
      series: Object.fromEntries(this.lines.map((line) => [line.label, { color: colorOf(line.color), strokePattern: line.dash ?? null }])),
      axisLineColor: colorOf("--line"),
      gridLineColor: colorOf("--line"),
    };
  }

  private largest(): number {
    return Math.max(0, ...this.samples.flatMap((sample) => this.lines.map((line) => sample.values[line.name] ?? 0)));
  }

  private point(pointer: number | undefined): void {
    this.pointer = pointer;
    this.read();
  }

  // Shows the sample nearest to the pointer, or else the newest.
  private read(): void {
    const pointed = this.pointed();
    const sample = this.samples[pointed ?? this.samples.length - 1];
    this.shown.forEach((place, index) => {
      const value = sample?.values[this.lines[index]!.name] ?? null;
      place.textContent = value === null ? nothing : this.format(value);
    });
    this.plot?.clearSelection();
    this.cursor.hidden = pointed === undefined;
    if (this.plot !== undefined && pointed !== undefined) {
      this.plot.setSelection(pointed);
      this.cursor.style.left = `${this.plot.toDomXCoord(sample!.at)}px`;
    }
  }

  private pointed(): number | undefined {
    if (this.plot === undefined || this.pointer === undefined || this.samples.length === 0) {
      return undefined;
    }
    const at = this.plot.toDataXCoord(this.pointer);
    const distances = this.samples.map((sample) => Math.abs(sample.at - at));
    return distances.indexOf(Math.min(...distances));
  }
}
