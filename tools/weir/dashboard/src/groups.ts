// SPDX-License-Identifier: MIT
// Groups of tasks, the newest first, and the graph of the one that the address names.

import { addressOf } from "./address";
import { ApiError, ask } from "./api";
import { byId, element, numberOf, refill, table, timeOf, words, type Child } from "./dom";
import { features } from "./features";
import { count } from "./format";
import { drawGraph, listFailed, summarise } from "./group_graph";
import type { Group, Task } from "./types";

const mostGroups = 50;
const mostDrawn = 200; // tasks; larger groups are summarised
const mostRead = 1000;

// Milliseconds from a change of a task until the view is loaded again, for small and large groups.
const shortPause = 250;
const longPause = 2000;

const badges: Record<string, string> = { open: "running", cancelling: "cancelling", completed: "completed", failed: "failed", cancelled: "cancelled" };

const policies: Record<string, string> = {
  cancel: "the callback is cancelled",
  run: "the callback runs",
  hold: "the group waits until they are retried",
};

export class GroupList {
  private readonly place = byId("groups");
  private readonly card = byId("group");
  private shown: string | undefined;
  private isOpening = false; // the group was chosen just now
  private isLarge = false;
  private reloading: number | undefined;
  private turn = 0; // of the newest load: the answers of older ones are dropped

  constructor(private readonly reload: () => void) {}

  // The group of the address, or none. True if it is another than before.
  choose(id: string | undefined): boolean {
    if (id === this.shown) {
      return false;
    }
    this.shown = id;
    this.isOpening = id !== undefined;
    this.isLarge = false;
    if (id === undefined) {
      refill(this.card);
      this.card.hidden = true;
    }
    return true;
  }

  // Tasks have changed, perhaps members of the groups.
  hear(): void {
    if (!byId("view-groups").hidden && this.reloading === undefined) {
      this.reloading = window.setTimeout(
        () => {
          this.reloading = undefined;
          this.reload();
        },
        this.isLarge ? longPause : shortPause,
      );
    }
  }

  // The service may not know groups.
  async load(): Promise<void> {
    if (!(await features()).has("/groups")) {
      refill(this.place, element("p", { class: "quiet" }, "This service has no groups."));
      return;
    }
    const turn = ++this.turn;
    const [{ groups, next }, chosen] = await Promise.all([
      ask<{ groups: Group[]; next: string | null }>("GET", `/groups?limit=${mostGroups}`),
      this.read(this.shown),
    ]);
    if (turn === this.turn) {
      this.showList(groups, next !== null);
      this.showChosen(chosen);
    }
  }

  private async read(id: string | undefined): Promise<{ group: Group; tasks: Task[] } | string | undefined> {
    if (id === undefined) {
      return undefined;
    }
    try {
      const group = await ask<Group>("GET", `/groups/${id}`);
      const limit = group.total > mostDrawn ? mostRead : mostDrawn;
      return { group, tasks: (await ask<{ tasks: Task[] }>("GET", `/groups/${id}/tasks?brief=true&limit=${limit}`)).tasks };
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) {
        return error.message;
      }
      throw error;
    }
  }

  private showList(groups: Group[], areMore: boolean): void {
    refill(
      this.place,
      groups.length === 0 && element("p", { class: "quiet" }, "None yet. ", element("code", {}, "weir group create FILE"), " makes one."),
      groups.length > 0 &&
        table(
          "Groups",
          [
            { name: "Group" }, { name: "Name" }, { name: "State" }, { name: "Tasks", isNumber: true }, { name: "Open", isNumber: true },
            { name: "Failed", isNumber: true }, { name: "Cancelled", isNumber: true }, { name: "Created" },
          ],
          groups.map((each) => this.row(each)),
        ),
      areMore && element("p", { class: "quiet" }, `The newest ${mostGroups}.`),
    );
  }

  private row(group: Group): Child[] {
    const isShown = group.id === this.shown;
    return [
      element("a", { class: "mono", id: `group-${group.id}`, href: addressOf("groups", {}, group.id), "aria-current": isShown && "true" }, group.id),
      words(group.name ?? ""),
      stateOf(group),
      numberOf(group.total),
      numberOf(group.open),
      numberOf(group.failed),
      numberOf(group.cancelled),
      timeOf(group.created_at),
    ];
  }

  private showChosen(chosen: { group: Group; tasks: Task[] } | string | undefined): void {
    if (chosen === undefined) {
      return;
    }
    const close = element("a", { id: "close-group", href: addressOf("groups") }, "Close");
    this.card.hidden = false;
    if (typeof chosen === "string") {
      refill(this.card, element("header", { class: "headed" }, element("h2", { id: "group-title" }, "Group"), close), element("p", {}, chosen));
      return;
    }
    const { group, tasks } = chosen;
    this.isLarge = group.total > mostDrawn;
    refill(
      this.card,
      element(
        "header",
        { class: "headed" },
        element("h2", { id: "group-title", class: "named" }, "Group ", words(group.name ?? ""), element("code", {}, group.id), stateOf(group)),
        close,
      ),
      factsOf(group),
      group.total === 0 && element("p", { class: "quiet" }, "It has no tasks."),
      this.isLarge && tasks.length < group.total && element("p", { class: "quiet" }, `The first ${count(tasks.length)} tasks:`),
      ...(this.isLarge ? [summarise(tasks), listFailed(tasks)] : drawGraph(tasks)),
    );
    if (this.isOpening) {
      this.isOpening = false;
      this.card.scrollIntoView({ block: "nearest" });
    }
  }
}

function stateOf(group: Group): HTMLElement {
  const text = group.is_held ? "held" : group.state === "open" && !group.sealed ? "not sealed" : group.state;
  return element("span", { class: `badge ${group.is_held ? "paused" : (badges[group.state] ?? "")}` }, text);
}

function factsOf(group: Group): HTMLElement {
  const fact = (name: string, ...value: Child[]) => element("div", {}, element("dt", {}, name), element("dd", {}, ...value));
  return element(
    "dl",
    { class: "facts" },
    fact("Completed", `${count(group.completed)} of ${count(group.total)}`),
    group.failed > 0 && fact("Failed", count(group.failed)),
    group.cancelled > 0 && fact("Cancelled", count(group.cancelled)),
    group.callback !== null &&
      fact(
        "Callback",
        words(group.callback, ""),
        " ",
        group.callback_task === null ? "when all have ended" : element("a", { class: "mono", id: `node-${group.callback_task}`, href: `#${group.callback_task}` }, group.callback_task),
      ),
    group.callback !== null && fact("If tasks fail", policies[group.on_failure] ?? group.on_failure),
    fact("Created", timeOf(group.created_at)),
    group.finished_at !== null && fact("Ended", timeOf(group.finished_at)),
  );
}
