// SPDX-License-Identifier: MIT
// The appearance and use of the page: at all widths, in both themes, by keyboard, under load, and
// while the service is away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { here, isLive, open, serveWith } from "./page.mjs";

const long = "a-name-that-goes-on-".repeat(5);

// The lowest contrast between a visible text and its background, and where it is. WCAG AA requires
// 4.5.
function leastContrast() {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] === 1) {
        return color;
      }
    }
    return [255, 255, 255];
  };
  let worst = { ratio: 21, text: "" };
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
    if (hasText && element.checkVisibility() && !element.closest(".hidden, .skip")) {
      const [a, b] = [light(channels(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < worst.ratio) {
        worst = { ratio, text: `${element.tagName} ${element.className}: ${element.textContent.slice(0, 40)}` };
      }
    }
  }
  return worst;
}

const isTooWide = () => here.page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);

async function submitOddities() {
  await here.serving.submit({ kind: "echo", queue: long.slice(0, 100), payload: { text: "x".repeat(5000) }, tags: ["t".repeat(90)] });
  await here.serving.submit({ kind: "echo", queue: "שלום-עולם", payload: { fail: "خطأ ".repeat(200) }, max_attempts: 1 });
  await here.serving.submit({ kind: "echo", queue: "🦆", payload: { fail: "E".repeat(3000) }, max_attempts: 3 });
  await here.serving.submit({ kind: "sleep", payload: 600 });
  await here.serving.submit({ kind: "echo", delay: 600 });
  return here.serving.submit({ kind: "echo", queue: long.slice(0, 100), payload: { fail: "\u202eturned around" }, max_attempts: 1 });
}

test("texts can be read in both themes, and nothing is wider than a narrow screen", async () => {
  const last = await submitOddities();
  for (const [colorScheme, width] of [["light", 320], ["dark", 1280]]) {
    await open({ viewport: { width, height: 700 }, colorScheme });
    await isLive();
    await here.page.locator(`#task-${last}`).waitFor();
    await here.page.locator("#queues bdi").first().waitFor();
    assert.equal(await isTooWide(), false);
    let worst = await here.page.evaluate(leastContrast);
    assert.ok(worst.ratio >= 4.5, JSON.stringify(worst));
    // A long error does not fill the screen.
    const height = await here.page.locator("#tasks tr", { hasText: "EEEE" }).evaluate((row) => row.clientHeight);
    assert.ok(height < 220, `${height}`);
    await here.page.locator(`#task-${last}`).click();
    await here.page.getByRole("dialog").getByText("Timeline").waitFor();
    worst = await here.page.evaluate(leastContrast);
    assert.ok(worst.ratio >= 4.5, JSON.stringify(worst));
    assert.equal(await here.page.getByRole("dialog").evaluate((dialog) => dialog.scrollWidth > dialog.clientWidth), false);
    assert.deepEqual(here.complaints, []);
    await here.page.close();
  }
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
  await open({ viewport: { width: 1280, height: 900 } });
  await isLive();
  await here.page.locator("#queue-count", { hasText: "200" }).waitFor();
  const names = await here.page.locator("#queues tbody tr td:first-child").allTextContents();
  assert.deepEqual(names.slice(0, 3).concat(names[10]), ["queue-0", "queue-1", "queue-2", "queue-10"]);
  const region = here.page.getByRole("region", { name: "Queues", exact: true }).last();
  assert.ok((await region.boundingBox()).height < 500);
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
  const id = await here.serving.submit({ kind: "sleep", payload: { seconds: 2 } });
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
    await here.page.waitForTimeout(500); // the earlier request
    const held = await first.textContent();
    await here.page.waitForTimeout(1000);
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
  await here.page.getByRole("button", { name: "Submit" }).click();
  await here.page.getByText("The service cannot be reached.").waitFor();
  await here.serving.run(new URL(here.serving.url).host);
  await isLive();
  await banner.waitFor({ state: "hidden" });
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
  await login.waitFor({ state: "hidden" });
  await here.serving.stop();
  here.serving.environment.WEIR_TOKEN = "another-horse-battery-staple";
  await here.serving.run(new URL(here.serving.url).host);
  await login.getByText("is not right").waitFor();
  await enter("another-horse-battery-staple");
  await isLive();
});
