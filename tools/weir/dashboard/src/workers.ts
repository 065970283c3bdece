// SPDX-License-Identifier: MIT
// Workers: programs that take tasks over HTTP, with what they run and when they were last heard of;
// and the kinds of tasks that they take, of which some may wait for a worker.

import { ask } from "./api";
import { byId, element, numberOf, refill, table, timeOf, words, type Child } from "./dom";
import { features } from "./features";
import { count, relative } from "./format";
import type { Worker, WorkerKind } from "./types";

const mostWorkers = 100;
const mostRuns = 4; // shown of one worker

const stateWords: Record<string, [badge: string, text: string]> = {
  ok: ["completed", "polls"],
  drain: ["cancelled", "draining"],
  stuck: ["failed", "stuck"],
  gone: ["failed", "lease expired"],
};

export class WorkerList {
  private readonly place = byId("workers");

  constructor(private readonly openTask: (id: string) => void) {}

  // The service may not know workers.
  async load(): Promise<void> {
    if ((await features()).has("/workers")) {
      const { workers, kinds } = await ask<{ workers: Worker[]; kinds: WorkerKind[] }>("GET", "/workers");
      this.show(workers, kinds);
    }
  }

  private show(workers: Worker[], kinds: WorkerKind[]): void {
    const now = Date.now();
    // Those that need a look come first.
    const order = ["stuck", "gone", "drain", "ok"];
    const sorted = [...workers].sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
    const shown = sorted.slice(0, mostWorkers);
    const left = workers.length - shown.length;
    refill(
      this.place,
      element("h2", { id: "workers-title" }, "Workers ", element("span", { class: "quiet" }, count(workers.length))),
      workers.length === 0 && element("p", { class: "quiet" }, "None: a program becomes one with `weir work KIND -- PROGRAM`."),
      workers.length > 0 &&
        table(
          "Workers",
          [
            { name: "Worker" }, { name: "State" }, { name: "Kinds" }, { name: "Queues" }, { name: "Runs" }, { name: "Free", isNumber: true },
            { name: "Last heard of" }, { name: "Since" },
          ],
          shown.map((each) => this.row(each, now)),
        ),
      left > 0 && element("p", { class: "quiet" }, `${count(left)} more`),
      kinds.length > 0 && element("h3", {}, "Kinds for workers"),
      kinds.length > 0 &&
        table(
          "Kinds for workers",
          [{ name: "Kind" }, { name: "Waiting", isNumber: true }, { name: "Running", isNumber: true }, { name: "Workers", isNumber: true }, { name: "Note" }],
          kinds.map((each) => [
            words(each.kind),
            numberOf(each.due),
            numberOf(each.running),
            numberOf(each.workers),
            each.due > 0 && each.workers === 0 && element("span", { class: "badge failed" }, "no worker takes it"),
          ]),
        ),
    );
  }

  private row(worker: Worker, now: number): Child[] {
    const [badge, text] = stateWords[worker.state] ?? ["", worker.state];
    const runs = worker.running.slice(0, mostRuns);
    const left = worker.running.length - runs.length;
    return [
      element("span", { title: [worker.id, worker.sdk].filter((each) => each !== null).join(", ") }, words(worker.name ?? worker.id.slice(0, 8))),
      element("span", { class: `badge ${badge}` }, text),
      element("span", {}, ...worker.kinds.map((each) => words(`${each} `, ""))),
      worker.queues.length === 0 ? element("span", { class: "quiet" }, "all") : element("span", {}, ...worker.queues.map((each) => words(`${each} `, ""))),
      element(
        "span",
        {},
        ...runs.flatMap((each): Child[] => [
          element("button", { type: "button", class: "link", id: `works-${each.id}`, click: () => this.openTask(each.id) }, each.id),
          " ",
        ]),
        left > 0 && `+ ${count(left)}`,
      ),
      numberOf(worker.free),
      element("time", { datetime: worker.heard_at }, relative(worker.heard_at, now)),
      timeOf(worker.started_at),
    ];
  }
}
