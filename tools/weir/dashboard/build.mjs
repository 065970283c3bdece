// SPDX-License-Identifier: MIT
// Makes the page: node build.mjs OUTPUT_FOLDER
import { build } from "esbuild";
import { cp, mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? path.join(here, "built");
await mkdir(output, { recursive: true });
await build({
  entryPoints: { app: path.join(here, "src/main.ts") },
  outdir: output,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "eof",
  logLevel: "warning",
});
for (const file of ["index.html", "icon.svg"]) {
  await cp(path.join(here, file), path.join(output, file));
}
