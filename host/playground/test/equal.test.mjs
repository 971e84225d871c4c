// Every recorded walk gives here what it gives on the host: replies and states to the byte, for the same documents, calls, seeds,
// times and identifiers. The walks were made by the host just now (tests/suite/playground.rs).

import assert from "node:assert/strict";
import { test } from "node:test";
import { given, open, ready } from "./page.mjs";

test("replies and states are the host's, to the byte", async (t) => {
  const walks = given("PLAYGROUND_WALKS", t);
  if (!walks) return;
  const page = await open(t);
  const all = JSON.parse(walks.toString());
  const counts = {};
  for (const interpreter of new Set(all.map((walk) => walk.interpreter))) {
    await page.evaluate(async (name) => {
      const { store } = globalThis.playground;
      const dialect = store.dialects.find((d) => d.name === name);
      if (!dialect) throw new Error(`the page has no dialect ${name}`);
      await store.example(dialect, undefined);
    }, interpreter);
    await ready(page);
    const own = all.filter((walk) => walk.interpreter === interpreter);
    const results = await page.evaluate(walked, own);
    const differing = results.flatMap((result) => result.differences);
    assert.deepEqual(differing.slice(0, 3), [], `${differing.length} of ${own.length} walks of ${interpreter} differ`);
    counts[interpreter] = `${own.length} walks, ${results.reduce((sum, r) => sum + r.calls, 0)} calls`;
  }
  t.diagnostic(`equal to the byte: ${JSON.stringify(counts)}`);
});

/** In the page: each walk once more, with the host's own stamps. */
async function walked(walks) {
  const { store, Host, read } = globalThis.playground;
  const results = [];
  for (const walk of walks) {
    const differences = [];
    let calls = 0;
    const stamps = [];
    const sessions = [];
    const clock = { now: () => stamps[0]?.at ?? 0, seed: () => BigInt(`0x${stamps.shift()?.event.seed ?? "0"}`), session: () => sessions.shift() ?? "ses_none" };
    const host = new Host(store.guest, clock, await read(store.guest, walk.files));
    const own = [];
    for (const step of walk.steps) {
      calls += 1;
      const told = (what, ours, theirs) => {
        if (ours !== theirs) differences.push(`${walk.name}, call ${calls} ${step.tool}: ${what}: page ${ours}, host ${theirs}`);
      };
      stamps.splice(0, stamps.length, ...step.lines.filter((line) => line.event));
      if (step.session && !own.includes(step.session.id)) {
        sessions.splice(0, sessions.length, step.session.id);
        own.push(step.session.id);
      }
      let { output } = await host.call(step.tool, step.args);
      // What the host answered itself, since nobody was there.
      while (stamps.length > 0) {
        const { input, source } = stamps[0].event;
        const run = host.run(step.session.id);
        const asked = run?.steps.at(-1).head.requests.find((open) => open.id === input.reply?.request);
        if (!asked) break;
        const { value, failure } = input.reply;
        const given = failure ? { tag: "err", val: failure } : { tag: "ok", val: JSON.stringify(value) };
        const next = await host.reply(step.session.id, asked, { request: asked.id, value: given }, source);
        if (next && !next.refused) output = next.output;
      }
      told("value", output.value, step.output.value);
      told("headline", output.headline ?? null, step.output.headline);
      told("content", output.content ?? null, step.output.content);
      told("isError", output.isError, step.output.isError);
      if (step.lines.length > 0) told("state", host.run(step.session.id)?.steps.at(-1).head.state, step.session.state);
      told("journal", stamps.length, 0);
    }
    results.push({ calls, differences });
  }
  return results;
}
