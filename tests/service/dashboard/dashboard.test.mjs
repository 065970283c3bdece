// SPDX-License-Identifier: MIT
// The dashboard as people use it, in a real browser.
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { test } from "node:test";
import { here, isLive, open, serveWith } from "./page.mjs";

test("a task is submitted by the form and seen to finish", async () => {
  await open();
  await isLive();
  await here.page.getByLabel("Kind").first().selectOption("sleep");
  await here.page.getByLabel("Payload, JSON").fill('{"seconds": 0.5}');
  await here.page.getByRole("button", { name: "Submit" }).click();
  const detail = here.page.getByRole("dialog");
  await detail.getByText("completed", { exact: true }).first().waitFor();
  await detail.getByText('"slept": 0.5').waitFor();
  await detail.getByRole("button", { name: "Close" }).click();
  await here.page.locator("#tasks tbody").getByText("completed", { exact: true }).waitFor();
  assert.deepEqual(here.complaints, []);
});

test("a payload that is no JSON, and a refusal, are told", async () => {
  await open();
  await isLive();
  await here.page.getByLabel("Payload, JSON").fill("{");
  await here.page.getByRole("button", { name: "Submit" }).click();
  await here.page.getByText("The payload is no JSON").waitFor();
  await here.page.getByLabel("Payload, JSON").fill("null");
  await here.page.getByLabel("Delay in seconds").fill("1e300");
  await here.page.getByRole("button", { name: "Submit" }).click();
  await here.page.getByText("delay").last().waitFor();
});

test("a running task is cancelled, and one that failed is retried", async () => {
  const long = await here.serving.submit({ kind: "sleep", payload: 600 });
  await open();
  await isLive();
  await here.page.locator(`#task-${long}`).click();
  await here.page.getByRole("button", { name: "Cancel" }).click();
  await here.page.getByRole("dialog").getByText("cancelled", { exact: true }).first().waitFor();
  await here.page.keyboard.press("Escape");

  const bad = await here.serving.submit({ kind: "echo", payload: { fail: "no luck today" }, max_attempts: 1 });
  await here.page.locator(`#task-${bad}`).click();
  const detail = here.page.getByRole("dialog");
  await detail.getByText("no luck today").first().waitFor();
  await detail.getByRole("button", { name: "Retry now" }).click();
  await detail.getByText("run 2: failed").waitFor();
  assert.deepEqual(here.complaints, []);
});

test("a queue is paused and resumed", async () => {
  await here.serving.submit({ kind: "echo", queue: "letters" });
  await open();
  await isLive();
  await here.page.getByRole("button", { name: "Pause the queue letters" }).click();
  await here.page.getByRole("button", { name: "Resume the queue letters" }).waitFor();
  const held = await here.serving.submit({ kind: "echo", queue: "letters" });
  await here.page.locator(`#task-${held}`).click();
  await here.page.getByRole("dialog").getByText("paused").first().waitFor();
  await here.page.keyboard.press("Escape");
  await here.page.getByRole("button", { name: "Resume the queue letters" }).click();
  await here.page.getByRole("button", { name: "Pause the queue letters" }).waitFor();
  await here.page.locator("#tasks tr", { hasText: held }).getByText("completed", { exact: true }).waitFor();
});

test("a queue is deleted after a question, with what it names", async () => {
  const ended = await here.serving.submit({ kind: "echo", queue: "old letters" });
  await here.serving.submit({ kind: "echo", queue: "old letters", delay: 600 });
  const kept = await here.serving.submit({ kind: "echo", queue: "other" });
  await open();
  await isLive();
  await here.page.locator("#tasks tr", { hasText: ended }).getByText("completed", { exact: true }).waitFor();
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
  await here.page.locator("#tasks tr", { hasText: running }).getByText("running", { exact: true }).waitFor();
  await ask();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.getByText("1 running").waitFor();
  await dialog.getByRole("button", { name: "Keep" }).click();
  await here.serving.ask("POST", `/tasks/${running}/cancel`);
  await here.page.locator("#tasks tr", { hasText: running }).getByText("cancelled", { exact: true }).waitFor();

  await ask();
  await dialog.getByText("1 pending task and 2 ended tasks").waitFor();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await here.page.waitForFunction(
    (id) =>
      [...document.querySelectorAll("#queues tbody td:first-child")].map((cell) => cell.textContent).join() === "other" &&
      [...document.querySelectorAll("#tasks tbody tr")].every((row) => row.textContent.includes(id)),
    kept,
  );
  assert.equal((await here.serving.ask("GET", "/queues/old%20letters")).status, 404);
  assert.equal(await here.page.getByRole("dialog").count(), 0);
});

test("tasks are filtered", async () => {
  for (let i = 0; i < 3; ++i) {
    await here.serving.submit({ kind: "echo", queue: "a", tags: ["red"] });
    await here.serving.submit({ kind: "sleep", queue: "b", payload: 600, delay: 600 });
  }
  await open();
  await isLive();
  const shows = (kinds) =>
    here.page.waitForFunction(
      (wanted) => [...document.querySelectorAll("#tasks tbody td[data-column=Kind]")].map((cell) => cell.textContent).sort().join() === wanted,
      kinds.join(),
    );
  await shows(["echo", "echo", "echo", "sleep", "sleep", "sleep"]);
  await here.page.getByLabel("Status").selectOption("scheduled");
  await shows(["sleep", "sleep", "sleep"]);
  await here.page.getByLabel("Status").selectOption("");
  await here.page.getByLabel("Tag").fill("red");
  await shows(["echo", "echo", "echo"]);
  await here.page.getByRole("search").getByLabel("Queue").fill("nowhere");
  await here.page.getByText("No tasks.").waitFor();
});

test("it comes back when the service was restarted", async () => {
  await open();
  await isLive();
  await here.serving.stop();
  await here.page.getByText("not connected").waitFor();
  await here.serving.run(new URL(here.serving.url).host);
  await isLive();
  const id = await here.serving.submit({ kind: "echo", payload: "after the restart" });
  await here.page.locator("#tasks tr", { hasText: id }).getByText("completed", { exact: true }).waitFor();
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
  assert.equal(await here.page.locator("#tasks img, dialog img, dialog script, #queues img").count(), 0);
  assert.equal(await here.page.title(), "Weir");
  const { headers } = await here.serving.ask("GET", "/");
  assert.match(headers.get("content-security-policy"), /default-src 'self'/);
  assert.deepEqual(here.complaints, []);
});

test("with a token, nothing is shown before it is given", async () => {
  await serveWith({ environment: { WEIR_TOKEN: "correct-horse-battery-staple" } });
  await open();
  const login = here.page.getByRole("dialog", { name: "This service wants a token" });
  await login.getByLabel("Token").fill("wrong-horse-battery-staple");
  await login.getByRole("button", { name: "Enter" }).click();
  await login.getByLabel("Token").waitFor();
  await login.getByLabel("Token").fill("correct-horse-battery-staple");
  await login.getByRole("button", { name: "Enter" }).click();
  await isLive();
  await here.page.getByRole("button", { name: "Submit" }).click();
  await here.page.getByRole("dialog").getByText("sleep").first().waitFor();
  assert.doesNotMatch(await here.page.url(), /horse/);
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

test("it works by keyboard, at phone width, in the dark", async () => {
  await here.serving.submit({ kind: "echo" });
  await open({ viewport: { width: 375, height: 700 }, colorScheme: "dark" });
  await isLive();
  await here.page.locator("#tasks tbody tr").first().waitFor();
  const wide = await here.page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  assert.equal(wide, false);
  assert.equal(await here.page.evaluate(() => document.documentElement.dataset.theme), "dark");
  const opener = here.page.locator("#tasks button.link").first();
  await opener.focus();
  await here.page.keyboard.press("Enter");
  await here.page.getByRole("dialog").getByText("Timeline").waitFor();
  await here.page.keyboard.press("Escape");
  assert.equal(await here.page.getByRole("dialog").count(), 0);
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
