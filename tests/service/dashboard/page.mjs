// SPDX-License-Identifier: MIT
// A browser for the tests of a file, and a page of it with a service behind for each.
import { after, afterEach, before, beforeEach } from "node:test";
import { Browser } from "./browser.mjs";
import { Serving } from "./serving.mjs";

// Its contents change with each test.
export const here = { browser: undefined, serving: undefined, page: undefined, complaints: [] };

before(async () => {
  here.browser = await Browser.launch(process.env.WEIR_CHROMIUM);
});
after(async () => {
  await end();
  await here.browser.close();
});
beforeEach(async () => {
  await end();
  here.serving = await Serving.start();
});
afterEach(end);

// Not called after a test that was skipped.
async function end() {
  const { page, serving } = here;
  here.page = here.serving = undefined;
  await page?.close();
  await serving?.end();
}

// `at` is the path and query.
export async function open({ at = "/", ...options } = {}) {
  const page = await here.browser.newPage(options);
  here.page = page;
  here.complaints = [];
  page.onError = (text) => here.complaints.push(text);
  await page.goto(here.serving.url + at);
  return page;
}

// Whether the service offers a path, by its description: some parts of the page depend on it.
export async function offers(path) {
  const { value } = await here.serving.ask("GET", "/openapi.json");
  return Object.keys(value.paths).some((each) => each.replaceAll(/\{\w+\}/g, "{}") === path);
}

// The row of a task has this status.
export const isStatus = (id, status) => here.page.locator("#tasks tr", { hasText: id }).getByText(status, { exact: true }).waitFor();

// With another token, or other flags.
export async function serveWith(options) {
  await here.serving.end();
  here.serving = await Serving.start(options);
}

export const isLive = () => here.page.getByText("live", { exact: true }).waitFor();
