// SPDX-License-Identifier: MIT
// The page: asks for everything once, then follows the feed.

import { ApiError } from "./api";
import { Charts } from "./charts";
import { Detail } from "./detail";
import { byId } from "./dom";
import { Feed, type FeedMessage } from "./feed";
import { askForTokens, SubmitForm } from "./forms";
import { loadQueues, showHosts, showNumbers, showQueues } from "./panels";
import { TaskList } from "./tasks";
import type { Queue, Stats, TaskEvent } from "./types";
import "./style.css";

function failed(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) {
    return; // the token is being asked for
  }
  const place = byId("trouble");
  place.textContent = error instanceof TypeError ? "The service cannot be reached." : String((error as Error).message);
  place.hidden = false;
}

function recovered(): void {
  byId("trouble").hidden = true;
}

const charts = new Charts(byId("throughput"), byId("latency"));
const detail = new Detail(failed);
const list = new TaskList(byId("tasks"), (id) => detail.open(id), failed);
const form = new SubmitForm((id) => {
  recovered();
  void list.load();
  window.location.hash = id;
});

async function loadAll(): Promise<void> {
  try {
    await Promise.all([list.load(), loadQueues(failed), form.load()]);
    recovered();
  } catch (error) {
    failed(error);
  }
}

function take(message: FeedMessage): void {
  if (message.type === "tasks") {
    const events = message.tasks as TaskEvent[];
    const more = (message.more as number | undefined) ?? 0;
    list.take(events, more);
    detail.take(events, more);
  } else if (message.type === "stats") {
    const stats = message as unknown as Stats;
    charts.add(stats);
    showNumbers(stats);
    showHosts(stats.hosts);
  } else if (message.type === "queues") {
    showQueues(message.queues as Queue[], failed);
  }
}

let wasConnected = false;
const feed = new Feed({
  message: take,
  gap: () => void loadAll(),
  state: (isConnected) => {
    const place = byId("connection");
    place.textContent = isConnected ? "live" : "not connected, trying again";
    place.className = isConnected ? "live" : "away";
    if (isConnected && !wasConnected) {
      void loadAll(); // also after the service was restarted
    }
    wasConnected = isConnected;
  },
});

askForTokens(() => {
  void loadAll();
  feed.connect();
});

function setTheme(name: string): void {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
  charts.draw();
}
const preferred = window.matchMedia("(prefers-color-scheme: dark)");
setTheme(localStorage.getItem("weir.theme") ?? (preferred.matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("weir.theme", next);
  setTheme(next);
});

window.addEventListener("hashchange", openFromAddress);
function openFromAddress(): void {
  const id = window.location.hash.slice(1);
  if (/^[0-9a-z]{13}$/.test(id)) {
    detail.open(id);
  }
}

showHosts([]);
feed.connect();
openFromAddress();
