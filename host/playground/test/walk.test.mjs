// Every dialect is loaded; a bad document shows its line; walks reach their end, go back and fork; cases are saved.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { document, open, ready, region, site, start, write } from "./page.mjs";
import { dist } from "./serve.mjs";

/** The text that a test types takes a moment until it is read. */
const settled = async (page) => {
  await page.waitForTimeout(400);
  await ready(page);
};
const answer = async (page, label, value) => {
  await page.getByLabel(label, { exact: true }).first().fill(value);
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await ready(page);
};
const choose = async (page, name) => {
  await page.getByRole("radio", { name, exact: true }).check();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await ready(page);
};

test("every dialect is loaded, draws its example and begins", async (t) => {
  const page = await open(t);
  const dialects = await page.evaluate(() => globalThis.playground.store.dialects);
  assert.ok(dialects.length >= 2);
  for (const { name, title, examples } of dialects) {
    await page.getByLabel("Dialect").selectOption(title);
    await ready(page);
    assert.match(await page.locator(".engine").innerText(), new RegExp(`^${name} `));
    assert.ok(examples.length > 0, `${name} has no example: put one into guests/${name}/samples`);
    for (const [n, example] of examples.entries()) {
      if (n > 0) await page.getByLabel("Example").selectOption(example.title);
      await ready(page);
      assert.doesNotMatch(await page.locator(".summary").innerText(), /error/, `${name}, ${example.title}`);
      await region(page, "Drawing").locator("svg .node").first().waitFor();
      if (await page.getByRole("button", { name: /^Start/ }).isDisabled()) {
        // It begins with arguments that only a person can give.
        await page.getByRole("form", { name: /^Call / }).waitFor();
        continue;
      }
      await start(page);
      const lines = await page.evaluate(() => globalThis.playground.store.run?.steps.length ?? 0);
      assert.equal(lines, 1, `${name}, ${example.title} begins`);
      const standing = await page.evaluate(() => globalThis.playground.store.step.head.current.length);
      assert.equal(await region(page, "Drawing").locator("svg .node.current").count(), standing, `${name} shows where it stands`);
    }
  }
});

test("a bad document shows its line, and the finding leads there", async (t) => {
  const page = await open(t);
  await trees(page);
  const text = await page.evaluate(() => globalThis.playground.store.files[0].text);
  await document(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("\nentry: nowhere\n");
  await settled(page);
  const line = text.split("\n").length + 1;
  const finding = page.getByRole("button", { name: new RegExp(`line ${line}, column 1 `) });
  await finding.waitFor();
  assert.equal(await page.locator(".dots .dot").count(), 1);
  await page.keyboard.press("Control+Home");
  await finding.click();
  await page.locator(".cm-activeLine", { hasText: "entry: nowhere" }).waitFor();
  // What is worse than the last good version does not take its place, nor does loading the page again lose it.
  await page.getByText(/its last good version/).waitFor();
  assert.ok(await region(page, "Drawing").locator("svg .node").count() > 0);
  await page.reload();
  await ready(page);
  await finding.waitFor();
});

const trees = async (page) => {
  await page.evaluate(async () => {
    const { store } = globalThis.playground;
    const dialect = store.dialects.find((d) => d.marks.includes("mcptree"));
    await store.example(dialect, dialect.examples[0]);
  });
  await ready(page);
};

test("a walk reaches its end by its forms, a fork goes another way", async (t) => {
  const page = await open(t);
  await trees(page);
  await start(page);
  await answer(page, "Answer", "A-17");
  assert.match(await region(page, "Walk").getByRole("group", { name: "Arguments" }).innerText(), /"number": ?"A-17"/);
  await answer(page, "What the tool gave", '{"amount": 250.5}');
  assert.deepEqual(await standing(page), ["fair"]);
  // A judgment wants one of its options, and the form says which field is missing.
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByRole("alert").first().waitFor();
  await page.getByRole("radio", { name: "yes", exact: true }).check();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await ready(page);
  await choose(page, "pay");
  await page.getByRole("heading", { name: "The run has ended" }).waitFor();
  assert.match(await page.getByRole("status", { name: "Outcome" }).innerText(), /250\.5 euros/);

  await page.getByRole("button", { name: "Look at line 4" }).click();
  assert.deepEqual(await standing(page), ["approve"]);
  await choose(page, "decline");
  const parting = await page.locator(".parting").innerText();
  assert.match(parting, /Fork of Run 1, the same up to line 4/);
  assert.match(parting, /stands at declined, there at paid/);
  const runs = await page.evaluate(() => globalThis.playground.store.host.runs.map((run) => run.steps.at(-1).head.state));
  assert.equal(runs.length, 2);
  assert.notEqual(runs[0], runs[1]);
});

const standing = (page) => page.evaluate(() => globalThis.playground.store.step.head.current);

test("the journal tells what changed, and a refusal changes nothing", async (t) => {
  const page = await open(t);
  await trees(page);
  await start(page);
  await page.getByRole("button", { name: "Call a tool, as the agent" }).click();
  await page.getByLabel("step", { exact: true }).fill("9");
  await page.getByLabel("value", { exact: true }).fill("A-17");
  await page.getByRole("button", { name: "Call tree_answer" }).click();
  await ready(page);
  await region(page, "Journal").getByText(/^Refused, /).waitFor();
  assert.deepEqual(await standing(page), ["which_order"]);
  // What the reply named is filled in again; only the answer is missing.
  assert.equal(await page.getByLabel("step", { exact: true }).inputValue(), "1");
  await page.getByLabel("value", { exact: true }).fill("A-17");
  await page.getByRole("button", { name: "Call tree_answer" }).click();
  await ready(page);
  const journal = region(page, "Journal");
  await journal.getByText("changes of the state").last().click();
  assert.match(await journal.locator(".diff").last().innerText(), /\+ \/facts\/number = A-17/);
});

test("a walk is saved as a case of the corpus", async (t) => {
  const page = await open(t);
  await trees(page);
  await start(page);
  await page.getByRole("button", { name: "Call a tool, as the agent" }).click();
  await page.getByLabel("value", { exact: true }).fill("A-17");
  await page.getByRole("button", { name: "Call tree_answer" }).click();
  await ready(page);
  const made = await saved(page);
  assert.equal(made.dialect, "trees");
  assert.deepEqual(Object.keys(made.documents), ["1-refund.yaml"]);
  assert.deepEqual(made.calls.map((call) => call.tool), ["tree_start", "tree_answer"]);
  assert.equal(made.calls[1].arguments.session_id, "<session_id>");
  assert.equal(made.calls[1].result.node, "find_order");
});

/** The case that the journal gives; PLAYGROUND_CASES keeps it, so that the host can be held against it. */
async function saved(page) {
  const button = region(page, "Journal").getByRole("button", { name: "Save as a case" });
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const text = await readFile(await download.path(), "utf8");
  const folder = process.env.PLAYGROUND_CASES;
  if (folder) await writeFile(join(folder, download.suggestedFilename()), text);
  return JSON.parse(text);
}

test("a person's answers are saved with the calls that asked for them", async (t) => {
  const page = await open(t);
  await trees(page);
  await start(page);
  await answer(page, "Answer", "A-17");
  await page.getByRole("button", { name: "Call a tool, as the agent" }).click();
  for (const value of ['{"amount": 250.5}', "yes"]) {
    await page.getByLabel("value", { exact: true }).fill(value);
    await page.getByRole("button", { name: "Call tree_answer" }).click();
    await ready(page);
  }
  await page.getByRole("button", { name: "What it waits for" }).click();
  await choose(page, "pay");
  const made = await saved(page);
  assert.deepEqual(made.calls.map((call) => [call.tool, (call.elicited ?? []).map((asked) => asked.reply.content.value)]), [
    ["tree_start", ["A-17"]],
    ["tree_answer", []],
    ["tree_answer", ["pay"]],
  ]);
  assert.equal(made.calls[2].result.outcome, "refunded");
});

test("documents travel in the address, and a link that was cut says so", async (t) => {
  const page = await open(t);
  await trees(page);
  const text = `${await page.evaluate(() => globalThis.playground.store.files[0].text)}# caf\u00e9 \u2713\n`;
  await write(page, text);
  await page.getByRole("button", { name: "Share by link" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#p1."));
  const hash = await page.evaluate(() => location.hash);

  const other = await open(t, { path: hash });
  assert.equal(await other.evaluate(() => globalThis.playground.store.files[0].text), text);

  for (const [broken, words] of [
    [hash.slice(0, -40), /the link was cut: \d+ of its \d+ characters arrived/],
    [hash.slice(0, 6), /the link was cut or altered/],
    [`${hash.slice(0, -1)}${hash.endsWith("A") ? "B" : "A"}`, /altered on its way/],
  ]) {
    const cut = await open(t, { path: broken });
    assert.match(await cut.locator(".notice.error").innerText(), words);
    await start(cut);
    // The page stays usable: a run begins, as soon as its interpreter is there.
    await cut.waitForFunction(() => globalThis.playground.store.run?.steps.length === 1);
  }
});

test("the page fetches nothing but its own files, and those of the dialect that is used", async (t) => {
  site.asked.length = 0;
  await open(t);
  const guests = site.asked.filter((path) => path.startsWith("guests/"));
  assert.equal(guests.length, 1);
  assert.ok(!site.asked.some((path) => /transpiler|bindgen/.test(path)), "the transpiler waits until it is needed");
  const beside = [...new Set(site.asked)].filter((path) => !guests.includes(path)).map((path) => gzipSync(readFileSync(join(dist, path)), { level: 9 }).length);
  const bytes = beside.reduce((sum, size) => sum + size, 0);
  t.diagnostic(`first use beside the component: ${bytes} bytes (gzip)`);
  assert.ok(bytes < 150_000);
});
