// SPDX-License-Identifier: MIT
// The page: loads the view that the address names, then follows the feed.

import { addressOf, goToTask, onAddress, placeOf, views, type View } from "./address";
import { ApiError, ask, messageOf } from "./api";
import { Charts, sampleOf, samplesOf } from "./charts";
import { Connection } from "./connection";
import { Detail } from "./detail";
import { byId } from "./dom";
import { EndpointList } from "./endpoints";
import { forgetFeatures } from "./features";
import { Feed, type FeedMessage } from "./feed";
import { GroupList } from "./groups";
import { showHosts } from "./hosts";
import { askForTokens } from "./login";
import { NodeList } from "./nodes";
import { showNumbers } from "./numbers";
import { QuestionDialog } from "./question";
import { QueueDialog } from "./queue_dialog";
import { QueueTable } from "./queues";
import { ScheduleDialog } from "./schedule_dialog";
import { ScheduleTable } from "./schedules";
import { SubmitDialog } from "./submit";
import { TaskList } from "./tasks";
import type { History, Queue, Stats, TaskEvent } from "./types";
import { WorkerList } from "./workers";
import "./style.css";

const refreshInterval = 3000; // milliseconds, of what the feed does not tell

function failed(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) {
    return; // the dialog for the token is open
  }
  const place = byId("trouble");
  place.textContent = messageOf(error);
  place.hidden = false;
}

function recovered(): void {
  byId("trouble").hidden = true;
}

const charts = new Charts(byId("throughput"), byId("latency"));
const question = new QuestionDialog();
const detail = new Detail(question, failed, (id) => feed.follow(id));
const list = new TaskList(byId("tasks"), question, goToTask, failed);
const queueDialog = new QueueDialog(() => void load("queues"));
const queues = new QueueTable(question, (queue) => queueDialog.open(queue), failed);
const endpoints = new EndpointList(failed);
const scheduleDialog = new ScheduleDialog(() => void load("schedules"), failed);
const schedules = new ScheduleTable(question, scheduleDialog, goToTask, failed);
const nodes = new NodeList(goToTask);
const groups = new GroupList(() => void load("groups"));
const workers = new WorkerList(goToTask);
new SubmitDialog((id) => {
  recovered();
  void load("tasks");
  goToTask(id);
});

let view: View | undefined;

const loaders: Record<View, () => Promise<unknown>> = {
  tasks: () => Promise.all([list.load(), loadHistory()]),
  queues: () => Promise.all([queues.load(), endpoints.load()]),
  groups: () => groups.load(),
  schedules: () => schedules.load(),
  nodes: () => Promise.all([nodes.load(), workers.load()]),
};

async function load(which: View): Promise<void> {
  try {
    await loaders[which]();
    recovered();
  } catch (error) {
    failed(error);
  }
}

async function loadHistory(): Promise<void> {
  charts.add(...samplesOf(await ask<History>("GET", "/stats/history")));
}

// All views: what is hidden now may be shown next. Names of queues are offered by the filter.
function loadAll(): void {
  void load(view ?? "tasks");
  if (view !== "queues") {
    void load("queues");
  }
}

function take(message: FeedMessage): void {
  if (message.type === "tasks") {
    const events = message.tasks as TaskEvent[];
    if (message.topic === "all") {
      list.hear(events, (message.more as number | undefined) ?? 0);
      groups.hear();
    } else {
      detail.take(events);
    }
  } else if (message.type === "subscribed" && message.topic?.startsWith("task:")) {
    detail.hasSubscribed();
  } else if (message.type === "stats") {
    const stats = message as unknown as Stats;
    charts.add(sampleOf(stats));
    showNumbers(stats);
    showHosts(stats.hosts);
  } else if (message.type === "queues") {
    queues.show(message.queues as Queue[]);
  }
}

const connection = new Connection();
const feed = new Feed({
  message: take,
  gap: loadAll,
  state: (isConnected) => {
    if (isConnected) {
      connection.found();
      forgetFeatures();
      loadAll(); // also after the service was restarted
    } else if (connection.lost()) {
      charts.interrupt();
      showNumbers(undefined);
    }
  },
  refused: () => connection.refused(),
  waiting: (milliseconds) => connection.retriesIn(milliseconds),
});

askForTokens(() => {
  loadAll();
  feed.connect();
});

function setTheme(name: string): void {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light theme" : "Dark theme";
  charts.draw();
}
const preferred = window.matchMedia("(prefers-color-scheme: dark)");
setTheme(localStorage.getItem("weir.theme") ?? (preferred.matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("weir.theme", next);
  setTheme(next);
});

// Shows what the address names.
function show(): void {
  const place = placeOf(window.location);
  const isOther = groups.choose(place.view === "groups" ? place.group : undefined);
  if (place.view !== view) {
    const isFirst = view === undefined;
    view = place.view;
    for (const each of views) {
      byId(`view-${each}`).hidden = each !== view;
      byId(`to-${each}`).setAttribute("aria-current", each === view ? "page" : "false");
    }
    document.title = view === "tasks" ? "Weir" : `${byId(`to-${view}`).textContent} - Weir`;
    if (!isFirst) {
      window.scrollTo(0, 0);
      void load(view);
    }
  } else if (isOther) {
    void load("groups");
  }
  if (view === "tasks") {
    list.setFilter(place.filter);
  }
  detail.show(place.task);
}

views.forEach((each) => byId(`to-${each}`).setAttribute("href", addressOf(each)));
window.setInterval(() => {
  if ((view === "nodes" || view === "schedules" || view === "groups") && document.visibilityState === "visible" && document.querySelector("dialog[open]") === null) {
    void load(view);
  }
}, refreshInterval);

showHosts([]);
showNumbers(undefined);
onAddress(show);
show();
feed.connect();
