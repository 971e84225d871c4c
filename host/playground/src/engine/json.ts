// JSON that loses nothing: numbers keep their digits and objects the order of their keys, as on the host. The browser's own
// parser turns 12345678901234567890 and 1.0 into other texts and moves keys that look like numbers.

export type Json = null | boolean | string | Num | Json[] | Obj;
/** A number, as it was written. */
export class Num {
  constructor(readonly text: string) {}
}
export type Obj = Map<string, Json>;

/** As many levels as the host's parser allows. */
const DEPTH = 128;

export class JsonError extends Error {}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const SPACE = /[ \t\n\r]*/y;

class Parser {
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): Json {
    const value = this.value(0);
    this.skip();
    if (this.at < this.text.length) this.fail("something follows the value");
    return value;
  }

  private value(depth: number): Json {
    if (depth > DEPTH) this.fail(`more than ${DEPTH} levels deep`);
    this.skip();
    const c = this.text[this.at];
    if (c === "{") return this.object(depth);
    if (c === "[") return this.array(depth);
    if (c === '"') return this.string();
    for (const [word, value] of [["null", null], ["true", true], ["false", false]] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    const number = this.match(NUMBER);
    if (number) return new Num(number);
    return this.fail(c === undefined ? "it ends too early" : `\`${c}\` begins no value`);
  }

  private object(depth: number): Obj {
    const object: Obj = new Map();
    this.at += 1;
    if (this.next("}")) return object;
    do {
      this.skip();
      if (this.text[this.at] !== '"') this.fail("a key in double quotes is missing");
      const key = this.string();
      if (!this.next(":")) this.fail("a colon is missing");
      object.set(key, this.value(depth + 1));
    } while (this.next(","));
    if (!this.next("}")) this.fail("`}` or a comma is missing");
    return object;
  }

  private array(depth: number): Json[] {
    const items: Json[] = [];
    this.at += 1;
    if (this.next("]")) return items;
    do items.push(this.value(depth + 1));
    while (this.next(","));
    if (!this.next("]")) this.fail("`]` or a comma is missing");
    return items;
  }

  private string(): string {
    const start = this.at;
    this.at += 1;
    for (;;) {
      this.match(PLAIN);
      const c = this.text[this.at];
      if (c === '"') break;
      if (c !== "\\") this.fail(c === undefined ? "a text does not end" : "a control character stands in a text");
      this.at += 2;
    }
    this.at += 1;
    try {
      return JSON.parse(this.text.slice(start, this.at)) as string;
    } catch {
      this.at = start;
      return this.fail("a text holds an escape that there is not");
    }
  }

  private next(c: string): boolean {
    this.skip();
    const there = this.text[this.at] === c;
    if (there) this.at += 1;
    return there;
  }

  private skip() {
    this.match(SPACE);
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  private fail(reason: string): never {
    const before = this.text.slice(0, this.at).split("\n");
    throw new JsonError(`${reason} (line ${before.length}, column ${(before.at(-1) ?? "").length + 1})`);
  }
}

/** The value that a text says; a JsonError tells where it is none. */
export const parse = (text: string): Json => new Parser(text).whole();

/** The value, or undefined if the text is no JSON. */
export function tryParse(text: string): Json | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** The text without blanks, as the host writes it. */
export function write(value: Json): string {
  if (value instanceof Num) return value.text;
  if (value instanceof Map) return `{${[...value].map(([k, v]) => `${quote(k)}:${write(v)}`).join(",")}}`;
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  return typeof value === "string" ? quote(value) : String(value);
}

/** The text for readers: indented, short values on one line. */
export function pretty(value: Json, indent = ""): string {
  const line = write(value);
  if (line.length + indent.length <= 60 || !(value instanceof Map || Array.isArray(value))) return line;
  const inner = `${indent}  `;
  const map = value instanceof Map;
  const parts = map
    ? [...value].map(([k, v]) => `${inner}${quote(k)}: ${pretty(v, inner)}`)
    : value.map((v) => inner + pretty(v, inner));
  return `${map ? "{" : "["}\n${parts.join(",\n")}\n${indent}${map ? "}" : "]"}`;
}

const quote = (text: string) => JSON.stringify(text);

/** From the values of the browser; numbers must be safe ones. */
export function from(value: unknown): Json {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "bigint") return new Num(String(value));
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(from);
  const members = Object.entries(value as Record<string, unknown>).filter(([, v]) => v !== undefined);
  return new Map(members.map(([k, v]) => [k, from(v)]));
}

/** The member of an object. */
export const get = (value: Json | undefined, key: string): Json | undefined =>
  value instanceof Map ? value.get(key) : undefined;

/** The value as a text, if it is one. */
export const text = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);
