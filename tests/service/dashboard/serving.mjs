// SPDX-License-Identifier: MIT
// A `weir serve` of the test's own, in a folder that goes away with it.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

export class Serving {
  static async start(options = {}) {
    const serving = new Serving();
    serving.folder = await mkdtemp(path.join(os.tmpdir(), "weir-dashboard-"));
    serving.environment = { ...process.env, XDG_RUNTIME_DIR: serving.folder, ...options.environment };
    await serving.run(options.listen ?? "127.0.0.1:0", options.flags ?? []);
    return serving;
  }

  async run(listen, flags = []) {
    this.flags = flags;
    this.process = spawn(
      process.env.WEIR_PROGRAM,
      ["serve", "--listen", listen, "--database", path.join(this.folder, "tasks.db"), ...flags],
      { env: this.environment, stdio: ["ignore", "pipe", "pipe"] },
    );
    this.log = "";
    this.process.stderr.on("data", (data) => (this.log += data));
    this.ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.url = await new Promise((resolve, reject) => {
      let output = "";
      this.process.stdout.on("data", (data) => {
        output += data;
        const found = output.match(/listening on (http:\/\/[^\s,]+)/);
        if (found) {
          resolve(found[1]);
        }
      });
      this.process.on("exit", (code) => reject(new Error(`weir serve ended with ${code}: ${this.log}`)));
    });
  }

  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    return this.ended;
  }

  // On the same port, with the same database.
  async restart() {
    await this.stop();
    await this.run(new URL(this.url).host, this.flags);
  }

  async end() {
    await this.stop("SIGKILL");
    await rm(this.folder, { recursive: true, force: true });
  }

  async ask(method, at, body, headers = {}) {
    const answer = await fetch(this.url + at, {
      method,
      headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: answer.status, headers: answer.headers, value: await answer.json().catch(() => null) };
  }

  async submit(task) {
    const { status, value } = await this.ask("POST", "/tasks", task);
    if (status !== 202) {
      throw new Error(`submit: ${status} ${JSON.stringify(value)}`);
    }
    return value.id;
  }
}
