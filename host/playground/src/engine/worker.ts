// The worker in which a guest runs. INVARIANT: every call gets an instance of its own, as on the host, so nothing is
// remembered; the code around the core modules is jco's.

import { bounded, look } from "./component.ts";
import type { FunctionName } from "./contract.ts";

export interface Load { kind: "load"; bytes: Uint8Array; glue: string; pages: number }
export interface Ask { kind: "ask"; id: number; name: FunctionName; args: unknown[] }
export type Told =
  | { kind: "ready" }
  | { kind: "broken"; reason: string }
  | { kind: "value"; id: number; value: unknown }
  | { kind: "refused"; id: number; value: unknown }
  | { kind: "trap"; id: number; reason: string; mebibytes: number };

type Functions = Record<string, (...args: unknown[]) => unknown>;
type Instantiate = (
  core: (path: string) => WebAssembly.Module,
  imports: object,
  instance: (module: WebAssembly.Module, imports: WebAssembly.Imports) => WebAssembly.Instance,
) => Record<string, Functions>;

let fresh: (() => Functions) | undefined;
let largest = 0;
let live: WebAssembly.Memory[] = [];

async function load({ bytes, glue, pages }: Load) {
  const component = look(bytes);
  const modules = await Promise.all(component.modules.map((m) => WebAssembly.compile(bounded(m, pages) as BufferSource)));
  const { instantiate } = (await import(glue)) as { instantiate: Instantiate };
  fresh = () => {
    live = [];
    const core = (path: string) => {
      // X.core.wasm, X.core2.wasm, ...: jco's names for the modules in their order.
      const n = Number(/\.core(\d*)\.wasm$/.exec(path)?.[1] || 1);
      const module = modules[n - 1];
      if (!module) throw new Error(`the component has no core module ${n}`);
      return module;
    };
    const made = instantiate(core, {}, (module, imports) => {
      const instance = new WebAssembly.Instance(module, imports);
      for (const value of Object.values(instance.exports)) if (value instanceof WebAssembly.Memory) live.push(value);
      return instance;
    });
    const engine = made[component.exported];
    if (!engine) throw new Error(`the component does not export ${component.exported}`);
    return engine;
  };
  fresh();
}

function ask({ id, name, args }: Ask): Told {
  try {
    const engine = fresh?.();
    const value = engine?.[name]?.(...args);
    return { kind: "value", id, value };
  } catch (thrown) {
    if (!(thrown instanceof Error)) return { kind: "refused", id, value: thrown };
    if ("payload" in thrown) return { kind: "refused", id, value: thrown.payload };
    largest = Math.max(0, ...live.map((memory) => memory.buffer.byteLength)) / 2 ** 20;
    return { kind: "trap", id, reason: thrown.message, mebibytes: Math.round(largest) };
  }
}

self.onmessage = async ({ data }: MessageEvent<Load | Ask>) => {
  if (data.kind === "ask") {
    self.postMessage(ask(data));
    return;
  }
  try {
    await load(data);
    self.postMessage({ kind: "ready" } satisfies Told);
  } catch (error) {
    self.postMessage({ kind: "broken", reason: error instanceof Error ? error.message : String(error) } satisfies Told);
  }
};
