// Bad input: the page says what happened, and stays usable.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { test } from "node:test";
import { drop, given, open, ready, region, start, write } from "./page.mjs";

const summary = (page) => page.locator(".summary").innerText();
const findings = (page) => page.evaluate(() => globalThis.playground.store.catalogue.findings);

/** The page still reads documents and walks them. */
async function usable(page) {
  await trees(page);
  assert.equal(await summary(page), "No findings");
  await start(page);
  assert.equal(await page.evaluate(() => globalThis.playground.store.run.steps.length), 1);
}

async function trees(page) {
  await page.evaluate(async () => {
    const { store } = globalThis.playground;
    const dialect = store.dialects.find((d) => d.marks.includes("mcptree"));
    await store.example(dialect, dialect.examples[0]);
  });
  await ready(page);
}

test("a document of five megabytes is read, or told to be too much", async (t) => {
  const page = await open(t);
  await trees(page);
  const nodes = Array.from({ length: 40_000 }, (_, n) => `  n${n}: { type: ask, prompt: "${"long ".repeat(15)}${n}", capture: c, next: ${n === 39_999 ? "end" : `n${n + 1}`} }`);
  const text = `mcptree: "0.2"\nid: long\ntitle: Long\nentry: n0\nnodes:\n${nodes.join("\n")}\n  end: { type: terminal, outcome: done, summary: Over. }\n`;
  assert.ok(text.length > 5_000_000);
  const began = Date.now();
  await write(page, text);
  const told = await findings(page);
  t.diagnostic(`5 MB: ${Date.now() - began} ms, ${told.map((f) => f.message).join("; ") || "no findings"}`);
  if (told.length === 0) {
    assert.match(await region(page, "Drawing").innerText(), /40001 nodes; up to \d+ are drawn/);
    await start(page);
    assert.equal(await page.evaluate(() => globalThis.playground.store.run.steps.length), 1);
  } else {
    assert.ok(told.every((f) => f.message.length > 0 && f.severity === "error"));
  }
  await usable(page);
});

test("a document past the limit is told with it", async (t) => {
  const page = await open(t);
  await trees(page);
  await write(page, `mcptree: "0.2"\n# ${"x".repeat(8 << 20)}`);
  assert.match((await findings(page))[0].message, /the document has 8\.0 MiB; 8 are allowed/);
  await usable(page);
});

test("a dropped file that is too large or no text is told, and nothing is lost", async (t) => {
  const page = await open(t);
  const before = await page.evaluate(() => globalThis.playground.store.files);
  for (const [bytes, words] of [
    [Buffer.alloc((8 << 20) + 1, 0x61), /has 8\.0 MiB, and 8 are allowed/],
    [Buffer.from([0xff, 0xfe, 0]), /is no UTF-8 text/],
  ]) {
    await drop(page, [{ name: "big.yaml", bytes }]);
    await page.locator(".notice.error", { hasText: words }).waitFor();
  }
  assert.deepEqual(await page.evaluate(() => globalThis.playground.store.files), before);
  await usable(page);
});

test("an alias bomb is a finding", async (t) => {
  const page = await open(t);
  await trees(page);
  const levels = Array.from({ length: 30 }, (_, n) => `x-${n + 1}: &l${n + 1} [${Array(9).fill(`*l${n}`).join(", ")}]`);
  await write(page, `mcptree: "0.2"\nid: bomb\ntitle: Bomb\nx-0: &l0 [a, b]\n${levels.join("\n")}\nentry: a\nnodes: *l30\n`);
  const [first] = await findings(page);
  assert.equal(first.severity, "error");
  assert.ok(first.message.length > 0);
  t.diagnostic(`alias bomb: ${first.message}`);
  await usable(page);
});

test("a third-party interpreter is dropped in and works", async (t) => {
  const probe = given("PLAYGROUND_PROBE", t);
  if (!probe) return;
  const page = await open(t);
  const began = Date.now();
  await drop(page, [{ name: "probe.wasm", bytes: probe }]);
  await page.getByText(/^probe 0\.1\.0 /).waitFor();
  t.diagnostic(`a component from disk is ready after ${Date.now() - began} ms`);
  await ready(page);
  await write(page, "probe mine");
  await start(page);
  assert.deepEqual(await page.evaluate(() => globalThis.playground.store.run.steps.at(-1).head.current), ["here"]);
  await act(page, "ask");
  await page.getByRole("button", { name: "What it waits for" }).click();
  await page.getByLabel("Answer", { exact: true }).fill("fine");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await ready(page);
  assert.match(await region(page, "Journal").innerText(), /reply r "fine"/);
  await act(page, "timer");
  await page.getByRole("button", { name: "What it waits for" }).click();
  await page.getByRole("button", { name: "Let the time pass" }).click();
  await ready(page);
  assert.match(await region(page, "Journal").innerText(), /clock/);
  // The link names the interpreter, and does not carry it.
  await page.getByRole("button", { name: "Share by link" }).click();
  await page.getByText(/It does not carry the interpreter/).waitFor();
  const other = await open(t, { path: await page.evaluate(() => location.hash) });
  assert.match(await other.locator(".notice.error").innerText(), /for the interpreter `probe` \(SHA-256 [0-9a-f]{12}…\)/);
  await drop(other, [{ name: "probe.wasm", bytes: probe }]);
  await other.getByText(/^probe 0\.1\.0 /).waitFor();
  await ready(other);
  assert.equal(await other.evaluate(() => globalThis.playground.store.files[0].text), "probe mine");
});

test("an interpreter of every released contract works", async (t) => {
  const frozen = new URL("../../../tests/frozen/", import.meta.url);
  for (const version of (await readdir(frozen)).filter((name) => /^\d/.test(name))) {
    const page = await open(t);
    const bytes = await readFile(new URL(`${version}/checklist.wasm`, frozen));
    const document = Buffer.from("# Release\n\n- [ ] the tests pass\n- [ ] the notes are written\n");
    await drop(page, [{ name: "checklist.wasm", bytes }, { name: "release.checklist.md", bytes: document }]);
    await page.getByText(`contract ${version}`).waitFor();
    await ready(page);
    assert.equal(await summary(page), "No findings");
    await start(page);
    assert.ok(await region(page, "Drawing").locator("svg .node.current").count() > 0);
  }
});

async function act(page, what) {
  await page.getByRole("button", { name: "Call a tool, as the agent" }).click();
  await page.getByLabel("Tool", { exact: true }).selectOption("probe_do");
  await page.getByLabel(/^do/).fill(what);
  await page.getByRole("button", { name: "Call probe_do" }).click();
  await ready(page);
}

test("an interpreter that loops, traps or breaks a rule costs its call and nothing else", async (t) => {
  const probe = given("PLAYGROUND_PROBE", t);
  if (!probe) return;
  const page = await open(t);
  await drop(page, [{ name: "probe.wasm", bytes: probe }, { name: "mine.probe", bytes: Buffer.from("probe mine") }]);
  await page.getByText(/^probe 0\.1\.0 /).waitFor();
  await ready(page);
  await start(page);
  for (const [harm, words] of [
    ["loop", /`answer` was stopped after 2 s/],
    ["trap", /`answer` trapped: .*unreachable/],
    ["memory", /`answer` trapped: .* of 64 MiB of memory/],
    ["stack", /`answer` trapped: .*(stack|recursion)/i],
    ["bad-state", /its state should be JSON and is not/],
    ["bad-reply", /its reply should be JSON and is not/],
    ["bad-entry", /its entry should be JSON and is not/],
    ["huge-state", /state is larger than 4 MiB/],
    ["twins", /two of its requests have one id/],
    ["ends-asking", /ends the session and leaves requests open/],
  ]) {
    await act(page, harm);
    assert.match(await page.locator(".notice.error").innerText(), words, harm);
    await act(page, "nothing");
    const state = await page.evaluate(() => JSON.parse(globalThis.playground.store.run.steps.at(-1).head.state));
    assert.equal(state.seen.at(-1), "nothing", `after ${harm} the run goes on`);
    assert.ok(!state.seen.includes(harm), `${harm} left nothing`);
  }
  for (const [text, words] of [
    ["probe x\ncompile loop", /`compile` was stopped after 10 s/],
    ["probe x\ncompile trap", /`compile` trapped: .*unreachable/],
    ["probe x\ncompile memory", /`compile` trapped: .* of 256 MiB/],
    ["probe x\nrecognise stack", /`recognise` trapped: /],
  ]) {
    await write(page, text);
    assert.match((await findings(page))[0].message, words);
  }
  await write(page, "probe well");
  assert.equal(await summary(page), "No findings");
  await usable(page);
});

test("a file that is no interpreter is told, and the one before stays", async (t) => {
  const page = await open(t);
  const [core, wasi] = [
    [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    // (component (import "wasi:cli/exit@0.2.0" (instance)))
    [0, 0x61, 0x73, 0x6d, 13, 0, 1, 0, 7, 3, 1, 0x42, 0, 10, 24, 1, 0, 19, ...Buffer.from("wasi:cli/exit@0.2.0"), 5, 0],
  ];
  for (const [bytes, words] of [
    [Buffer.from("hello"), /no WebAssembly file/],
    [core, /a core WebAssembly module, not a component/],
    [[0, 0x61, 0x73, 0x6d, 13, 0, 1, 0], /no interpreter: it exports nothing/],
    [[0, 0x61, 0x73, 0x6d, 13, 0, 1, 0, 1, 99, 1], /the file was cut/],
    [wasi, /imports wasi:cli\/exit@0\.2\.0; an interpreter imports nothing/],
  ]) {
    await drop(page, [{ name: "other.wasm", bytes }]);
    await page.locator(".notice.error", { hasText: words }).waitFor();
  }
  await ready(page);
  await usable(page);
});
