// SPDX-License-Identifier: MIT
// The part of dygraphs that the charts use: Debian's package has no type declarations.

declare module "dygraphs" {
  export interface Tick {
    v: number;
    label: string;
  }
  export interface AxisOptions {
    axisLabelFormatter?: (value: number) => string;
    axisLabelWidth?: number;
    axisLineColor?: string;
    axisTickSize?: number;
    pixelsPerLabel?: number;
    ticker?: (from: number, to: number, pixels: number) => Tick[];
  }
  export interface SeriesOptions {
    color?: string;
    strokePattern?: number[] | null;
  }
  // A row: its x, and the value of each series there.
  export type Row = [number, ...(number | null)[]];
  export interface Options {
    file?: Row[];
    labels?: string[];
    dateWindow?: [number, number];
    valueRange?: [number, number];
    axes?: { x?: AxisOptions; y?: AxisOptions };
    series?: Record<string, SeriesOptions>;
    axisLabelFontSize?: number;
    axisLineColor?: string;
    axisLineWidth?: number;
    gridLineColor?: string;
    gridLineWidth?: number;
    xAxisHeight?: number;
    rightGap?: number;
    strokeWidth?: number;
    pointSize?: number;
    highlightCircleSize?: number;
    interactionModel?: object;
    resizable?: "no" | "passive";
    drawCallback?: () => void;
  }
  export default class Dygraph {
    static PLUGINS: unknown[];
    static readonly Plugins: { readonly Axes: unknown; readonly Grid: unknown };
    constructor(place: HTMLElement, rows: Row[], options: Options);
    updateOptions(options: Options): void;
    setSelection(row: number): void;
    clearSelection(): void;
    toDomXCoord(x: number): number;
    toDataXCoord(pixels: number): number;
  }
}
