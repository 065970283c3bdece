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
after(() => here.browser.close());
beforeEach(async () => {
  here.serving = await Serving.start();
});
afterEach(async () => {
  await here.page?.close();
  here.page = undefined;
  await here.serving.end();
});

export async function open(options = {}) {
  const page = await here.browser.newPage(options);
  here.page = page;
  here.complaints = [];
  page.onError = (text) => here.complaints.push(text);
  await page.goto(here.serving.url + "/");
  return page;
}

// With another token, or other flags.
export async function serveWith(options) {
  await here.serving.end();
  here.serving = await Serving.start(options);
}

export const isLive = () => here.page.getByText("live", { exact: true }).waitFor();
