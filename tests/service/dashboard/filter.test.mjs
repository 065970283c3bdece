// SPDX-License-Identifier: MIT
// The filter of the task list, which is in the address, and the search for an id.
import assert from "node:assert/strict";
import { test } from "node:test";
import { here, isLive, open } from "./page.mjs";

// The list has exactly these tasks, in any order.
const shows = (ids) =>
  here.page.waitForFunction(
    (wanted) => [...document.querySelectorAll("#tasks tbody button.link")].map((button) => button.textContent).sort().join() === wanted,
    [...ids].sort().join(),
  );
const field = (label) => here.page.getByRole("search").getByLabel(label);
const query = async () => Object.fromEntries(new URL(await here.page.url()).searchParams);
const isQuery = (expected) => here.page.waitForFunction((wanted) => location.search === wanted, expected);

test("the filter is in the address: it can be shared, and the browser goes back and forward", async () => {
  const red = await here.serving.submit({ kind: "echo", queue: "a", tags: ["red"], flow_key: "acme" });
  const blue = await here.serving.submit({ kind: "echo", queue: "a", tags: ["blue"], flow_key: "globex" });
  const later = await here.serving.submit({ kind: "sleep", queue: "b", payload: 600, delay: 600 });
  await open();
  await isLive();
  await shows([red, blue, later]);
  await field("State").selectOption("status=scheduled");
  await shows([later]);
  await field("State").selectOption("state=pending");
  await isQuery("?state=pending");
  await shows([later]);
  await field("State").selectOption("");
  await shows([red, blue, later]);
  await field("Tag").fill("re");
  await shows([]);
  await field("Tag").fill("red");
  await shows([red]);
  await field("Flow key").fill("acme");
  await isQuery("?tag=red&flow_key=acme");
  await field("Queue").fill("nowhere");
  await here.page.getByText("No tasks. None fits the filter.").waitFor();

  // Letters typed into one field are one step.
  await here.page.back();
  await shows([red]);
  assert.equal(await field("Queue").evaluate((input) => input.value), "");
  await here.page.back();
  await isQuery("?tag=red");
  await here.page.back();
  await shows([red, blue, later]);
  await here.page.forward();
  await shows([red]);
  assert.equal(await field("Tag").evaluate((input) => input.value), "red");

  // Another tab with the same address shows the same.
  await here.page.close();
  await open({ at: "/?kind=echo&queue=a&tag=blue" });
  await isLive();
  await shows([blue]);
  assert.equal(await field("Kind").evaluate((input) => input.value), "echo");
  await here.page.getByRole("button", { name: "Clear" }).click();
  await shows([red, blue, later]);
  assert.deepEqual(await query(), {});
  assert.deepEqual(here.complaints, []);
});

test("times are local, with a date, and in UTC as title; a range of them filters", async () => {
  const id = await here.serving.submit({ kind: "echo" });
  const { created_at } = (await here.serving.ask("GET", `/tasks/${id}`)).value;
  await open();
  await here.page.call("Emulation.setTimezoneOverride", { timezoneId: "Asia/Kolkata" });
  await here.page.goto(`${here.serving.url}/?kind=echo`);
  await isLive();
  const shown = await here.page.locator("#tasks tbody time").evaluate((time) => ({ text: time.textContent, title: time.title }));
  const local = new Date(Date.parse(created_at) + 5.5 * 3600_000).toISOString().slice(0, 19).replace("T", " ");
  assert.equal(shown.text, local);
  assert.match(shown.title, new RegExp(`^${created_at.slice(0, 10)} ${created_at.slice(11, 19)}.* UTC$`));
  const enter = (label, at) =>
    field(label).evaluate(
      `(input) => { input.value = ${JSON.stringify(at.replace(" ", "T").slice(0, 16))}; input.dispatchEvent(new Event("input", { bubbles: true })); }`,
    );
  await enter("Created before", local);
  await shows([]);
  const { to } = await query();
  assert.equal(to, `${created_at.slice(0, 16)}:00.000Z`);
  await enter("Created before", "2100-01-01 00:00");
  await enter("Created from", local);
  await shows([id]);
  assert.deepEqual(here.complaints, []);
});

test("a task is found by its id, and by the beginning of it", async () => {
  const ids = [];
  for (let i = 0; i < 3; ++i) {
    ids.push(await here.serving.submit({ kind: "echo" }));
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  await open();
  await isLive();
  await shows(ids);
  const search = field("Id, or its beginning");
  await search.fill(ids[1].toUpperCase());
  await shows([ids[1]]);
  await search.fill(ids[0].slice(0, 3));
  await shows(ids);
  await search.fill(ids[2].slice(0, 8));
  await shows(ids.filter((id) => id.startsWith(ids[2].slice(0, 8))));
  await search.fill("0000000000001");
  await here.page.getByText("No tasks. None fits the filter.").waitFor();
  await search.fill("hello");
  await here.page.getByText("begins no id").waitFor();
  // The largest prefix has no successor.
  await search.fill("7zz");
  await shows([]);
  assert.deepEqual(here.complaints, []);
});

test("a task is a step of the browser's history, and its address opens it", async () => {
  const id = await here.serving.submit({ kind: "echo", queue: "letters" });
  await open({ at: "/?queue=letters" });
  await isLive();
  await here.page.locator(`#task-${id}`).click();
  const dialog = here.page.getByRole("dialog");
  await dialog.getByText("Timeline").waitFor();
  const address = await here.page.url();
  assert.match(address, new RegExp(`\\?queue=letters#${id}$`));
  await here.page.back();
  await dialog.waitFor({ state: "hidden" });
  await here.page.forward();
  await dialog.getByText("Timeline").waitFor();
  await here.page.keyboard.press("Escape");
  await here.page.waitForFunction(() => location.hash === "");
  assert.deepEqual(await query(), { queue: "letters" });
  await here.page.close();
  await open({ at: address.slice(here.serving.url.length) });
  await here.page.getByRole("dialog").getByText("Timeline").waitFor();
  assert.deepEqual(here.complaints, []);
});
