// SPDX-License-Identifier: MIT
// The dashboard as people use it, in a real browser.
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { test } from "node:test";
import { here, isLive, isStatus, open } from "./page.mjs";

const fillIn = async (label, text) => here.page.locator("#submit").getByLabel(label).fill(text);
const submit = () => here.page.locator("#submit").getByRole("button", { name: "Submit" }).click();

test("a task is submitted by the form and seen to finish", async () => {
  await open();
  await isLive();
  await here.page.getByRole("button", { name: "New task" }).click();
  await here.page.locator("#submit").getByLabel("Kind").selectOption("sleep");
  await fillIn("Payload, JSON", '{"seconds": 0.2}');
  await submit();
  const detail = here.page.getByRole("dialog");
  await detail.getByText("completed", { exact: true }).first().waitFor();
  await detail.getByText('"slept": 0.2').waitFor();
  await detail.getByRole("button", { name: "Close" }).click();
  await here.page.locator("#tasks tbody").getByText("completed", { exact: true }).waitFor();
  assert.deepEqual(here.complaints, []);
});

test("all settings of a task are sent, and refusals are told at the field they are about", async () => {
  await open();
  await isLive();
  await here.page.getByRole("button", { name: "New task" }).click();
  await fillIn("Payload, JSON", "{");
  await submit();
  await here.page.locator("#submit-payload-problem").getByText("The payload is no JSON").waitFor();
  await fillIn("Payload, JSON", '{"number": 12345678901234567890}');
  await here.page.locator("#submit").getByLabel("Kind").selectOption("echo");
  const isAt = async (member, text) => {
    await here.page.locator(`#submit-${member}-problem`).getByText(text).waitFor();
    const marked = await here.page.evaluate(() => [...document.querySelectorAll("#submit [aria-invalid]")].map((control) => control.name).join());
    assert.equal(marked, member);
    assert.equal(await here.page.evaluate(() => document.activeElement.name), member);
  };
  await here.page.locator("#submit summary").click();
  for (const [label, member, wrong, told, right] of [
    ["Delay in seconds", "delay", "1e300", "'delay' must be", "600"],
    ["Priority", "priority", "many", "'many' is no number", "7"],
    ["Attempts", "max_attempts", "0", "'max_attempts' must be", "3"],
    ["Tags", "tags", "x".repeat(101), "1 to 100 bytes", "red, blue"],
    ["Timeout of a run", "timeout", "-1", "'timeout' must be", "30"],
  ]) {
    await fillIn(label, wrong);
    await submit();
    await isAt(member, told);
    await fillIn(label, right);
  }
  await fillIn("Queue", "letters");
  await fillIn("Flow key", "acme");
  await fillIn("Unique key", "only");
  await fillIn("Idempotency key", "once");
  await submit();
  await here.page.getByRole("dialog").getByText("Timeline").waitFor();
  const [{ id }] = (await here.serving.ask("GET", "/tasks")).value.tasks;
  const { value: task } = await here.serving.ask("GET", `/tasks/${id}`);
  const { queue, priority, max_attempts, timeout, tags, flow_key, unique_key, idempotency_key, status } = task;
  assert.deepEqual(
    { queue, priority, max_attempts, timeout, tags, flow_key, unique_key, idempotency_key, status },
    { queue: "letters", priority: 7, max_attempts: 3, timeout: 30, tags: ["red", "blue"], flow_key: "acme", unique_key: "only", idempotency_key: "once", status: "scheduled" },
  );
  const text = await (await fetch(`${here.serving.url}/tasks/${id}`)).text();
  assert.match(text, /12345678901234567890/);
});

test("a running task is cancelled, and one that failed is retried", async () => {
  const long = await here.serving.submit({ kind: "sleep", payload: 600 });
  await open();
  await isLive();
  await here.page.locator(`#task-${long}`).click();
  await here.page.getByRole("button", { name: "Cancel" }).click();
  await here.page.getByRole("dialog").getByText("cancelled", { exact: true }).first().waitFor();
  await here.page.keyboard.press("Escape");
  await isStatus(long, "cancelled");

  const bad = await here.serving.submit({ kind: "echo", payload: { fail: "no luck today" }, max_attempts: 1 });
  await here.page.locator(`#task-${bad}`).click();
  const detail = here.page.getByRole("dialog");
  await detail.getByText("no luck today").first().waitFor();
  await detail.getByRole("button", { name: "Retry now" }).click();
  await detail.getByText("run 2: failed").waitFor();
  await detail.getByRole("button", { name: "Delete" }).click();
  await here.page.getByRole("dialog", { name: "Delete the task" }).getByRole("button", { name: "Delete" }).click();
  await here.page.waitForFunction(() => document.querySelector("dialog[open]") === null);
  assert.equal((await here.serving.ask("GET", `/tasks/${bad}`)).status, 404);
  assert.deepEqual(here.complaints, []);
});

test("what tasks contain stays text, and the page has a policy", async () => {
  const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
  const id = await here.serving.submit({ kind: "echo", payload: { evil }, tags: [evil], queue: "q" });
  await here.serving.submit({ kind: "echo", payload: { fail: evil }, max_attempts: 1, queue: evil.slice(0, 90) });
  await open();
  await isLive();
  await here.page.locator("#tasks").getByText(evil.slice(0, 40)).first().waitFor();
  await here.page.locator(`#task-${id}`).click();
  await here.page.getByRole("dialog").getByText("onerror").first().waitFor();
  assert.equal(await here.page.locator("#tasks img, dialog img, dialog script, main img").count(), 0);
  assert.equal(await here.page.title(), "Weir");
  const { headers } = await here.serving.ask("GET", "/");
  assert.match(headers.get("content-security-policy"), /default-src 'self'/);
  assert.deepEqual(here.complaints, []);
});

test("a page of another site can neither submit nor listen", async () => {
  await open();
  const site = createServer((_request, response) => response.setHeader("Content-Type", "text/html").end("<p>other"));
  await once(site.listen(0, "127.0.0.1"), "listening");
  const other = await here.browser.newPage();
  await other.goto(`http://other.example:${site.address().port}/`);
  const outcome = await other.evaluate(async (url) => {
    await fetch(`${url}/tasks`, { method: "POST", mode: "no-cors", body: '{"kind":"echo"}' }).catch(() => undefined);
    await fetch(`${url}/tasks`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"kind":"echo"}' }).catch(() => undefined);
    return new Promise((resolve) => {
      const socket = new WebSocket(url.replace("http", "ws") + "/events", ["weir.events"]);
      socket.onopen = () => resolve("opened");
      socket.onerror = () => resolve("refused");
    });
  }, here.serving.url);
  assert.equal(outcome, "refused");
  const { value } = await here.serving.ask("GET", "/tasks");
  assert.deepEqual(value.tasks, []);
  await other.close();
  site.close();
});

if (process.env.WEIR_SCREENSHOTS) {
  test("screenshots", async () => {
    for (let i = 0; i < 40; ++i) {
      await here.serving.submit({ kind: i % 7 === 0 ? "echo" : "sleep", queue: ["mail", "images", "reports"][i % 3], payload: i % 7 === 0 ? { fail: "the disk is full" } : i % 5, tags: ["demo"] });
    }
    for (const theme of ["light", "dark"]) {
      await open({ viewport: { width: 1280, height: 1000 }, colorScheme: theme });
      await isLive();
      await here.page.waitForTimeout(4000);
      await writeFile(path.join(process.env.WEIR_SCREENSHOTS, `dashboard-${theme}.png`), await here.page.screenshot());
    }
    await open({ viewport: { width: 375, height: 800 } });
    await isLive();
    await here.page.waitForTimeout(1500);
    await writeFile(path.join(process.env.WEIR_SCREENSHOTS, "dashboard-phone.png"), await here.page.screenshot());
  });
}
