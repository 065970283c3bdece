// SPDX-License-Identifier: MIT
// The page: loads everything once, then follows the feed.

import { ApiError, ask, messageOf } from "./api";
import { Charts, sampleOf, samplesOf } from "./charts";
import { Detail } from "./detail";
import { byId, element } from "./dom";
import { Feed, type FeedMessage } from "./feed";
import { askForTokens, SubmitForm } from "./forms";
import { loadQueues, showHosts, showNumbers, showQueues } from "./panels";
import { QueueRemoval } from "./removal";
import { TaskList } from "./tasks";
import type { History, Queue, Stats, TaskEvent } from "./types";
import "./style.css";

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
const detail = new Detail(failed, (id) => feed.follow(id));
const list = new TaskList(byId("tasks"), (id) => detail.open(id), failed);
const removal = new QueueRemoval(failed, () => void loadAll());
const queueActions = { remove: (name: string) => void removal.open(name), failed };
const form = new SubmitForm((id) => {
  recovered();
  void list.load();
  window.location.hash = id;
});

async function loadAll(): Promise<void> {
  try {
    await Promise.all([list.load(), loadQueues(queueActions), form.load(), loadHistory()]);
    recovered();
  } catch (error) {
    failed(error);
  }
}

async function loadHistory(): Promise<void> {
  charts.add(...samplesOf(await ask<History>("GET", "/stats/history")));
}

function take(message: FeedMessage): void {
  if (message.type === "tasks") {
    const events = message.tasks as TaskEvent[];
    if (message.topic === "all") {
      list.take(events, (message.more as number | undefined) ?? 0);
    } else {
      detail.take(events);
    }
  } else if (message.type === "stats") {
    const stats = message as unknown as Stats;
    charts.add(sampleOf(stats));
    showNumbers(stats);
    showHosts(stats.hosts);
  } else if (message.type === "queues") {
    showQueues(message.queues as Queue[], queueActions);
  }
}

let wasConnected = false;
let lostAt: Date | undefined;
let nextAttempt = 0;

function showConnection(): void {
  const place = byId("connection");
  place.textContent = wasConnected ? "live" : lostAt === undefined ? "a token is needed" : "not connected";
  place.className = wasConnected ? "live" : "away";
  document.body.classList.toggle("stale", !wasConnected && lostAt !== undefined);
}

// Announced once, then counted down without a new announcement each second.
const seconds = element("span", { "aria-hidden": "true" });
function showBanner(): void {
  const place = byId("banner");
  place.hidden = wasConnected || lostAt === undefined;
  if (!place.hidden && place.childElementCount === 0) {
    place.append(`The service has not answered since ${lostAt?.toLocaleTimeString("en-GB")}; what is shown is from then. `, seconds);
  } else if (place.hidden) {
    place.replaceChildren();
  }
  const left = Math.ceil((nextAttempt - Date.now()) / 1000);
  seconds.textContent = left > 0 ? `Trying again in ${left} s.` : "Trying again.";
}
window.setInterval(showBanner, 1000);

const feed = new Feed({
  message: take,
  gap: () => void loadAll(),
  state: (isConnected) => {
    if (isConnected) {
      lostAt = undefined;
      void loadAll(); // also after the service was restarted
    } else if (wasConnected || lostAt === undefined) {
      lostAt = new Date();
      charts.interrupt();
      showNumbers(undefined);
    }
    wasConnected = isConnected;
    showConnection();
    showBanner();
  },
  refused: () => {
    wasConnected = false;
    lostAt = undefined;
    showConnection();
    showBanner();
  },
  waiting: (milliseconds) => {
    nextAttempt = Date.now() + milliseconds;
    showBanner();
  },
});

askForTokens(() => {
  void loadAll();
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

window.addEventListener("hashchange", openFromAddress);
function openFromAddress(): void {
  const id = window.location.hash.slice(1);
  if (/^[0-9a-z]{13}$/.test(id)) {
    detail.open(id);
  }
}

showHosts([]);
showNumbers(undefined);
feed.connect();
openFromAddress();
