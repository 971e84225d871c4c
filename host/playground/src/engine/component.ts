// What this page needs to know of a component's bytes: the core modules in it (they are run as they stand), the version of the
// contract, what it imports. And a core module with a bound on its memory.

import { INTERFACE, VERSIONS } from "./contract.ts";

const MAGIC = [0x00, 0x61, 0x73, 0x6d];
const CORE_MODULE = 1;
const COMPONENT = 4;
const COMPONENT_IMPORT = 10;
const COMPONENT_EXPORT = 11;
const CORE_MEMORY = 5;

/** The file is not what it should be; the message says what it is and what to do. */
export class ComponentError extends Error {}

interface Section { id: number; start: number; end: number; whole: number }

class Reader {
  constructor(readonly bytes: Uint8Array, public at: number) {}
  u8(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new ComponentError("the file was cut: it ends in the middle of a section");
    this.at += 1;
    return byte;
  }
  leb(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.u8();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new ComponentError("the file is damaged: a number in it is too long");
  }
  name(): string {
    const length = this.leb();
    const text = new TextDecoder().decode(this.bytes.subarray(this.at, this.at + length));
    this.at += length;
    return text;
  }
}

function* sections(bytes: Uint8Array): Generator<Section> {
  const reader = new Reader(bytes, 8);
  while (reader.at < bytes.length) {
    const whole = reader.at;
    const id = reader.u8();
    const length = reader.leb();
    const start = reader.at;
    if (start + length > bytes.length) throw new ComponentError("the file was cut: it ends in the middle of a section");
    reader.at = start + length;
    yield { id, start, end: reader.at, whole };
  }
}

/** What is in a component. */
export interface Component {
  /** The core modules, in the order in which jco numbers them. */
  modules: Uint8Array[];
  /** The interface that it implements, and the version of the contract. */
  exported: string;
  version: string;
}

/** Looks into a file. Throws if it is no component of a contract that is spoken here. */
export function look(bytes: Uint8Array): Component {
  if (!MAGIC.every((byte, n) => bytes[n] === byte)) {
    throw new ComponentError("this is no WebAssembly file: it does not begin with the bytes that all of them begin with");
  }
  if (bytes[6] !== 1) {
    throw new ComponentError("this is a core WebAssembly module, not a component: wrap it with `wfhost-pack` or `wasm-tools component new`");
  }
  const modules: Uint8Array[] = [];
  const imports: string[] = [];
  const exports: string[] = [];
  collect(bytes, { modules, imports, exports }, true);
  if (imports.length > 0) {
    throw new ComponentError(`the component imports ${imports.join(", ")}; an interpreter imports nothing (see wit/README.md)`);
  }
  const found = exports.map((name) => INTERFACE.exec(name)).find((match) => match !== null);
  const ours = VERSIONS.map((version) => `wfhost:engine/engine@${version}`).join(" and ");
  if (!found) {
    const there = exports.length > 0 ? `it exports ${exports.join(", ")}` : "it exports nothing";
    throw new ComponentError(`the component is no interpreter: ${there}, and this page speaks ${ours}`);
  }
  const [exported, version] = found;
  if (!VERSIONS.includes(version ?? "")) {
    throw new ComponentError(`the component speaks ${exported}, and this page speaks ${ours}`);
  }
  return { modules, exported, version: version ?? "" };
}

function collect(bytes: Uint8Array, found: { modules: Uint8Array[]; imports: string[]; exports: string[] }, outer: boolean) {
  for (const section of sections(bytes)) {
    const inside = bytes.subarray(section.start, section.end);
    if (section.id === CORE_MODULE) found.modules.push(inside);
    else if (section.id === COMPONENT) collect(inside, found, false);
    else if (outer && section.id === COMPONENT_IMPORT) found.imports.push(...names(inside, false));
    else if (outer && section.id === COMPONENT_EXPORT) found.exports.push(...names(inside, true));
  }
}

/** The names in a section of imports or exports (component-model, Binary.md). */
function names(section: Uint8Array, exports: boolean): string[] {
  const reader = new Reader(section, 0);
  const found: string[] = [];
  for (let left = reader.leb(); left > 0; left -= 1) {
    reader.u8();
    found.push(reader.name());
    if (exports) {
      if (reader.u8() === 0) reader.u8();
      reader.leb();
      if (reader.u8() === 0) continue;
    }
    description(reader);
  }
  return found;
}

function description(reader: Reader) {
  const kind = reader.u8();
  // A core module is named with its sort; a type has a bound that may name none; the rest is an index.
  if (kind === 0) reader.u8();
  if (kind === 3 && reader.u8() === 1) return;
  reader.leb();
}

/** The same module with a bound on each of its own memories, so that one that eats memory traps instead of the browser. */
export function bounded(module: Uint8Array, pages: number): Uint8Array {
  const parts: Uint8Array[] = [module.subarray(0, 8)];
  for (const section of sections(module)) {
    const whole = module.subarray(section.whole, section.end);
    parts.push(section.id === CORE_MEMORY ? memories(module.subarray(section.start, section.end), pages) : whole);
  }
  return joined(parts);
}

function memories(section: Uint8Array, pages: number): Uint8Array {
  const reader = new Reader(section, 0);
  const body: number[] = [];
  const count = reader.leb();
  body.push(...leb(count));
  for (let n = 0; n < count; n += 1) {
    const flags = reader.u8();
    if (flags > 1) throw new ComponentError("the component uses shared or 64-bit memory, which no interpreter needs");
    const least = reader.leb();
    const most = flags === 1 ? reader.leb() : pages;
    if (least > pages) throw new ComponentError(`the component wants ${least >> 4} MiB to begin with; ${pages >> 4} are allowed`);
    body.push(1, ...leb(least), ...leb(Math.min(most, pages)));
  }
  return new Uint8Array([CORE_MEMORY, ...leb(body.length), ...body]);
}

function leb(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? low | 0x80 : low);
  } while (rest > 0);
  return bytes;
}

function joined(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
