// SPDX-License-Identifier: MIT
// Groups: the list, the graph of one with live states, large ones, and the tasks before and after one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { here, isLive, open } from "./page.mjs";

async function create(group) {
  const { status, value } = await here.serving.ask("POST", "/groups", group);
  assert.ok(status < 300, `${status} ${JSON.stringify(value)}`);
  return { id: value.group.id, tasks: value.tasks.map((each) => each.id) };
}

// A task, two after it, and one after both.
const diamond = {
  name: "nightly",
  tasks: [
    { name: "extract", kind: "sleep", payload: 600 },
    { name: "one", kind: "echo", after: ["extract"] },
    { name: "two", kind: "echo", after: [{ task: "extract", on_failure: "run" }] },
    { kind: "echo", after: [{ task: "one", on_failure: "run" }, "two"] },
  ],
  callback: { kind: "echo" },
  on_failure: "run",
};

const node = (id) => here.page.locator(`#node-${id}`);
const isState = (id, status) => here.page.waitForFunction((at, wanted) => document.getElementById(at)?.getAttribute("class") === `node ${wanted}`, `node-${id}`, status);
const rowOf = (id) => here.page.locator("#groups tr", { hasText: id });
const isTooWide = () => here.page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);

test("the graph of a group is drawn, and follows its tasks", async () => {
  const { id, tasks } = await create(diamond);
  await open({ at: "/?view=groups" });
  await isLive();
  // From here on only the feed causes loads: the clock of the page's interval stands still.
  await here.page.evaluate(() => {
    for (let each = window.setInterval(() => undefined, 1e9); each > 0; --each) {
      window.clearInterval(each);
    }
  });
  await rowOf(id).getByText("open", { exact: true }).waitFor();
  await here.page.locator(`#group-${id}`).click();
  await isState(tasks[0], "running");
  for (const each of tasks.slice(1)) {
    await isState(each, "waiting");
  }
  const boxes = await Promise.all(tasks.map((each) => node(each).locator("rect").boundingBox()));
  assert.ok(boxes[0].right < boxes[1].left && boxes[1].right < boxes[3].left, "each is right of those before");
  assert.ok(boxes[1].left === boxes[2].left && boxes[1].bottom < boxes[2].top, "those of a column do not overlap");
  assert.equal(await here.page.locator("#group .edge").count(), 4);
  await here.page.locator("#group").getByText("echo when all have ended").waitFor();

  await node(tasks[0]).focus();
  await here.serving.ask("POST", `/tasks/${tasks[0]}/cancel`);
  await isState(tasks[0], "cancelled");
  await isState(tasks[1], "cancelled");
  await isState(tasks[2], "completed");
  await isState(tasks[3], "completed");
  await rowOf(id).getByText("failed", { exact: true }).waitFor(); // two of them were cancelled
  assert.equal(await here.page.evaluate(() => document.activeElement.id), `node-${tasks[0]}`, "the focus stays");
  const { value } = await here.serving.ask("GET", `/groups/${id}`);
  await here.page.locator("#group").getByText(value.callback_task).waitFor();
  assert.deepEqual(here.complaints, []);
});

test("the task of a node says what it comes after and before, and links to its group", async () => {
  const { id, tasks } = await create(diamond);
  await open({ at: `/?view=groups&group=${id}` });
  await isLive();
  await node(tasks[1]).click();
  const dialog = here.page.getByRole("dialog");
  const section = (title) => dialog.locator("section", { hasText: title });
  await section("Comes after").getByText(tasks[0]).waitFor();
  await section("Comes before").getByText(tasks[3]).waitFor();
  await dialog.getByText(`it comes after the task ${tasks[0]}`).waitFor();
  await section("Comes after").getByText(tasks[0]).click();
  await here.page.waitForFunction((first) => window.location.hash === `#${first}`, tasks[0]);
  await section("Comes before").getByText(tasks[2]).waitFor();
  await here.page.keyboard.press("Escape");
  // The browser gives the focus back to the node that opened the dialog, and tells the page later.
  await here.page.waitForFunction((first) => document.activeElement.id === `node-${first}`, tasks[0]);

  await here.page.goto(`${here.serving.url}/#${tasks[3]}`);
  await dialog.getByText(id).click();
  await dialog.waitFor({ state: "hidden" });
  await node(tasks[3]).waitFor();
  await here.page.locator("#close-group").click();
  await here.page.locator("#group").waitFor({ state: "hidden" });
  await here.page.back();
  await node(tasks[3]).waitFor();
  assert.deepEqual(here.complaints, []);
});

test("large groups are summarised, with their failed tasks", async () => {
  const many = Array.from({ length: 300 }, () => ({ kind: "echo", delay: 600 }));
  const { id, tasks } = await create({ tasks: [...many, { kind: "echo", payload: { fail: "no luck" }, max_attempts: 1 }] });
  await open({ at: `/?view=groups&group=${id}` });
  await isLive();
  await isState(tasks[300], "failed");
  const rows = await here.page.locator("#group tbody tr").allTextContents();
  assert.deepEqual(rows, ["echofailed1", "echoscheduled300"]);
  assert.equal(await here.page.locator("#group .node").count(), 1);
});

test("groups that are open, held, cancelled or unknown say so, on a phone in the dark", async () => {
  const open_one = await create({ name: "a-name-that-goes-on-".repeat(5) });
  const held = await create({ on_failure: "hold", tasks: [{ kind: "echo", payload: { fail: "no" }, max_attempts: 1 }], callback: { kind: "echo" } });
  const cancelled = await create({ tasks: Array.from({ length: 150 }, () => ({ kind: "echo", delay: 600 })) });
  await here.serving.ask("POST", `/groups/${cancelled.id}/cancel`);
  const chain = await create({ tasks: Array.from({ length: 12 }, (_, i) => ({ name: `${i}`, kind: "echo", delay: 600, after: i === 0 ? [] : [`${i - 1}`] })) });
  await open({ at: "/?view=groups", viewport: { width: 320, height: 700 }, colorScheme: "dark" });
  await isLive();
  for (const [{ id }, text, members] of [[open_one, "not sealed", 0], [held, "held", 1], [cancelled, "cancelled", 150], [chain, "open", 12]]) {
    await rowOf(id).getByText(text, { exact: true }).waitFor();
    await here.page.locator(`#group-${id}`).click();
    await here.page.locator("#group-title").getByText(id).waitFor();
    assert.equal(await here.page.locator("#group .node").count(), members);
    assert.equal(await isTooWide(), false, text);
  }
  await here.page.goto(`${here.serving.url}/?view=groups&group=0000000000001`);
  await here.page.locator("#group").getByText("there is no group").waitFor();
});
