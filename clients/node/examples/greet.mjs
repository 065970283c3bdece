// SPDX-License-Identifier: MIT
import { Worker } from "../src/index.js"; // installed: "weir"

const worker = new Worker("http://127.0.0.1:8080", { concurrency: 32 });

worker.task("greet", async ({ name }, job) => {
  job.progress(0.5, "thinking");
  return { text: `Hello, ${name}!` };
}, { timeout: 60 });

await worker.run();
