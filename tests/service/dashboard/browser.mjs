// SPDX-License-Identifier: MIT
// A headless Chromium of the test's own, driven over the pipe of its DevTools protocol: JSON messages
// that end with a zero byte.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Tab } from "./tab.mjs";

const flags = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--remote-debugging-pipe",
  "--enable-blink-features=ComputedAccessibilityInfo", // computedRole and computedName of elements
  "--host-resolver-rules=MAP *.example 127.0.0.1",
];

export class Browser {
  static async launch(program) {
    const browser = new Browser();
    browser.folder = await mkdtemp(path.join(os.tmpdir(), "weir-chromium-"));
    browser.process = spawn(program, [...flags, `--user-data-dir=${browser.folder}`], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    browser.ended = new Promise((resolve) => browser.process.on("exit", resolve));
    browser.ended.then(() => browser.fail(new Error("the browser has ended")));
    browser.process.stdio[3].on("error", () => undefined); // it ended: see above
    browser.read(browser.process.stdio[4]);
    return browser;
  }

  answers = new Map(); // by the id of the call
  listeners = new Map(); // by session
  last = 0;

  // The result of a method of the protocol; of a tab if a session is given.
  call(method, parameters = {}, sessionId = undefined) {
    if (this.failure !== undefined) {
      return Promise.reject(this.failure);
    }
    const id = ++this.last;
    this.process.stdio[3].write(JSON.stringify({ id, method, params: parameters, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.answers.set(id, { resolve, reject }));
  }

  // Each page has storage of its own.
  async newPage(options = {}) {
    const { browserContextId } = await this.call("Target.createBrowserContext");
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const call = (method, parameters) => this.call(method, parameters, sessionId);
    const tab = new Tab(call, () => this.call("Target.disposeBrowserContext", { browserContextId }));
    this.listeners.set(sessionId, (event) => tab.take(event));
    await tab.start(options);
    return tab;
  }

  async close() {
    this.call("Browser.close").catch(() => undefined);
    await this.ended;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  read(stream) {
    let rest = "";
    stream.setEncoding("utf8");
    stream.on("data", (data) => {
      const messages = (rest + data).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.take(JSON.parse(message)));
    });
  }

  take(message) {
    if (message.id === undefined) {
      this.listeners.get(message.sessionId)?.(message);
      return;
    }
    const { resolve, reject } = this.answers.get(message.id);
    this.answers.delete(message.id);
    if (message.error) {
      reject(new Error(message.error.message));
    } else {
      resolve(message.result);
    }
  }

  fail(error) {
    this.failure = error;
    this.answers.forEach(({ reject }) => reject(error));
    this.answers.clear();
  }
}
