// SPDX-License-Identifier: MIT
// Each view and dialog, in both themes and at both widths, has no violation of the rules of
// axe-core. accessibility.py gets these and runs this file.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { here, isLive, offers, open } from "./page.mjs";

const axe = await readFile(process.env.WEIR_AXE, "utf8");

// What is wrong, and where; empty if nothing is.
async function violations() {
  await here.page.evaluate(`() => { ${axe}; window.axe = window.axe ?? axe; }`);
  return here.page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
  });
}

async function check(what) {
  assert.deepEqual(await violations(), [], what);
}

// Every status, circuit and kind of row.
async function fill() {
  await here.serving.submit({ kind: "echo", payload: { fail: "no luck" }, max_attempts: 1, tags: ["red"], flow_key: "acme" });
  await here.serving.submit({ kind: "echo", payload: { fail: "not yet" }, max_attempts: 3 });
  await here.serving.submit({ kind: "http", payload: { url: "http://127.0.0.1:9/" }, max_attempts: 1 });
  await here.serving.submit({ kind: "echo", delay: 600, queue: "letters" });
  const { value } = await here.serving.ask("POST", "/tasks", { kind: "echo", delay: 600 });
  await here.serving.ask("POST", `/tasks/${value.id}/cancel`);
  await here.serving.ask("PATCH", "/queues/letters", { max_running: 4, rate: 10, burst: 5, key_max_running: 1 });
  await here.serving.ask("POST", "/queues/letters/pause");
  await here.serving.ask("PUT", "/schedules/nightly", { cron: "0 3 * * *", is_paused: true, task: { kind: "echo" } });
  return here.serving.submit({ kind: "sleep", payload: 600 });
}

for (const [colorScheme, width] of [["light", 1280], ["dark", 390]]) {
  test(`no view or dialog violates a rule: ${colorScheme}, ${width} wide`, async () => {
    const running = await fill();
    await open({ viewport: { width, height: 844 }, colorScheme });
    await isLive();
    await here.page.locator(`#pick-${running}`).click();
    await check("tasks");
    await here.page.locator(`#task-${running}`).click();
    await here.page.getByRole("dialog").getByText("Timeline").waitFor();
    await check("a task");
    await here.page.keyboard.press("Escape");
    await here.page.locator("#pick-all").click();
    await here.page.locator("#pick-all").click();
    await here.page.locator("#new-task").click();
    await here.page.locator("#submit summary").click();
    await here.page.locator("#submit-priority").fill("many");
    await here.page.locator("#submit button[type=submit]").click();
    await here.page.locator("#submit-priority-problem").getByText("no number").waitFor();
    await check("a new task, with an error");
    await here.page.keyboard.press("Escape");
    if (await offers("/operations")) {
      await here.page.locator("#bulk-matching").click();
      await check("an operation");
      await here.page.keyboard.press("Escape");
    }
    await here.page.locator("#to-queues").click();
    await here.page.locator("#edit-letters").waitFor();
    await check("queues");
    await here.page.locator("#edit-letters").click();
    await check("a queue");
    await here.page.keyboard.press("Escape");
    await here.page.locator("#delete-letters").click();
    await here.page.getByRole("dialog", { name: "Delete the queue letters?" }).waitFor();
    await check("a question");
    await here.page.keyboard.press("Escape");
    await here.page.locator("#to-schedules").click();
    await here.page.locator("#edit-schedule-nightly").waitFor();
    await check("schedules");
    await here.page.locator("#edit-schedule-nightly").click();
    await here.page.getByRole("dialog").waitFor();
    await check("a schedule");
    await here.page.keyboard.press("Escape");
    await here.page.locator("#to-nodes").click();
    await here.page.locator(`#runs-${running}`).waitFor();
    await check("nodes");
    // The other theme, on the fullest page: colours differ, the structure does not.
    await here.page.locator("#theme").click();
    await check("nodes in the other theme");
    await here.page.locator("#to-tasks").click();
    await check("tasks in the other theme");
    await here.serving.stop("SIGKILL");
    await here.page.locator("#banner").waitFor();
    await check("without the service");
  });
}

test("a violation is found", async () => {
  await open();
  await isLive();
  await here.page.evaluate(() => {
    document.querySelector("main").insertAdjacentHTML("beforeend", '<img src="icon.svg"><p class="planted">faint</p>');
    document.querySelector(".planted").style.color = "#bbb";
  });
  const found = await violations();
  assert.deepEqual(found.map((each) => each.split(":")[0]).sort(), ["color-contrast", "image-alt"]);
});
