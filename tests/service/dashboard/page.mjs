// SPDX-License-Identifier: MIT
// A browser for the tests of a file, and a page of it with a service behind for each.
import { createRequire } from "node:module";
import path from "node:path";
import { after, afterEach, before, beforeEach } from "node:test";
import { Serving } from "./serving.mjs";

const { chromium } = createRequire(path.join(process.env.WEIR_MODULES, "x.js"))("playwright-core");

// Its contents change with each test.
export const here = { browser: undefined, serving: undefined, page: undefined, complaints: [] };

before(async () => {
  here.browser = await chromium.launch({
    executablePath: process.env.WEIR_CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu"],
  });
});
after(() => here.browser.close());
beforeEach(async () => {
  here.serving = await Serving.start();
});
afterEach(async () => {
  await here.page?.close();
  await here.serving.end();
});

export async function open(options = {}) {
  const page = await here.browser.newPage(options);
  page.setDefaultTimeout(40_000);
  here.page = page;
  here.complaints = [];
  page.on("console", (message) => message.type() === "error" && here.complaints.push(message.text()));
  page.on("pageerror", (error) => here.complaints.push(String(error)));
  await page.goto(here.serving.url + "/");
  return page;
}

// With another token, or other flags.
export async function serveWith(options) {
  await here.serving.end();
  here.serving = await Serving.start(options);
}

export const isLive = () => here.page.getByText("live", { exact: true }).waitFor();
