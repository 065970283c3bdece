// SPDX-License-Identifier: MIT
// Queues: counts that lead to their tasks, pauses, limits, flow keys; and the nodes.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { here, isLive, isStatus, offers, open, serveWith } from "./page.mjs";

const button = (name) => here.page.getByRole("button", { name });

test("a queue is paused and resumed, and its counts lead to its tasks", async () => {
  await here.serving.submit({ kind: "echo", queue: "letters" });
  await here.serving.submit({ kind: "echo", queue: "other" });
  await open({ at: "/?view=queues" });
  await isLive();
  await button("Pause the queue letters").click();
  await button("Resume the queue letters").waitFor();
  const held = await here.serving.submit({ kind: "echo", queue: "letters" });
  await here.page.getByRole("link", { name: "1 task pending in the queue letters" }).click();
  await here.page.locator(`#task-${held}`).click();
  assert.match(await here.page.url(), /\?state=pending&queue=letters#/);
  await here.page.getByRole("dialog").getByText("paused").first().waitFor();
  await here.page.keyboard.press("Escape");
  await here.page.locator("#to-queues").click();
  await button("Resume the queue letters").click();
  await button("Pause the queue letters").waitFor();
  await here.page.getByRole("link", { name: "letters", exact: true }).click();
  await isStatus(held, "completed");
  // Charts of a view that was hidden at first fill their place.
  await here.page.waitForFunction(() => {
    const graph = document.querySelector("#throughput .graph");
    return graph.clientWidth > 300 && graph.querySelector("canvas").clientWidth === graph.clientWidth;
  });
  assert.deepEqual(here.complaints, []);
});

test("limits are seen and changed, by keyboard too, and refusals are at their field", async () => {
  await here.serving.ask("PATCH", "/queues/letters", { rate: 10, burst: 5 });
  await open({ at: "/?view=queues" });
  await isLive();
  await here.page.locator("#queues").getByText("10/s in bursts of 5").waitFor();
  await here.page.locator("#edit-letters").focus();
  await here.page.keyboard.press("Enter");
  const dialog = here.page.getByRole("dialog", { name: "Queue letters" });
  const value = (name) => here.page.evaluate((id) => document.getElementById(id).value, `limit-${name}`);
  await dialog.waitFor();
  assert.deepEqual([await value("rate"), await value("burst"), await value("max_running")], ["10", "5", ""]);
  await here.page.locator("#limit-max_running").fill("-4");
  await here.page.keyboard.press("Enter");
  await here.page.locator("#limit-max_running-problem").getByText("max_running").waitFor();
  await here.page.locator("#limit-max_running").fill("4");
  await here.page.locator("#limit-rate").fill("");
  await here.page.locator("#limit-burst").fill("");
  await here.page.locator("#limit-key_max_running").fill("1");
  await here.page.locator("#limit-max_pending").fill("100");
  await here.page.keyboard.press("Enter");
  await dialog.getByText("Saved.").waitFor();
  const { limits } = (await here.serving.ask("GET", "/queues/letters")).value;
  assert.deepEqual(limits, { max_pending: 100, max_running: 4, rate: 0, burst: 1, key_max_running: 1, key_rate: 0, key_burst: 1 });
  await here.page.keyboard.press("Escape");
  await here.page.waitForFunction(() => document.activeElement.id === "edit-letters");
  await here.page.locator("#queues").getByText("4 running, 100 pending; per key 1 running").waitFor();
  await here.page.keyboard.press("Enter");
  await dialog.waitFor();
  assert.deepEqual([await value("rate"), await value("burst"), await value("max_running")], ["", "", "4"]);
});

test("a queue is deleted after a question, with what it names", async () => {
  const ended = await here.serving.submit({ kind: "echo", queue: "old letters" });
  await here.serving.submit({ kind: "echo", queue: "old letters", delay: 600 });
  const kept = await here.serving.submit({ kind: "echo", queue: "other" });
  const hasState = async (id, state) => {
    for (let task; task?.state !== state; ) {
      task = (await here.serving.ask("GET", `/tasks/${id}`)).value;
    }
  };
  await hasState(ended, "completed");
  await open({ at: "/?view=queues" });
  await isLive();
  const dialog = here.page.getByRole("dialog", { name: "Delete the queue old letters?" });
  const ask = () => here.page.getByRole("button", { name: "Delete the queue old letters" }).click();

  await ask();
  await dialog.getByText("1 pending task and 1 ended task").waitFor();
  await dialog.getByRole("button", { name: "Keep" }).click();
  assert.equal(await here.page.getByRole("dialog").count(), 0);
  assert.equal(await here.page.evaluate(() => document.activeElement.id), "delete-old letters");
  assert.equal((await here.serving.ask("GET", "/queues/old%20letters")).status, 200);

  // A running task prevents it; the dialog says so.
  const running = await here.serving.submit({ kind: "sleep", payload: 600, queue: "old letters" });
  await hasState(running, "running");
  await ask();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.getByText("1 running").waitFor();
  await dialog.getByRole("button", { name: "Keep" }).click();
  await here.serving.ask("POST", `/tasks/${running}/cancel`);
  await hasState(running, "cancelled");

  await ask();
  await dialog.getByText("1 pending task and 2 ended tasks").waitFor();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await here.page.waitForFunction(() => [...document.querySelectorAll("#queues tbody td:first-child")].map((cell) => cell.textContent).join() === "other");
  assert.deepEqual((await here.serving.ask("GET", "/tasks")).value.tasks.map((task) => task.id), [kept]);
  assert.equal((await here.serving.ask("GET", "/queues/old%20letters")).status, 404);
  assert.equal(await here.page.getByRole("dialog").count(), 0);
});

test("a flow key has a pause and limits of its own", async (t) => {
  if (!(await offers("/queues/{}/keys"))) {
    return t.skip("the service has no settings of flow keys");
  }
  await here.serving.submit({ kind: "echo", queue: "letters", flow_key: "a/b & c", delay: 600 });
  await open({ at: "/?view=queues" });
  await isLive();
  await button("Edit the queue letters").click();
  const dialog = here.page.getByRole("dialog", { name: "Queue letters" });
  await dialog.getByRole("button", { name: "Pause the key a/b & c" }).click();
  await dialog.getByRole("button", { name: "Resume the key a/b & c" }).waitFor();
  await dialog.getByRole("button", { name: "Limit the key a/b & c" }).click();
  await here.page.locator("#key-max_running").fill("2");
  await here.page.keyboard.press("Enter");
  await dialog.getByText("2 running").waitFor();
  await dialog.getByText("paused", { exact: true }).waitFor(); // not lost by the limits
  await dialog.getByRole("button", { name: "Resume the key a/b & c" }).click();
  await dialog.getByRole("button", { name: "Pause the key a/b & c" }).waitFor();
  await dialog.getByText("2 running").waitFor();
  assert.deepEqual(here.complaints, []);
});

test("an endpoint that was disabled is enabled again", async (t) => {
  if (!(await offers("/destinations/enable"))) {
    return t.skip("the service disables no endpoints");
  }
  const gone = createServer((_request, response) => response.writeHead(410).end());
  await once(gone.listen(0, "127.0.0.1"), "listening");
  const endpoint = `http://127.0.0.1:${gone.address().port}/hook`;
  await serveWith({ flags: ["--allow-address", "127.0.0.1"] });
  await here.serving.submit({ kind: "http", payload: { url: endpoint } });
  for (let value = { disabled: [] }; value.disabled.length === 0; ) {
    value = (await here.serving.ask("GET", "/destinations")).value;
  }
  await open({ at: "/?view=queues" });
  await isLive();
  await button(`Enable ${endpoint}`).click();
  await here.page.getByText("Disabled endpoints").waitFor({ state: "hidden" });
  assert.deepEqual((await here.serving.ask("GET", "/destinations")).value.disabled, []);
  gone.close();
});

test("nodes are shown with what they run, and since when", async () => {
  const id = await here.serving.submit({ kind: "sleep", payload: 600, queue: "letters" });
  await open({ at: "/?view=nodes" });
  await isLive();
  const { value } = await here.serving.ask("GET", "/nodes");
  const node = here.page.locator("#nodes section", { hasText: value.nodes[0].id });
  await node.getByText("alive").waitFor();
  await node.getByText("answers here").waitFor();
  await here.page.locator(`#runs-${id}`).click();
  await here.page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await here.page.keyboard.press("Escape");
  await here.page.locator(`#runs-${id}`).waitFor({ state: "hidden" });
  assert.deepEqual(here.complaints, []);
});

test("workers are shown with what they run, and kinds that nobody takes", async () => {
  await serveWith({ flags: ["--remote-kinds", "img/*"] });
  const { value: worker } = await here.serving.ask("POST", "/workers", { name: "thumbs-1", kinds: ["resize"], queues: ["images"] });
  const task = await here.serving.submit({ kind: "resize", queue: "images" });
  const polled = await here.serving.ask("POST", `/workers/${worker.worker}/poll`, { poll: 1, free: 2 });
  assert.equal(polled.value.tasks[0].id, task);
  await here.serving.submit({ kind: "img/small" });
  await open({ at: "/?view=nodes" });
  await isLive();
  const row = here.page.locator("#workers tr", { hasText: "thumbs-1" });
  for (const text of ["polls", "resize", "images", task]) {
    await row.getByText(text).first().waitFor();
  }
  await here.page.locator("#workers tr", { hasText: "img/small" }).getByText("no worker takes it").waitFor();
  // One that has room and has not polled for ten minutes, by its own account; heard of just now.
  const { value: other } = await here.serving.ask("POST", "/workers", { name: "thumbs-2", kinds: ["resize"] });
  await here.serving.ask("POST", `/workers/${other.worker}/heartbeat`, { running: [], free: 1, poll_age: 600 });
  const stuck = here.page.locator("#workers tr", { hasText: "thumbs-2" });
  await stuck.getByText("stuck").waitFor();
  const { workers } = (await here.serving.ask("GET", "/workers")).value;
  assert.deepEqual(workers.map(({ name, state }) => `${name} ${state}`).sort(), ["thumbs-1 ok", "thumbs-2 stuck"]);
  const heard = await here.page.evaluate(() => {
    const column = [...document.querySelectorAll("#workers th")].findIndex((each) => each.textContent === "Last heard of");
    return [...document.querySelectorAll("#workers table tbody tr")]
      .find((each) => each.textContent.includes("thumbs-2"))
      .children[column].querySelector("time").getAttribute("datetime");
  });
  // The service derives it anew for each answer, from a clock that does not jump: to a microsecond or two.
  const toldAt = Date.parse(workers.find(({ name }) => name === "thumbs-2").heard_at);
  assert.ok(Math.abs(Date.parse(heard) - toldAt) <= 1, `${heard} is not what the service tells`);
  await here.serving.ask("POST", `/workers/${worker.worker}/drain`);
  await row.getByText("draining").waitFor();
  await here.page.locator(`#works-${task}`).click();
  await here.page.getByRole("dialog").getByText(worker.worker).first().waitFor();
  assert.deepEqual(here.complaints, []);
});
