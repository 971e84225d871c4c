// What the page shows, and everything that can be done on it. The views read it and call it; nothing else changes it.

import { type Catalogue, EMPTY, type File, read } from "../engine/catalogue.ts";
import { ComponentError } from "../engine/component.ts";
import type { Output, Reply, Source } from "../engine/contract.ts";
import { Fault, Guest } from "../engine/guest.ts";
import { Host } from "../engine/host.ts";
import { write } from "../engine/json.ts";
import { type Open, type Run, type Step, head } from "../engine/session.ts";
import { LINK_CHARS } from "../engine/limits.ts";
import { type Beginning, beginning } from "./begin.ts";
import { PageClock } from "./clock.ts";
import { type Dialect, type Example, fetched, owners, textsOf } from "./dialects.ts";
import { LinkError, type Shared, readShared } from "./shared.ts";

export interface Notice { kind: "info" | "error"; text: string }
/** What a tool call gave that moved no session. */
export interface Shown { tool: string; output: Output }
export type Guesting = { kind: "loading"; name: string } | { kind: "ready"; guest: Guest } | { kind: "broken"; name: string; reason: string };

const SETTLE_MS = 250;
const KEPT = "documents";

function recalled(): Shared | undefined {
  try {
    return readShared(sessionStorage.getItem(KEPT) ?? "");
  } catch {
    return undefined;
  }
}

export class Store {
  dialects: Dialect[] = [];
  /** The built-in one that is used; none: the interpreter came from disk. */
  dialect: Dialect | undefined;
  guesting: Guesting = { kind: "loading", name: "" };
  files: File[] = [];
  active = 0;
  catalogue: Catalogue = EMPTY;
  reading = false;
  /** Whether the document is bad now, and what is drawn and walked is its last good version. */
  stale = false;
  workflow: string | undefined;
  begin: Beginning | undefined;
  host: Host | undefined;
  /** The session that is shown, and after which of its lines; no line: the newest. */
  session: string | undefined;
  line: number | undefined;
  shown: Shown | undefined;
  notice: Notice | undefined;
  busy = false;
  readonly clock = new PageClock();
  private listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Grows when texts come that were not typed here: the editor begins anew. */
  generation = 0;
  /** Grows with every exchange of the interpreter or its documents: what was begun before is dropped. */
  private age = 0;

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get guest(): Guest | undefined {
    return this.guesting.kind === "ready" ? this.guesting.guest : undefined;
  }
  get run(): Run | undefined {
    return this.session === undefined ? undefined : this.host?.run(this.session);
  }
  /** The line that is shown and the head after it. */
  get step(): Step | undefined {
    const steps = this.run?.steps ?? [];
    return this.line === undefined ? steps.at(-1) : steps[this.line - 1];
  }
  get definition() {
    const ofRun = this.step?.head.definition;
    return ofRun?.about.id === this.workflow ? ofRun : this.catalogue.definitions.find((d) => d.about.id === this.workflow);
  }
  /** Whether the run that is shown began with another version of the document. */
  get outdated(): boolean {
    const now = this.catalogue.definitions.find((d) => d.about.id === this.step?.head.workflow);
    return this.step !== undefined && now?.digest !== this.step.head.definition.digest;
  }

  /** Reads the page's own lists, then the link, the folder that is served, or an example. */
  async begun(hash: string) {
    try {
      this.dialects = (await (await fetched("dialects.json")).json()) as Dialect[];
      const { files } = (await (await fetched("documents.json")).json()) as { files: File[] };
      if (hash !== "" && (await this.follow(hash))) return;
      if (files.length > 0) return await this.folder(files);
      const kept = recalled();
      const dialect = this.dialects.find((d) => d.name === kept?.dialect);
      if (dialect && kept) return await this.use(dialect, kept.files);
      // An interpreter that the operator named comes first, and has no examples.
      const [named] = this.dialects.filter((d) => !d.glue && d.examples.length === 0);
      const first = named ?? this.dialects.find((d) => d.examples.length > 0) ?? this.dialects[0];
      if (first) await this.example(first, first.examples[0]);
    } catch (error) {
      this.tell("error", reason(error));
    }
  }

  /** Opens the documents of a link. False if it holds none. */
  async follow(hash: string): Promise<boolean> {
    try {
      if (!hash.startsWith("#p1")) return false;
      const { shared } = await import("./link.ts");
      const link = await shared(hash);
      const dialect = this.dialects.find((d) => d.name === link.dialect);
      if (dialect) return await this.use(dialect, link.files).then(() => true);
      if (this.guest?.digest === link.component) return await this.documents(link.files).then(() => true);
      const which = link.component ? ` (SHA-256 ${link.component.slice(0, 12)}…)` : "";
      this.generation += 1;
      const reason = `the link's documents are for the interpreter \`${link.dialect}\`${which}, which is not built in: open its .wasm file here`;
      this.guest?.end();
      this.set({
        files: link.files, active: 0, dialect: undefined, guesting: { kind: "broken", name: link.dialect, reason }, host: undefined,
        catalogue: EMPTY, workflow: undefined, begin: undefined, session: undefined, line: undefined, shown: undefined,
      });
      this.tell("error", reason);
      return true;
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      this.tell("error", error.message);
      return false;
    }
  }

  async example(dialect: Dialect, example: Example | undefined) {
    this.set({ reading: true });
    try {
      const paths = example?.files ?? [];
      const texts = await Promise.all(paths.map(async (path) => (await fetched(path)).text()));
      const named = paths.map((path, n): File => ({ path: path.split("/").at(-1) ?? path, text: texts[n] ?? "" }));
      const name = dialect.files[0]?.replaceAll("*", "untitled") ?? "untitled";
      await this.use(dialect, named.length > 0 ? named : [{ path: name, text: "" }]);
    } catch (error) {
      this.set({ reading: false });
      this.tell("error", reason(error));
    }
  }

  /** A folder's documents: the interpreter is the one that may own the first of them. */
  async folder(files: File[]) {
    const of = (file: File) => owners(this.dialects, file.path, file.text);
    const first = files.find((file) => of(file).length > 0);
    const dialect = (first && of(first)[0]) ?? this.dialect ?? this.dialects[0];
    if (!dialect) return;
    await this.use(dialect, files);
    if (first) this.set({ active: files.indexOf(first) });
  }

  /** Takes a built-in interpreter for these documents. */
  async use(dialect: Dialect, files: File[]) {
    if (this.dialect === dialect && this.guest) return this.documents(files);
    await this.exchange(dialect.name, files, async () => {
      const bytes = new Uint8Array(await (await fetched(dialect.wasm)).arrayBuffer());
      return { guest: await Guest.from({ bytes, glue: dialect.glue && new URL(dialect.glue, document.baseURI).href }), dialect };
    });
  }

  /** Files that were dropped or picked: a component becomes the interpreter, all else documents. */
  async opened(picked: globalThis.File[]) {
    const wasm = picked.find((file) => file.name.endsWith(".wasm"));
    const texts = picked.filter((file) => file !== wasm);
    const { files, left } = await textsOf(texts);
    if (left.length > 0) this.tell("error", left.join("; "));
    if (!wasm && files.length === 0) return;
    if (!wasm) {
      const theirs = files[0] && owners(this.dialects, files[0].path, files[0].text);
      const ours = this.guest?.about.files ?? [];
      const [only] = theirs ?? [];
      if (only && (this.dialect || ours.length === 0)) return this.use(theirs?.includes(this.dialect ?? only) ? (this.dialect ?? only) : only, files);
      return this.documents(files);
    }
    // Documents that came by a link wait for their interpreter.
    const waiting = this.guesting.kind === "broken" && this.files.length > 0 ? this.files : undefined;
    await this.exchange(wasm.name, files.length > 0 ? files : waiting, async () => {
      return { guest: await Guest.from({ bytes: new Uint8Array(await wasm.arrayBuffer()) }), dialect: undefined };
    });
  }

  private async exchange(name: string, files: File[] | undefined, make: () => Promise<{ guest: Guest; dialect?: Dialect }>) {
    const age = ++this.age;
    const before = this.guesting;
    this.set({ guesting: { kind: "loading", name } });
    try {
      const made = await make();
      if (age !== this.age) return made.guest.end();
      if (before.kind === "ready") before.guest.end();
      const texts = files ?? [{ path: made.guest.about.files[0]?.replaceAll("*", "untitled") ?? "untitled", text: "" }];
      this.set({ dialect: made.dialect, guesting: { kind: "ready", guest: made.guest } });
      await this.documents(texts);
      made.guest.warm();
    } catch (error) {
      if (age !== this.age) return;
      if (!(error instanceof ComponentError || error instanceof Fault)) {
        this.set({ guesting: { kind: "broken", name, reason: reason(error) } });
      } else if (before.kind === "ready") {
        // What was there before goes on.
        this.set({ guesting: before });
      } else {
        this.set({ guesting: { kind: "broken", name, reason: error.message } });
      }
      this.tell("error", `${name} cannot be used: ${reason(error)}`);
    }
  }

  /** Other documents for the same interpreter. */
  async documents(files: File[]) {
    this.age += 1;
    this.generation += 1;
    const host = this.guest && new Host(this.guest, this.clock, EMPTY);
    this.set({ files, active: 0, catalogue: EMPTY, stale: false, workflow: undefined, begin: undefined, session: undefined, line: undefined, shown: undefined, host });
    await this.readAll();
  }

  edit(text: string) {
    this.files = this.files.map((file, n) => (n === this.active ? { ...file, text } : file));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.readAll(), SETTLE_MS);
    this.changed();
  }

  rename(path: string) {
    this.files = this.files.map((file, n) => (n === this.active ? { ...file, path } : file));
    void this.readAll();
  }

  activate(active: number) {
    this.set({ active });
  }

  private async readAll() {
    clearTimeout(this.timer);
    const { guest, files, age } = this;
    if (!guest) return;
    this.set({ reading: true });
    const now = await read(guest, files);
    if (age !== this.age) return;
    // As on the host, a version that became bad leaves the last good one.
    const stale = now.definitions.length === 0 && this.catalogue.definitions.length > 0;
    const catalogue = stale ? { ...this.catalogue, findings: now.findings } : now;
    this.keep();
    // Written on meanwhile: what was read is shown, and read again.
    if (files !== this.files) this.timer = setTimeout(() => void this.readAll(), SETTLE_MS);
    if (this.host) this.host.catalogue = catalogue;
    const ids = catalogue.definitions.map((d) => d.about.id);
    const active = catalogue.definitions.find((d) => d.path === files[this.active]?.path)?.about.id;
    const workflow = this.workflow !== undefined && (ids.includes(this.workflow) || this.run) ? this.workflow : (active ?? ids[0]);
    this.set({ catalogue, stale, reading: false });
    await this.choose(workflow);
  }

  /** A page that is loaded again goes on with what was written. Only this tab has it, until it is closed. */
  private keep() {
    if (!this.dialect) return;
    try {
      sessionStorage.setItem(KEPT, JSON.stringify({ dialect: this.dialect.name, files: this.files }));
    } catch {
      // Too large, or a browser that keeps nothing.
    }
  }

  /** Shows a workflow, and finds out how it begins. */
  async choose(workflow: string | undefined) {
    const { host, age } = this;
    if (this.step && this.step.head.workflow !== workflow) this.set({ session: undefined, line: undefined });
    this.set({ workflow });
    const begin = host && workflow !== undefined ? await beginning(host, this.catalogue.tools, workflow) : undefined;
    if (age === this.age && workflow === this.workflow) this.set({ begin });
  }

  /** Begins a run of the workflow: by the tool call that starts it, or without one. */
  async start() {
    const { host, workflow, begin } = this;
    if (!host || workflow === undefined) return;
    await this.act(async () => {
      // Whoever is quick presses before it is known by which tool a run begins.
      const how = begin ?? (await beginning(host, this.catalogue.tools, workflow));
      if (how?.complete === false) {
        this.set({ begin: how });
        return;
      }
      const advanced = how ? await host.call(how.tool, write(how.args)) : await host.open(workflow, "{}");
      this.follows(advanced.session, how?.tool ?? "open", advanced.output);
    });
  }

  /** A tool call of the agent. */
  async call(tool: string, args: string) {
    const { host, session } = this;
    if (!host) return;
    await this.act(async () => {
      const now = this.forked();
      // At an earlier moment the call goes to the fork, by the fork's name.
      const sent = session !== undefined && now !== undefined ? args.replaceAll(session, now) : args;
      const lines = this.run?.steps.length;
      const advanced = await host.call(tool, sent);
      const moved = advanced.session !== undefined && (advanced.session !== now || lines !== host.run(advanced.session)?.steps.length);
      this.follows(moved ? advanced.session : undefined, tool, advanced.output);
    });
  }

  /** An answer to an open request. */
  async answer(asked: Open, value: Reply["value"], source: Source) {
    const { host } = this;
    if (!host) return;
    await this.act(async () => {
      const session = this.forked();
      if (session === undefined) return;
      const advanced = await host.reply(session, asked, { request: asked.id, value }, source);
      if (!advanced) this.tell("info", `the request ${asked.id} is not open any more`);
      this.set({ shown: undefined });
    });
  }

  /** Lets time pass until a moment, so that the clock answers. */
  async pass(moment: number) {
    const { host } = this;
    if (!host) return;
    await this.act(async () => {
      const session = this.forked();
      this.clock.until(moment);
      if (session !== undefined) await host.sweep(session);
    });
  }

  /** Looks at an earlier moment; the newest if there is none. */
  look(line: number | undefined) {
    const last = this.run?.steps.length;
    this.set({ line: line === last ? undefined : line, shown: undefined });
  }

  pick(session: string) {
    const workflow = this.host?.run(session)?.steps.at(-1)?.head.workflow;
    this.set({ session, line: undefined, shown: undefined, workflow });
  }

  fork(lines: number) {
    const { session, host } = this;
    const fork = session === undefined ? undefined : host?.fork(session, lines);
    const id = fork && head(fork)?.session;
    if (id !== undefined) this.set({ session: id, line: undefined, shown: undefined });
  }

  /** The session to go on with: at an earlier moment a fork from there. */
  private forked(): string | undefined {
    if (this.line !== undefined) this.fork(this.line);
    return this.session;
  }

  private follows(session: string | undefined, tool: string, output: Output) {
    if (session === undefined) this.set({ shown: { tool, output } });
    else this.pick(session);
  }

  private async act(work: () => Promise<void>) {
    this.set({ busy: true, notice: undefined });
    try {
      await work();
    } catch (error) {
      this.tell("error", reason(error));
    } finally {
      this.set({ busy: false });
    }
  }

  /** Puts the documents into the address, and gives it. */
  async share(): Promise<string | undefined> {
    const { guest, files, dialect } = this;
    if (!guest) return undefined;
    const component = dialect ? undefined : guest.digest;
    const { fragment } = await import("./link.ts");
    const hash = await fragment({ dialect: guest.about.name, component, files });
    history.replaceState(null, "", hash);
    const more = component ? " It does not carry the interpreter: send the .wasm file as well." : "";
    const long = hash.length > LINK_CHARS ? " It is long, and some programs cut long links." : "";
    this.tell("info", `the address now holds the documents: ${hash.length.toLocaleString("en")} characters.${long}${more}`);
    return location.href;
  }

  /** The walk that is shown, as a case for the author's tests. */
  async exported() {
    const { run, files, guest, begin } = this;
    if (!run || !guest) return undefined;
    const { exported } = await import("./export.ts");
    const peer = `${guest.about.name} ${guest.about.version}`;
    return exported({ run: { ...run, steps: run.steps.slice(0, this.line) }, files, dialect: guest.about.name, peer, begin });
  }

  tell(kind: Notice["kind"], text: string) {
    this.set({ notice: { kind, text } });
  }
  hush() {
    this.set({ notice: undefined });
  }

  private set(change: Partial<Store>) {
    Object.assign(this, change);
    this.changed();
  }
  private changed() {
    for (const listener of this.listeners) listener();
  }
}

const reason = (error: unknown) => (error instanceof Error ? error.message : String(error));
