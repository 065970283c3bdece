// SPDX-License-Identifier: MIT
// The charts: their legend follows the pointer, they follow the width and the theme.
import assert from "node:assert/strict";
import { test } from "node:test";
import { here, isLive, open } from "./page.mjs";

const readings = (chart) => here.page.locator(`${chart} .reading`).allTextContents();

// How many pixels of the chart's lines have this colour, a variable of the style sheet.
function pixelsOf(chart, variable) {
  const canvas = document.querySelector(`${chart} canvas`);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const color = getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  const wanted = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    count += data[at + 3] === 255 && wanted.every((value, channel) => Math.abs(data[at + channel] - value) < 4);
  }
  return count;
}

async function chartTasks() {
  await here.serving.ask("POST", "/tasks/batch", Array.from({ length: 300 }, () => ({ kind: "echo" })));
  await here.page.locator("#throughput .empty").waitFor({ state: "hidden" });
  // The newest second without a task: the legend shows that, unless the pointer is elsewhere.
  await here.page.waitForFunction(() => document.querySelector("#throughput .reading").textContent === "0/s");
}

test("the legend follows the pointer, and the chart the width and the theme", async () => {
  await open({ viewport: { width: 1280, height: 800 } });
  await isLive();
  await chartTasks();
  const box = await here.page.locator("#throughput .graph").boundingBox();
  const cursor = here.page.locator("#throughput .cursor");
  await cursor.waitFor({ state: "hidden" });
  let seen = "0/s";
  for (let x = box.right - 24; x > box.right - 60 && seen === "0/s"; x -= 1) {
    await here.page.hover(x, box.top + 60);
    [seen] = await readings("#throughput");
  }
  assert.notEqual(seen, "0/s");
  await cursor.waitFor();
  await here.page.hover(2, 2);
  await cursor.waitFor({ state: "hidden" });
  assert.equal((await readings("#throughput"))[0], "0/s");

  // It fills its place at each width, and has the colours of the theme.
  for (const width of [500, 900, 1400]) {
    await here.page.setViewport({ width, height: 800 });
    await here.page.waitForFunction(() => {
      const graph = document.querySelector("#throughput .graph");
      return graph.querySelector("canvas").clientWidth === graph.clientWidth;
    });
  }
  for (const theme of ["dark", "light"]) {
    await here.page.locator("#theme").click();
    assert.equal(await here.page.evaluate(() => document.documentElement.dataset.theme), theme);
    for (const variable of ["--blue", "--green"]) {
      await here.page.waitForFunction(pixelsOf, "#throughput", variable);
    }
  }
  const labels = await here.page.locator("#latency .dygraph-axis-label-y").allTextContents();
  assert.ok(labels.length >= 2 && labels.every((label) => /^[\d.]+ (ms|s|min|h)$/.test(label)), labels.join());
  assert.deepEqual(here.complaints, []);
});

test("the bundle has the notices and the licence of its parts", async () => {
  const bundle = await (await fetch(`${here.serving.url}/app.js`)).text();
  assert.match(bundle, /@license\s+\* Copyright .* Dan Vanderkam/);
  const license = await (await fetch(`${here.serving.url}/licenses.txt`)).text();
  assert.match(license, /Dan Vanderkam[^]*Permission is hereby granted/);
});
