// Builds the page into dist/: node build.mjs [FOLDER OF COMPONENTS] [--out FOLDER] [--why]. The components are those that the
// host's build leaves in target/plugins; none is named here. `--why` leaves the bundler's account of each script.

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { transpileBytes } from "@bytecodealliance/jco-transpile";
import { build } from "esbuild";
import { minify } from "oxc-minify";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: "string" }, why: { type: "boolean" } },
});
const dist = resolve(options.out ?? join(here, "dist"));
const plugins = resolve(positionals[0] ?? join(root, "target/plugins"));

/** The editor's commands name its grammars, which the page has none of: what is not used of them is left out. */
const noGrammars = {
  name: "no-grammars",
  setup({ onResolve, resolve: find }) {
    onResolve({ filter: /^@(codemirror\/language|lezer\/.*)$/ }, async ({ path, pluginData, kind, importer, resolveDir }) => {
      if (pluginData === "found") return undefined;
      return { ...(await find(path, { kind, importer, resolveDir, pluginData: "found" })), sideEffects: false };
    });
  },
};

/** Scripts that the page loads at once: its own and what that imports; the rest waits until it is needed. */
const first = new Set();

function loaded({ outputs }, file) {
  first.add(basename(file));
  const eager = outputs[file].imports.filter(({ kind }) => kind === "import-statement");
  for (const { path } of eager) if (!first.has(basename(path))) loaded({ outputs }, path);
}

async function scripts() {
  const { metafile } = await build({
    metafile: true,
    plugins: [noGrammars],
    entryPoints: { app: join(here, "src/main.tsx"), worker: join(here, "src/engine/worker.ts"), transpiler: join(here, "src/engine/transpiler.ts") },
    outdir: dist,
    bundle: true,
    minify: true,
    format: "esm",
    splitting: true,
    chunkNames: "part-[hash]",
    target: "es2023",
    // jco's file for node is never reached in a browser.
    external: ["node:*"],
    conditions: ["browser"],
    legalComments: "none",
    logLevel: "warning",
  });
  loaded(metafile, Object.keys(metafile.outputs).find((file) => basename(file) === "app.js"));
  // The bundler's own minifier leaves three per cent more.
  for (const file of (await readdir(dist)).filter((name) => name.endsWith(".js"))) {
    const { code, errors } = await minify(file, await readFile(join(dist, file), "utf8"), { module: true });
    if (errors.length > 0) throw new Error(`${file} cannot be minified: ${errors[0].message}`);
    await writeFile(join(dist, file), code);
  }
  if (options.why) await writeFile(join(dist, "why.json"), JSON.stringify(metafile));
  await build({ entryPoints: { app: join(here, "src/style.css") }, outdir: dist, minify: true, target: ["chrome123", "firefox120", "safari17.5"], logLevel: "warning" });
  await cp(join(here, "src/index.html"), join(dist, "index.html"));
  await writeFile(join(dist, "documents.json"), '{"files":[]}\n');
  const vendor = dirname(fileURLToPath(import.meta.resolve("@bytecodealliance/jco-transpile/component")));
  for (const file of await readdir(vendor)) {
    if (/^js-component-bindgen-component\.core\d*\.wasm$/.test(file)) await cp(join(vendor, file), join(dist, file));
  }
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** jco's code for a component. Components of one contract share one file: it knows only types. */
async function glue(bytes) {
  const made = await transpileBytes(bytes, {
    name: "guest", instantiation: "sync", minify: true, nodejsCompat: false, emitTypescriptDeclarations: false,
  });
  const text = made.files["guest.js"];
  const name = `glue-${sha256(text).slice(0, 12)}.js`;
  await writeFile(join(dist, name), text);
  return name;
}

/** Files of `examples/DIALECT` and of the interpreter's own `samples`, each a document; a folder is one of several files. */
async function examples(name) {
  const folders = [join(here, "examples", name), join(root, "guests", name, "samples")].filter(existsSync);
  return (await Promise.all(folders.map((folder, n) => examplesOf(folder, `examples/${name}/${n + 1}`)))).flat();
}

async function examplesOf(folder, to) {
  await cp(folder, join(dist, to), { recursive: true, dereference: true });
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => a.name.localeCompare(b.name));
  return Promise.all(entries.map(async (entry) => {
    const title = entry.name.replace(/^\d+[-_]/, "").replace(/\.[^.]+$/, "").replaceAll(/[-_]/g, " ");
    const at = `${to}/${entry.name}`;
    if (!entry.isDirectory()) return { title, files: [at] };
    return { title, files: (await readdir(join(folder, entry.name))).sort().map((file) => `${at}/${file}`) };
  }));
}

async function dialects() {
  const found = existsSync(plugins) ? (await readdir(plugins)).filter((file) => file.endsWith(".wasm")).sort() : [];
  if (found.length === 0) {
    throw new Error(`no components in ${plugins}: run \`cargo build -p wfhost\` first, or name their folder: node build.mjs FOLDER`);
  }
  await mkdir(join(dist, "guests"), { recursive: true });
  const list = [];
  for (const file of found) {
    const name = basename(file, ".wasm");
    const about = join(root, "guests", name, "about.json");
    if (!existsSync(about)) {
      console.warn(`left out: ${file} has no guests/${name}/about.json`);
      continue;
    }
    const { title, files, marks = [] } = JSON.parse(await readFile(about, "utf8"));
    const bytes = await readFile(join(plugins, file));
    await writeFile(join(dist, "guests", file), bytes);
    list.push({ name, title, files, marks, wasm: `guests/${file}`, bytes: bytes.length, sha256: sha256(bytes), glue: await glue(bytes), examples: await examples(name) });
  }
  await writeFile(join(dist, "dialects.json"), JSON.stringify(list));
  return list;
}

const packed = async (file) => gzipSync(await readFile(join(dist, file)), { level: 9 }).length;

/** What the first use of a dialect fetches beside its component, as a web host sends it. */
async function sizes(list) {
  const parts = (await readdir(dist)).filter((file) => first.has(file));
  const page = ["index.html", "app.css", "worker.js", "dialects.json", "documents.json", ...parts];
  const shared = await Promise.all(page.map(packed));
  for (const dialect of list) {
    const own = await Promise.all([dialect.glue, ...(dialect.examples[0]?.files ?? [])].map(packed));
    const beside = [...shared, ...own].reduce((sum, size) => sum + size, 0);
    console.log(`${dialect.name}: ${beside} bytes (gzip) beside its component, which has ${await packed(dialect.wasm)}`);
  }
  const each = await Promise.all([...page, ...new Set(list.map((d) => d.glue))].map(async (file) => `${file} ${await packed(file)}`));
  console.log(each.join(", "));
}

await mkdir(dist, { recursive: true });
// A file whose name begins with a dot keeps the folder in git, for the host's build to watch.
for (const name of await readdir(dist)) if (!name.startsWith(".")) await rm(join(dist, name), { recursive: true });
await scripts();
await sizes(await dialects());
