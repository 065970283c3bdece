// SPDX-License-Identifier: MIT
// Schedules: added, changed, paused, run and deleted by the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { here, isLive, offers, open } from "./page.mjs";

const button = (name) => here.page.getByRole("button", { name });
const input = (name) => here.page.locator(`#schedule-${name}`);
const stored = async (name) => (await here.serving.ask("GET", `/schedules/${name}`)).value;
const large = '{"number": 12345678901234567890}';

test("a schedule is added, changed, paused and deleted", async () => {
  await open({ at: "/?view=schedules" });
  await isLive();
  await button("New schedule").click();
  const dialog = here.page.getByRole("dialog", { name: "New schedule" });
  await dialog.getByLabel("Kind").selectOption("echo");
  await dialog.getByRole("button", { name: "Save" }).click();
  await here.page.locator("#schedule-name-problem").getByText("needs a name").waitFor();
  await input("name").fill("nightly");
  await input("cron").fill("61 * * * *");
  await input("zone").fill("Europe/Berlin");
  await dialog.getByRole("button", { name: "Save" }).click();
  await here.page.locator("#schedule-cron-problem").getByText("61").waitFor();
  await input("cron").fill("0 3 * * *");
  await input("payload").fill(large);
  await dialog.locator("summary").click();
  await input("priority").fill("5000");
  await dialog.getByRole("button", { name: "Save" }).click();
  await here.page.locator("#schedule-priority-problem").getByText("-1000 to 1000").waitFor();
  await input("priority").fill("5");
  await here.page.keyboard.press("Enter");
  await button("Edit the schedule nightly").waitFor();
  assert.equal((await stored("nightly")).zone, "Europe/Berlin");

  // Members without a field, and numbers that JavaScript cannot hold, are not lost.
  const raw = `{"cron": "0 3 * * *", "zone": "Europe/Berlin", "missed": "skip", "task": {"kind": "echo", "payload": ${large}, "backoff": {"initial": 9}, "tags": ["night"]}}`;
  await fetch(`${here.serving.url}/schedules/nightly`, { method: "PUT", headers: { "Content-Type": "application/json" }, body: raw });
  await button("Edit the schedule nightly").click();
  await here.page.waitForFunction(() => document.getElementById("schedule-tags").value === "night");
  await input("cron").fill("30 4 * * *");
  await here.page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await here.page.locator("#schedules").getByText("30 4 * * *").waitFor();
  await button("Pause the schedule nightly").click();
  await button("Resume the schedule nightly").waitFor();
  const text = await (await fetch(`${here.serving.url}/schedules/nightly`)).text();
  assert.match(text, /12345678901234567890/);
  const { is_paused, missed, task } = await stored("nightly");
  assert.deepEqual([is_paused, missed, task.backoff.initial, task.tags.join()], [true, "skip", 9, "night"]);
  await button("Resume the schedule nightly").click();
  await button("Pause the schedule nightly").waitFor();

  await button("Delete the schedule nightly").click();
  await here.page.getByRole("dialog", { name: "Delete the schedule nightly?" }).getByRole("button", { name: "Delete" }).click();
  await here.page.locator("#schedules").getByText("None yet.").waitFor();
  assert.equal((await here.serving.ask("GET", "/schedules/nightly")).status, 404);
});

test("a schedule is run now", async (t) => {
  if (!(await offers("/schedules/{}/run"))) {
    return t.skip("the service runs no schedule on request");
  }
  await here.serving.ask("PUT", "/schedules/yearly", { cron: "0 0 1 1 *", task: { kind: "echo", payload: "now" } });
  await open({ at: "/?view=schedules" });
  await isLive();
  await button("Run now the schedule yearly").click();
  await here.page.locator("#ran").click();
  await here.page.getByRole("dialog").getByText("completed", { exact: true }).first().waitFor();
  assert.equal((await here.serving.ask("GET", "/tasks")).value.tasks.length, 1);
  assert.deepEqual(here.complaints, []);
});
