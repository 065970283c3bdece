// SPDX-License-Identifier: MIT
// The thread that talks with the service. Handlers run in the main thread: one that blocks it
// delays neither heartbeats nor polls.
import { parentPort, workerData } from "node:worker_threads";
import { Transport } from "./http.js";
import { Engine } from "./session.js";

const { url, token, timing, groups } = workerData;
const transport = new Transport(url, token, { connectTimeout: timing.connect });
const engines = groups.map(
  (settings, index) =>
    new Engine(transport, settings, timing, {
      tasks: (session, tasks) => parentPort.postMessage({ type: "tasks", engine: index, session, tasks }),
      stop: (entries, reason) => {
        if (entries.length > 0) {
          const keys = entries.map(({ id, run }) => `${id}/${run}`);
          parentPort.postMessage({ type: "stop", keys, reason });
        }
      },
      registered: (id) => parentPort.postMessage({ type: "registered", engine: index, id }),
      refused: (status, detail) => parentPort.postMessage({ type: "refused", status, detail }),
      log: (level, message) => parentPort.postMessage({ type: "log", level, message }),
    }),
);

parentPort.on("message", async (message) => {
  switch (message.type) {
    case "finish":
      engines[message.engine].finish(message.results);
      break;
    case "progress":
      engines[message.engine].progress(message);
      break;
    case "step":
      parentPort.postMessage({ type: "step", number: message.number, ...(await engines[message.engine].keepStep(message)) });
      break;
    case "shutdown":
      await Promise.all(engines.map((engine) => engine.shutDown(message.limit)));
      transport.close();
      parentPort.postMessage({ type: "ended" });
      parentPort.close();
      break;
  }
});
