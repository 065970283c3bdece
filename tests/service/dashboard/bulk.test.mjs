// SPDX-License-Identifier: MIT
// Tasks that are selected, or match the filter, and changed together.
import assert from "node:assert/strict";
import { test } from "node:test";
import { here, isLive, isStatus, offers, open } from "./page.mjs";

const box = (id) => here.page.locator(`#pick-${id}`);
const selected = () => here.page.evaluate(() => [...document.querySelectorAll("#tasks .pick")].filter((each) => each.checked).map((each) => each.value));
const button = (name) => here.page.getByRole("button", { name, exact: true });
const states = async (ids) => Promise.all(ids.map(async (id) => (await here.serving.ask("GET", `/tasks/${id}`)).value.state));

// Newest first, as the list has them.
async function submitFailing(count, queue = "default") {
  const { value } = await here.serving.ask("POST", "/tasks/batch", Array.from({ length: count }, () => ({ kind: "echo", payload: { fail: "no luck" }, max_attempts: 1, queue })));
  const ids = value.results.map((result) => result.id).reverse();
  for (let pending = ids; pending.length > 0; ) {
    const now = await states(pending);
    pending = pending.filter((_, index) => now[index] !== "failed");
  }
  return ids;
}

test("tasks are selected by checkbox, with shift and by keyboard, and retried together", async () => {
  const ids = await submitFailing(6);
  await open();
  await isLive();
  await box(ids[0]).click();
  assert.deepEqual(await selected(), [ids[0]]);
  await here.page.shiftClick(box(ids[2]));
  assert.deepEqual(await selected(), ids.slice(0, 3));
  // By keyboard: Space, and from the last one with shift.
  await box(ids[5]).focus();
  await here.page.keyboard.press("Space");
  await box(ids[4]).focus();
  await here.page.keyboard.press("Shift+Space");
  assert.deepEqual(await selected(), [...ids.slice(0, 3), ids[4], ids[5]]);
  await box(ids[5]).click();
  assert.deepEqual(await selected(), [...ids.slice(0, 3), ids[4]]);
  // The list is held meanwhile, so that no selected task moves.
  const late = await here.serving.submit({ kind: "echo" });
  await button("Cancel 0 tasks").waitFor();
  await button("Retry 4 tasks").focus();
  await here.page.keyboard.press("Enter");
  await here.page.locator("#bulk-status").getByText("4 tasks to be run again.").waitFor();
  assert.deepEqual(await selected(), []);
  await here.page.locator(`#task-${late}`).waitFor();
  for (const id of ids) {
    const runs = ids.indexOf(id) === 3 || ids.indexOf(id) === 5 ? 1 : 2;
    for (let task; task?.run !== runs || task.state !== "failed"; ) {
      task = (await here.serving.ask("GET", `/tasks/${id}`)).value;
      assert.ok(task.run <= runs);
    }
  }
  assert.deepEqual(here.complaints, []);
});

test("all shown are selected at once; running ones are cancelled, ended ones deleted after a question", async () => {
  const ended = await submitFailing(2);
  const running = [await here.serving.submit({ kind: "sleep", payload: 600 }), await here.serving.submit({ kind: "sleep", payload: 600 })];
  await open();
  await isLive();
  await isStatus(running[1], "running");
  await here.page.getByLabel("Select all shown").click();
  assert.equal((await selected()).length, 4);
  await button("Cancel 2 tasks").click();
  await here.page.locator("#bulk-status").getByText("2 tasks cancelled.").waitFor();
  await isStatus(running[0], "cancelled");
  await isStatus(running[1], "cancelled");
  for (const id of ended) {
    await box(id).click();
  }
  const dialog = here.page.getByRole("dialog", { name: "Delete 2 tasks?" });
  await button("Delete 2 tasks").click();
  await dialog.getByRole("button", { name: "Keep" }).click();
  assert.deepEqual(await states(ended), ["failed", "failed"]);
  await button("Delete 2 tasks").click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await here.page.locator("#bulk-status").getByText("2 tasks deleted.").waitFor();
  await here.page.locator(`#task-${ended[0]}`).waitFor({ state: "hidden" });
  assert.deepEqual((await here.serving.ask("GET", "/tasks")).value.tasks.map((task) => task.id), running.reverse());
  assert.deepEqual(here.complaints, []);
});

test("a refusal is told, with the number of tasks that were changed", async () => {
  const [first, second] = await submitFailing(2);
  await open();
  await isLive();
  await here.page.getByLabel("Select all shown").click();
  await button("Retry 2 tasks").waitFor();
  await here.serving.ask("DELETE", `/tasks/${first}`); // by somebody else
  await button("Retry 2 tasks").click();
  await here.page.locator("#bulk-status").getByText(`1 task to be run again. 1 refused: there is no task ${first}`).waitFor();
  await here.page.locator(`#task-${second}`).waitFor();
});

test("all tasks that match the filter are counted, then changed", async (t) => {
  if (!(await offers("/operations"))) {
    return t.skip("the service has no operations");
  }
  const letters = await submitFailing(60, "letters");
  const [other] = await submitFailing(1, "other");
  await open({ at: "/?queue=letters" });
  await isLive();
  await button("All that match…").click();
  const dialog = here.page.getByRole("dialog", { name: "All tasks that match" });
  await dialog.getByText("Filter: queue letters.").waitFor();
  await dialog.getByText("0 tasks of the list can be cancelled.").waitFor();
  await dialog.getByLabel("Action").selectOption("delete");
  await dialog.getByText("60 tasks of the list have ended").waitFor();
  assert.deepEqual(await states(letters.slice(0, 2)), ["failed", "failed"]); // only counted
  await dialog.getByRole("button", { name: "Delete 60 tasks" }).click();
  await dialog.getByText("60 tasks deleted.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await here.page.getByText("No tasks. None fits the filter.").waitFor();
  assert.deepEqual((await here.serving.ask("GET", "/tasks")).value.tasks.map((task) => task.id), [other]);
  assert.deepEqual(here.complaints, []);
});
