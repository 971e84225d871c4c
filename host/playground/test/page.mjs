// What the tests share: a browser, the page on loopback, and the parts of it by the names that a reader hears.

import { existsSync, readFileSync } from "node:fs";
import { after } from "node:test";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const programs = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const browser = await chromium.launch({ executablePath: programs.find(existsSync), args: FLAGS });
export const site = await serve();
after(async () => {
  await browser.close();
  site.close();
});

/** A page that is ready; whatever it complains of fails the test at its end. */
export async function open(t, { address = site.address, path = "", width = 1440, height = 900, ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, ...more });
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.stack ?? error.message));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("request", (request) => {
    const own = request.url().startsWith(address) || /^(blob|data):/.test(request.url());
    if (!own) complaints.push(`it asked for ${request.url()}`);
  });
  t.after(async () => {
    await context.close();
    if (complaints.length > 0) throw new Error(complaints.join("\n"));
  });
  await page.goto(address + path);
  await ready(page);
  return page;
}

/** The documents are read and no call runs. */
export async function ready(page) {
  await page.waitForFunction(() => {
    const { store } = globalThis.playground ?? {};
    return store && store.guesting.kind !== "loading" && !store.reading && !store.busy;
  }, undefined, { timeout: 60_000 });
}

export const document = (page) => page.getByRole("textbox", { name: /^Document/ });

/** Another text in the place of the open document, as if it were typed. */
export async function write(page, text) {
  await page.evaluate((text) => {
    const { store } = globalThis.playground;
    const file = store.files[store.active];
    return store.documents([{ path: file.path, text }]);
  }, text);
  await ready(page);
}

/** Drops files on the page as a hand would. */
export async function drop(page, files) {
  const transfer = await page.evaluateHandle((files) => {
    const data = new DataTransfer();
    for (const { name, base64 } of files) {
      data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
    }
    return data;
  }, files.map(({ name, bytes }) => ({ name, base64: Buffer.from(bytes).toString("base64") })));
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

export const region = (page, name) => page.getByRole("region", { name });

/** The bytes of a file that the Rust suite made; undefined if the tests run without it. */
export function given(variable, t) {
  const path = process.env[variable];
  if (path) return readFileSync(path);
  t.skip(`${variable} is not set: run by \`cargo test -p wfhost-tests --test suite -- playground\``);
  return undefined;
}

/** Starts the walk and answers one request after the other. */
export async function start(page) {
  await page.getByRole("button", { name: /^Start/ }).click();
  await ready(page);
}
