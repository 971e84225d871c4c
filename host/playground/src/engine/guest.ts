// An interpreter on this page: two workers, as the host has two kinds of call, each stopped when it runs too long. A call that
// is stopped or traps costs itself and nothing else.

import { ComponentError, look } from "./component.ts";
import type {
  Action, Bundle, Call, Compiled, Document, Event, FunctionName, Interpreter, Journal, Memory, Output, Refusal, Run, Session,
  Tool, Turn, Workflow,
} from "./contract.ts";
import { CALL_MS, CALL_PAGES, LOAD_MS, LOAD_PAGES, PLUGIN_BYTES, READY_MS, TRANSPILE_MS } from "./limits.ts";
import { digest } from "./digest.ts";
import type { Ask, Load, Told } from "./worker.ts";

/** A guest broke or was stopped: told to whoever runs it, never part of a procedure. */
export class Fault extends Error {}
/** A legal "no" of the procedure. */
export class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.message);
  }
}

interface Waiting { ask: Ask; resolve: (value: unknown) => void; reject: (reason: unknown) => void }

/** One worker, its queue, and the clock that stops it. */
class Lane {
  private worker: Worker | undefined;
  private ready: Promise<void> | undefined;
  private readonly queue: Waiting[] = [];
  private running = false;
  private ended = false;

  constructor(
    private readonly load: Load,
    private readonly ms: number,
  ) {}

  call(name: FunctionName, args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.queue.push({ ask: { kind: "ask", id: 0, name, args }, resolve, reject });
      void this.pump();
    });
  }

  /** Ready to be called; a ComponentError says why it cannot be. */
  begin(): Promise<void> {
    this.ready ??= this.start();
    return this.ready;
  }

  end() {
    this.ended = true;
    this.stop();
    for (const waiting of this.queue.splice(0)) waiting.reject(new Fault("the interpreter was exchanged"));
  }

  private async pump() {
    if (this.running) return;
    this.running = true;
    for (let next = this.queue.shift(); next; next = this.queue.shift()) {
      try {
        await this.begin();
        next.resolve(await this.one(next.ask));
      } catch (error) {
        next.reject(error);
      }
    }
    this.running = false;
  }

  private start(): Promise<void> {
    const worker = new Worker(new URL("worker.js", document.baseURI), { type: "module" });
    this.worker = worker;
    worker.postMessage(this.load);
    return within(READY_MS, "it did not become ready", worker, (told) => {
      if (told.kind === "broken") throw new ComponentError(told.reason);
    }).catch((error: unknown) => {
      this.stop();
      throw error;
    });
  }

  private one(ask: Ask): Promise<unknown> {
    const worker = this.worker;
    if (!worker || this.ended) return Promise.reject(new Fault("the interpreter was exchanged"));
    worker.postMessage(ask);
    const late = `\`${ask.name}\` was stopped after ${this.ms / 1000} s, the time that a call has`;
    return within(this.ms, late, worker, (told) => {
      if (told.kind === "value") return told.value;
      if (told.kind === "refused") throw new Refused(told.value as Refusal);
      if (told.kind === "trap") {
        const memory = `${told.mebibytes} of ${this.load.pages >> 4} MiB of memory were in use`;
        throw new Fault(`\`${ask.name}\` trapped: ${told.reason} (${memory})`);
      }
      throw new Fault(`\`${ask.name}\` gave no answer`);
    }).catch((error: unknown) => {
      if (error instanceof Late) this.stop();
      throw error;
    });
  }

  private stop() {
    this.worker?.terminate();
    this.worker = undefined;
    this.ready = undefined;
  }
}

class Late extends Fault {}

/** The worker's next message, within a time. */
function within<T>(ms: number, late: string, worker: Worker, read: (told: Told) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Late(late)), ms);
    const settle = (act: () => T) => {
      clearTimeout(timer);
      worker.onmessage = null;
      worker.onerror = null;
      try {
        resolve(act());
      } catch (error) {
        reject(error);
      }
    };
    worker.onmessage = ({ data }: MessageEvent<Told>) => settle(() => read(data));
    worker.onerror = (event) => settle(() => {
      throw new Fault(`its worker broke: ${event.message}`);
    });
  });
}

/** A component and the code around it. */
export interface Source {
  bytes: Uint8Array;
  /** Address of jco's code for it; none: it is made here. */
  glue?: string;
}

export class Guest {
  private constructor(
    readonly about: Interpreter,
    /** SHA-256 of the component: the name under which a host knows it. */
    readonly digest: string,
    readonly version: string,
    private readonly author: Lane,
    private readonly walker: Lane,
  ) {}

  /** Looks at a component, makes it ready, and asks who it is. */
  static async from({ bytes, glue }: Source): Promise<Guest> {
    if (bytes.length > PLUGIN_BYTES) {
      throw new ComponentError(`the file has ${bytes.length >> 20} MiB; ${PLUGIN_BYTES >> 20} are allowed`);
    }
    const { version } = look(bytes);
    const made = glue ?? (await transpiled(bytes));
    const lane = (pages: number, ms: number) => new Lane({ kind: "load", bytes, glue: made, pages }, ms);
    const [author, walker] = [lane(LOAD_PAGES, LOAD_MS), lane(CALL_PAGES, CALL_MS)];
    try {
      await author.begin();
      const about = (await author.call("describe", [])) as Interpreter;
      return new Guest(about, await digest(bytes), version, author, walker);
    } catch (error) {
      author.end();
      throw error;
    }
  }

  /** Stops its workers. */
  end() {
    this.author.end();
    this.walker.end();
  }

  /** Makes the second worker ready before it is needed. */
  warm() {
    this.walker.begin().catch(() => undefined);
  }

  recognise = (document: Document) => this.author.call("recognise", [document]) as Promise<string[] | undefined>;
  compile = (bundle: Bundle) => this.author.call("compile", [bundle]) as Promise<Compiled>;
  tools = (workflows: Workflow[]) => this.author.call("tools", [workflows]) as Promise<Tool[]>;
  route = (call: Call, ids: string[]) => this.walker.call("route", [call, ids]) as Promise<Action>;
  catalogue = (call: Call, workflows: Workflow[], runs: Run[]) =>
    this.walker.call("catalogue", [call, workflows, runs]) as Promise<Output>;
  start = (code: Uint8Array, session: Session, event: Event) =>
    this.walker.call("start", [code, session, event]) as Promise<Turn>;
  answer = (code: Uint8Array, session: Session, state: string, memory: Memory, event: Event) =>
    this.walker.call("answer", [code, session, state, memory, event]) as Promise<Turn>;
  status = (code: Uint8Array, session: Session, state: string) =>
    this.walker.call("status", [code, session, state]) as Promise<Output>;
  trace = (code: Uint8Array, session: Session, state: string, journal: Journal) =>
    this.walker.call("trace", [code, session, state, journal]) as Promise<Output>;
  render = (code: Uint8Array, session: Session, state: string, journal: Journal, view: string, args: string) =>
    this.walker.call("render", [code, session, state, journal, view, args]) as Promise<string>;
}

/** jco's code for a component, as an address; made in a worker that is stopped if it takes too long. */
async function transpiled(bytes: Uint8Array): Promise<string> {
  const worker = new Worker(new URL("transpiler.js", document.baseURI), { type: "module" });
  try {
    const made = await new Promise<{ glue?: Uint8Array; reason?: string }>((resolve, reject) => {
      const late = `the file could not be made ready within ${TRANSPILE_MS / 1000} s`;
      setTimeout(() => reject(new ComponentError(late)), TRANSPILE_MS);
      worker.onmessage = ({ data }) => resolve(data as { glue?: Uint8Array; reason?: string });
      worker.onerror = (event) => reject(new ComponentError(`the transpiler could not be loaded: ${event.message ?? "no reason given"}`));
      worker.postMessage(bytes);
    });
    if (!made.glue) throw new ComponentError(`jco cannot transpile the component: ${made.reason ?? "it gave nothing"}`);
    return URL.createObjectURL(new Blob([made.glue as BlobPart], { type: "text/javascript" }));
  } finally {
    worker.terminate();
  }
}
