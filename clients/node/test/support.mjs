// SPDX-License-Identifier: MIT
// What the tests share: short times, a worker around a test, a `weir serve` of the test's own.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { Worker } from "../src/index.js";

export const quick = {
  connect: 1, readMargin: 0.3, request: 0.5, backoffFirst: 0.01, backoffMost: 0.1, progress: 0.05, drain: 5, grace: 0.5,
};
const log = process.env.WEIR_VERBOSE ? (level, message) => console.error(level, message) : () => {};

export function makeWorker(url, options = {}) {
  return new Worker(url, { log, timing: quick, ...options });
}

export const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

export function block(seconds) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, seconds * 1000);
}

export async function eventually(condition, seconds = 10) {
  const deadline = Date.now() + seconds * 1000;
  while (!(await condition())) {
    if (Date.now() > deadline) {
      throw new Error(`not so after ${seconds} s: ${condition}`);
    }
    await sleep(0.01);
  }
}

export class Serving {
  static async start(...flags) {
    const serving = new Serving();
    serving.folder = await mkdtemp(path.join(os.tmpdir(), "weir-node-"));
    serving.process = spawn(
      process.env.WEIR_PROGRAM,
      ["serve", "--listen", "127.0.0.1:0", "--database", path.join(serving.folder, "tasks.db"), ...flags],
      { env: { ...process.env, XDG_RUNTIME_DIR: serving.folder }, stdio: ["ignore", "pipe", "pipe"] },
    );
    let errors = "";
    serving.process.stderr.on("data", (data) => (errors += data));
    serving.ended = new Promise((resolve) => serving.process.on("exit", resolve));
    serving.url = await firstMatch(serving.process, /listening on (http:\/\/[^\s,]+)/, () => errors);
    return serving;
  }

  async end() {
    this.process.kill("SIGKILL");
    await this.ended;
    await rm(this.folder, { recursive: true, force: true });
  }
}

// Proxies with faults, in one process: those of the Python tests.
export class Faults {
  #answers = []; // resolve()

  constructor(url) {
    const program = new URL("../../python/tests/fault_proxy.py", import.meta.url).pathname;
    this.process = spawn("python3", [program, url], { stdio: ["pipe", "pipe", "inherit"] });
    createInterface(this.process.stdout).on("line", (line) => this.#answers.shift()(JSON.parse(line)));
  }

  // {seed, rate, plan: [endpoint, fault, byte]?} -> {url}; {quiet: url} -> {}; {end: url} ->
  // {lengths, waits}.
  ask(command) {
    return new Promise((resolve) => {
      this.#answers.push(resolve);
      this.process.stdin.write(`${JSON.stringify(command)}\n`);
    });
  }

  end() {
    this.process.kill("SIGKILL");
  }
}

function firstMatch(process, pattern, errors) {
  return new Promise((resolve, reject) => {
    let output = "";
    process.stdout.on("data", (data) => {
      output += data;
      const found = output.match(pattern);
      if (found) {
        resolve(found[1]);
      }
    });
    process.on("exit", (code) => reject(new Error(`it ended with ${code}: ${errors()}`)));
  });
}
