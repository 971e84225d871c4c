// The page as `wfhost playground` serves it, with the documents of a folder and an interpreter of the operator's.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { open, ready, start } from "./page.mjs";
import { dist } from "./serve.mjs";

test("the program serves the page with a folder's documents", async (t) => {
  const program = process.env.PLAYGROUND_WFHOST;
  if (!program || !process.env.PLAYGROUND_PROBE) return t.skip("PLAYGROUND_WFHOST is not set");
  const folder = await mkdtemp(join(tmpdir(), "playground-"));
  await writeFile(join(folder, "mine.probe"), "probe mine");
  await writeFile(join(folder, "also.beside"), "beside");
  const words = ["playground", folder, "--page", dist, "--at", "127.0.0.1:0", "--plugin", process.env.PLAYGROUND_PROBE];
  const child = spawn(program, words, { env: { ...process.env, HOME: folder }, stdio: ["ignore", "ignore", "pipe"] });
  t.after(() => child.kill());
  const address = await new Promise((resolve, reject) => {
    let told = "";
    child.stderr.on("data", (part) => {
      told += part;
      const found = /http:\/\/[^ ]+/.exec(told);
      if (found) resolve(found[0]);
    });
    child.on("exit", () => reject(new Error(told)));
  });
  const page = await open(t, { address });
  assert.match(await page.locator(".engine").innerText(), /^probe 0\.1\.0 /);
  await start(page);
  const { files, about } = await page.evaluate(() => {
    const { files, catalogue } = globalThis.playground.store;
    return { files: files.map((file) => file.path), about: catalogue.definitions[0].about };
  });
  assert.deepEqual(files.sort(), ["also.beside", "mine.probe"]);
  assert.deepEqual([about.id, about.description], ["mine", "also.beside"], "the companion belongs to the document");
  // A built-in one beside it, by the very bytes of this program.
  await page.getByLabel("Dialect").selectOption({ index: 1 });
  await ready(page);
  assert.equal(await page.locator(".summary").innerText(), "No findings");
});
