// By keyboard alone, for a reader of a screen, at 320 pixels, in the dark.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { test } from "node:test";
import { browser, open, ready, region, start } from "./page.mjs";

/** PLAYGROUND_SHOTS keeps the pictures for a person to look at. */
async function shot(page, name) {
  const folder = process.env.PLAYGROUND_SHOTS;
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
}

async function trees(page) {
  await page.evaluate(async () => {
    const { store } = globalThis.playground;
    const dialect = store.dialects.find((d) => d.marks.includes("mcptree"));
    await store.example(dialect, dialect.examples[0]);
  });
  await ready(page);
}

/** Presses Tab until something is reached. */
async function tabTo(page, locator, most = 60) {
  for (let n = 0; n < most; n += 1) {
    if (await locator.evaluate((element) => element === element.ownerDocument.activeElement).catch(() => false)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${locator} is not reached with ${most} presses of Tab`);
}

test("a whole walk by keyboard alone, in and out of the editor", async (t) => {
  const page = await open(t);
  await trees(page);
  await tabTo(page, page.getByRole("textbox", { name: /^Document/ }));
  await page.keyboard.type("# typed\n");
  assert.match(await page.evaluate(() => globalThis.playground.store.files[0].text), /^# typed\n/);
  await page.waitForTimeout(400);
  await ready(page);
  // Tab leaves the editor.
  await tabTo(page, page.getByRole("button", { name: "Start the walk" }), 40);
  await page.keyboard.press("Enter");
  await ready(page);
  await tabTo(page, page.getByLabel("Answer", { exact: true }));
  await page.keyboard.type("A-17");
  await page.keyboard.press("Enter");
  await ready(page);
  // The keyboard goes on in the next form.
  await page.waitForFunction(() => document.activeElement?.closest(".request"));
  await page.keyboard.type('{"amount": 99}');
  await tabTo(page, page.getByRole("button", { name: "Answer", exact: true }), 5);
  await page.keyboard.press("Enter");
  await ready(page);
  await page.waitForFunction(() => document.activeElement?.closest(".request"));
  await page.keyboard.press("ArrowDown");
  await tabTo(page, page.getByRole("button", { name: "Answer", exact: true }), 5);
  await page.keyboard.press("Enter");
  await ready(page);
  assert.deepEqual(await page.evaluate(() => globalThis.playground.store.step.head.outcome.val), '{"outcome":"declined","summary":"No refund."}');
  const back = page.getByRole("button", { name: "Step back" });
  await tabTo(page, back);
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => globalThis.playground.store.line), 3);
});

test("a reader of a screen finds every part by its name and role", async (t) => {
  const page = await open(t);
  await trees(page);
  await start(page);
  for (const name of ["Document", "Drawing", "Walk", "Journal"]) {
    await region(page, name).waitFor();
    await page.getByRole("heading", { name, level: 2 }).waitFor();
  }
  await page.getByRole("banner").getByRole("heading", { level: 1 }).waitFor();
  await page.getByRole("main").waitFor();
  await page.getByRole("combobox", { name: "Dialect" }).waitFor();
  await page.getByRole("textbox", { name: "Answer" }).waitFor();
  await page.getByText("As a list").click();
  const here = region(page, "Drawing").getByRole("listitem").filter({ hasText: "the run stands here" });
  assert.match(await here.innerText(), /^which_order question, the run stands here → find_order/);
  // Nothing that can be reached is without a name.
  const cdp = await page.context().newCDPSession(page);
  const { nodes } = await cdp.send("Accessibility.getFullAXTree");
  const roles = new Set(["button", "textbox", "combobox", "radio", "checkbox", "link", "region", "group", "list"]);
  const nameless = nodes.filter((node) => !node.ignored && roles.has(node.role?.value) && node.role.value !== "list" && !node.name?.value);
  const told = nameless.map((node) => `${node.role.value} ${JSON.stringify(node.description?.value ?? "")} ${node.backendDOMNodeId}`);
  assert.deepEqual(told.filter((one) => !one.startsWith("group")), []);
});

for (const [name, options] of [
  ["wide-light", { width: 1440, height: 900 }],
  ["wide-dark", { width: 1440, height: 900, colorScheme: "dark" }],
  ["middle-light", { width: 1000, height: 900 }],
  ["narrow-light", { width: 320, height: 640 }],
  ["narrow-dark", { width: 320, height: 640, colorScheme: "dark" }],
]) {
  test(`nothing overflows and every text can be read: ${name}`, async (t) => {
    const page = await open(t, options);
    await trees(page);
    for (const pane of ["Document", "Drawing", "Walk", "Journal"]) {
      const tab = page.getByRole("navigation").getByRole("button", { name: pane });
      if (await tab.isVisible()) await tab.click();
      if (pane === "Walk") {
        await start(page);
        await page.getByLabel("Answer", { exact: true }).fill("A-17");
        await page.getByRole("button", { name: "Answer", exact: true }).click();
        await ready(page);
      }
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${pane} fits ${options.width} px`);
      const faint = await page.evaluate(contrasts);
      assert.deepEqual(faint, [], `${pane}: texts with too little contrast`);
      if (options.width < 700 || pane === "Journal") await shot(page, `${name}-${pane.toLowerCase()}`);
    }
  });
}

/** In the page: texts whose contrast with what is behind them is below 4.5 to 1 (WCAG 2.2, 1.4.3). */
function contrasts() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const part = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return rgba("white");
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element?.checkVisibility() || element.closest("svg, :disabled, .later, .cm-cursorLayer, option")) continue;
    const [one, other] = [luminance(rgba(getComputedStyle(element).color)), luminance(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) faint.push(`${node.data.trim().slice(0, 30)} ${ratio.toFixed(2)} ${element.className}`);
  }
  return faint;
}

test("the page begins quickly", async (t) => {
  const times = [];
  for (let n = 0; n < 3; n += 1) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const { site } = await import("./page.mjs");
    const began = Date.now();
    await page.goto(site.address);
    await ready(page);
    times.push(Date.now() - began);
    await context.close();
  }
  t.diagnostic(`from an empty cache to a read document: ${times.join(", ")} ms`);
});
