// SPDX-License-Identifier: MIT
// npm packs the package and installs it from that file, without the network, and it works from
// there.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const uses = `
  import assert from "node:assert/strict";
  import { Client, Permanent, Worker } from "weir";
  import { run } from "weir/testing";
  const worker = new Worker("http://127.0.0.1:9").task("double", async ({ n }) => 2 * n);
  assert.equal((await run(worker, "double", { n: 21 })).result, 42);
  assert.equal(typeof Client, "function");
  assert.equal(typeof Permanent, "function");
  console.log(import.meta.resolve("weir"));`;

test("npm installs it", async (t) => {
  if (spawnSync("npm", ["--version"]).status !== 0) {
    return t.skip("npm is not installed");
  }
  const folder = await mkdtemp(path.join(os.tmpdir(), "weir-npm-"));
  const runIn = (at, ...words) => {
    const env = { ...process.env, HOME: folder, npm_config_cache: path.join(folder, "cache"), npm_config_offline: "true" };
    const done = spawnSync(words[0], words.slice(1), { cwd: path.join(folder, at), env, encoding: "utf8", timeout: 120000 });
    assert.equal(done.status, 0, done.stdout + done.stderr);
    return done.stdout;
  };
  try {
    const client = fileURLToPath(new URL("..", import.meta.url));
    await cp(client, path.join(folder, "source"), { recursive: true });
    const [packed] = JSON.parse(runIn("source", "npm", "pack", "--json"));
    await mkdir(path.join(folder, "place"));
    await cp(path.join(folder, "source", packed.filename), path.join(folder, "place", packed.filename));
    await rm(path.join(folder, "source"), { recursive: true });
    runIn("place", "npm", "install", "--no-audit", "--no-fund", `./${packed.filename}`);
    const resolved = runIn("place", process.execPath, "--input-type=module", "-e", uses);
    assert.match(resolved, /place\/node_modules\/weir\/src\/index\.js/);
    const installed = await readdir(path.join(folder, "place", "node_modules", "weir"));
    assert.deepEqual(installed.sort(), ["README.md", "index.d.ts", "package.json", "src", "testing.d.ts"]);
    assert.deepEqual(await readdir(path.join(folder, "place", "node_modules")).then((all) => all.filter((each) => !each.startsWith("."))), ["weir"]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
