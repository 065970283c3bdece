// SPDX-License-Identifier: MIT
// The appearance and use of the page: at all widths, in both themes, by keyboard, under load, and
// while the service is away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { here, isLive, isStatus, open, serveWith } from "./page.mjs";

const long = "a-name-that-goes-on-".repeat(5);

const isTooWide = () => here.page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);

async function submitOddities() {
  await here.serving.submit({ kind: "echo", queue: long.slice(0, 100), payload: { text: "x".repeat(5000) }, tags: ["t".repeat(90)] });
  await here.serving.submit({ kind: "echo", queue: "שלום-עולם", payload: { fail: "خطأ ".repeat(200) }, max_attempts: 1 });
  await here.serving.submit({ kind: "echo", queue: "🦆", payload: { fail: "E".repeat(3000) }, max_attempts: 3 });
  await here.serving.submit({ kind: "sleep", payload: 600 });
  await here.serving.submit({ kind: "echo", delay: 600 });
  return here.serving.submit({ kind: "echo", queue: long.slice(0, 100), payload: { fail: "\u202eturned around" }, max_attempts: 1 });
}

test("nothing is wider than a narrow screen, and a long error does not fill it", async () => {
  const last = await submitOddities();
  await here.serving.ask("PATCH", `/queues/${long.slice(0, 100)}`, { max_running: 4, rate: 10, burst: 5, key_max_running: 1 });
  await here.serving.ask("PUT", `/schedules/${long.slice(0, 60)}`, { cron: "0 3 1-31/2,7,9,11 */2 mon,tue", zone: "America/Argentina/Buenos_Aires", task: { kind: "echo", queue: long.slice(0, 100) } });
  await open({ viewport: { width: 320, height: 700 } });
  await isLive();
  await here.page.locator(`#task-${last}`).waitFor();
  assert.equal(await isTooWide(), false);
  const height = await here.page.locator("#tasks tr", { hasText: "EEEE" }).evaluate((row) => row.clientHeight);
  assert.ok(height < 120, `${height}`);
  await here.page.locator(`#task-${last}`).click();
  await here.page.getByRole("dialog").getByText("Timeline").waitFor();
  assert.equal(await here.page.getByRole("dialog").evaluate((dialog) => dialog.scrollWidth > dialog.clientWidth), false);
  await here.page.keyboard.press("Escape");
  for (const [view, filled] of [["groups", "#groups"], ["queues", "#queues bdi"], ["schedules", "#schedules bdi"], ["nodes", "#nodes button.link"]]) {
    await here.page.locator(`#to-${view}`).click();
    await here.page.locator(filled).first().waitFor();
    assert.equal(await isTooWide(), false, view);
  }
  assert.deepEqual(here.complaints, []);
});

test("on a phone, 25 tasks take two screens, and are used by keyboard in the dark", async () => {
  const screen = { width: 390, height: 844 };
  const failing = { kind: "echo", queue: "a-queue-of-letters", payload: { fail: "the disk is full ".repeat(20) }, max_attempts: 1, tags: ["mail"] };
  await here.serving.ask("POST", "/tasks/batch", Array.from({ length: 30 }, () => failing));
  await open({ viewport: screen, colorScheme: "dark" });
  await isLive();
  await here.page.waitForFunction(() => [...document.querySelectorAll("#tasks tbody tr")].filter((row) => row.textContent.includes("failed")).length === 25);
  const box = await here.page.locator("#tasks tbody").boundingBox();
  assert.ok(box.height <= 2 * screen.height, `${box.height}`);
  assert.equal(await isTooWide(), false);
  assert.equal(await here.page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await here.page.locator("#tasks button.link").first().focus();
  await here.page.keyboard.press("Enter");
  await here.page.getByRole("dialog").getByText("Timeline").waitFor();
  await here.page.keyboard.press("Escape");
  assert.equal(await here.page.getByRole("dialog").count(), 0);
  // The filter is folded away until it is needed.
  assert.equal(await here.page.locator("#tasks [name=tag]").evaluate((input) => input.checkVisibility()), false);
  await here.page.getByRole("button", { name: "Filter" }).click();
  await here.page.getByRole("search").getByLabel("Tag").fill("none");
  await here.page.getByText("No tasks.").waitFor();
  assert.deepEqual(here.complaints, []);
});

test("who opens the page later sees the last minutes", async () => {
  await here.serving.submit({ kind: "echo" });
  await here.page?.close();
  for (let history; !history?.value.completed.some((value) => value > 0); ) {
    history = await here.serving.ask("GET", "/stats/history");
  }
  await open();
  await isLive();
  for (const chart of ["#throughput", "#latency"]) {
    await here.page.locator(`${chart} .empty`).waitFor({ state: "hidden" });
  }
});

test("two hundred queues scroll, and are in their order", async () => {
  const tasks = Array.from({ length: 200 }, (_, i) => ({ kind: "echo", queue: `queue-${i}` }));
  await here.serving.ask("POST", "/tasks/batch", tasks);
  await open({ at: "/?view=queues", viewport: { width: 1280, height: 900 } });
  await isLive();
  await here.page.locator("#queue-count", { hasText: "200" }).waitFor();
  const names = await here.page.locator("#queues tbody tr td:first-child").allTextContents();
  assert.deepEqual(names.slice(0, 3).concat(names[10]), ["queue-0", "queue-1", "queue-2", "queue-10"]);
  const region = here.page.getByRole("region", { name: "Queues", exact: true }).last();
  assert.ok((await region.boundingBox()).height < 600);
  await region.focus();
  await here.page.keyboard.press("End");
  await here.page.waitForFunction(() => document.querySelector("#queues .scroll").scrollTop > 0);
});

test("by keyboard: the focus can be seen, stays in a dialog, and comes back", async () => {
  const id = await here.serving.submit({ kind: "sleep", payload: 600 });
  await open();
  await isLive();
  await here.page.locator(`#task-${id}`).focus();
  await here.page.keyboard.press("Enter");
  const dialog = here.page.getByRole("dialog");
  await dialog.getByText("Timeline").waitFor();
  for (let i = 0; i < 12; ++i) {
    await here.page.keyboard.press("Tab");
    const state = await here.page.evaluate(() => ({
      inside: document.activeElement === document.body || document.activeElement.closest("dialog") !== null,
      outline: getComputedStyle(document.activeElement).outlineStyle,
      isBody: document.activeElement === document.body,
    }));
    assert.ok(state.inside);
    assert.ok(state.isBody || state.outline !== "none");
  }
  // Meanwhile the list is rebuilt.
  const other = await here.serving.submit({ kind: "echo" });
  await here.page.locator(`#task-${other}`).waitFor({ state: "attached" });
  await here.page.keyboard.press("Escape");
  await here.page.waitForFunction((wanted) => document.activeElement?.id === wanted, `task-${id}`);
});

test("a task is followed and the list can be held while thousands pass", async () => {
  await open();
  await isLive();
  const id = await here.serving.submit({ kind: "sleep", payload: { seconds: 1 } });
  await here.page.locator(`#task-${id}`).click();
  const dialog = here.page.getByRole("dialog");
  await dialog.getByText("Timeline").waitFor();
  let isOver = false;
  const flood = (async () => {
    while (!isOver) {
      await here.serving.ask("POST", "/tasks/batch", Array.from({ length: 500 }, () => ({ kind: "echo", queue: "flood" })));
    }
  })();
  try {
    await dialog.getByText("completed", { exact: true }).first().waitFor();
    await here.page.keyboard.press("Escape");
    await here.page.getByLabel("Follow new tasks").uncheck();
    const first = here.page.locator("#tasks button.link").first();
    let held = "";
    for (let tries = 0; tries < 10 && held !== (await first.textContent()); tries += 1) {
      held = await first.textContent(); // the answer to an earlier request may still come
      await here.page.waitForTimeout(600); // twice the time between two
    }
    assert.equal(await first.textContent(), held);
    await here.page.getByLabel("Follow new tasks").check();
    await here.page.waitForFunction((was) => document.querySelector("#tasks button.link").textContent !== was, held);
  } finally {
    isOver = true;
    await flood;
  }
  assert.deepEqual(here.complaints, []);
});

test("a service that is away is said, with what is shown, until it is back", async () => {
  const id = await here.serving.submit({ kind: "echo" });
  await open();
  await isLive();
  await here.page.locator(`#task-${id}`).waitFor();
  await here.serving.stop();
  const banner = here.page.locator("#banner");
  await banner.getByText("has not answered since").waitFor();
  await here.page.getByText("not connected").waitFor();
  await here.page.getByRole("button", { name: "New task" }).click();
  await here.page.locator("#submit").getByText("The service cannot be reached.").waitFor();
  await here.page.keyboard.press("Escape");
  await here.serving.run(new URL(here.serving.url).host);
  await isLive();
  await banner.waitFor({ state: "hidden" });
  const next = await here.serving.submit({ kind: "echo", payload: "after the restart" });
  await isStatus(next, "completed");
});

test("a token that is wrong, or not right any more, is asked for again with the reason", async () => {
  await serveWith({ environment: { WEIR_TOKEN: "correct-horse-battery-staple" } });
  await open();
  const login = here.page.getByRole("dialog", { name: "This service wants a token" });
  const enter = async (token) => {
    await login.getByRole("textbox", { name: "Token" }).fill(token);
    await here.page.keyboard.press("Enter");
  };
  await login.waitFor();
  await here.page.keyboard.press("Escape"); // no other control is available
  await enter("wrong-horse-battery-staple");
  await login.getByText("is not right").waitFor();
  await enter("correct-horse-battery-staple");
  await isLive();
  assert.doesNotMatch(await here.page.url(), /horse/);
  await login.waitFor({ state: "hidden" });
  await here.serving.stop();
  here.serving.environment.WEIR_TOKEN = "another-horse-battery-staple";
  await here.serving.run(new URL(here.serving.url).host);
  await login.getByText("is not right").waitFor();
  await enter("another-horse-battery-staple");
  await isLive();
});
