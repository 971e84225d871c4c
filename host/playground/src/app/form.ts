// From a JSON Schema to the fields of a form, and from what was typed to a JSON text. Numbers are taken as they were typed.

import { type Json, JsonError, Num, type Obj, get, parse, text, tryParse, write } from "../engine/json.ts";

export type Field =
  | { kind: "choice"; choices: { value: Json; title: string }[] }
  | { kind: "choices"; choices: { value: Json; title: string }[] }
  | { kind: "text"; long: boolean }
  | { kind: "number"; whole: boolean }
  | { kind: "flag" }
  | { kind: "object"; members: { key: string; schema: Json; required: boolean }[] }
  | { kind: "list"; item: Json }
  | { kind: "any" };

/** What is typed into a field so far; undefined: nothing. */
export type Typed = undefined | string | boolean | Typed[] | { [key: string]: Typed };

const shown = (value: Json) => (typeof value === "string" ? value : write(value));

/** How a value of this schema is asked for. */
export function field(schema: Json | undefined): Field {
  const choices = choicesOf(schema);
  if (choices) return { kind: "choice", choices };
  const type = typeOf(schema);
  switch (type) {
    case "string": return { kind: "text", long: Number(numeric(get(schema, "maxLength")) ?? 0) > 200 };
    case "integer":
    case "number": return { kind: "number", whole: type === "integer" };
    case "boolean": return { kind: "flag" };
    case "object": return object(schema);
    case "array": {
      const item = get(schema, "items") ?? new Map();
      const several = choicesOf(item);
      return several ? { kind: "choices", choices: several } : { kind: "list", item };
    }
    default: return { kind: "any" };
  }
}

function object(schema: Json | undefined): Field {
  const properties = get(schema, "properties");
  const required = get(schema, "required");
  const needed = (Array.isArray(required) ? required : []).filter((key): key is string => typeof key === "string");
  const known = properties instanceof Map ? [...properties] : [];
  const named = new Set(known.map(([key]) => key));
  // A key that is required and described nowhere is asked for all the same.
  const all = [...known, ...needed.filter((key) => !named.has(key)).map((key): [string, Json] => [key, new Map()])];
  if (all.length === 0) return { kind: "any" };
  return { kind: "object", members: all.map(([key, s]) => ({ key, schema: s, required: needed.includes(key) })) };
}

function choicesOf(schema: Json | undefined): { value: Json; title: string }[] | undefined {
  const listed = get(schema, "enum");
  if (Array.isArray(listed)) {
    const names = get(schema, "enumNames");
    return listed.map((value, n) => ({ value, title: (Array.isArray(names) ? text(names[n]) : undefined) ?? shown(value) }));
  }
  const only = get(schema, "const");
  if (only !== undefined) return [{ value: only, title: text(get(schema, "title")) ?? shown(only) }];
  for (const word of ["oneOf", "anyOf"]) {
    const cases = get(schema, word);
    if (!Array.isArray(cases) || cases.length === 0) continue;
    const all = cases.map((one) => choicesOf(one));
    if (all.every((one) => one !== undefined)) return all.flat();
  }
  return undefined;
}

function typeOf(schema: Json | undefined): string | undefined {
  const type = get(schema, "type");
  if (Array.isArray(type)) {
    const told = type.filter((one) => one !== "null");
    return told.length === 1 ? text(told[0]) : undefined;
  }
  return text(type);
}

const numeric = (value: Json | undefined) => (value instanceof Num ? value.text : undefined);

/** A value as it would have been typed. */
export function typed(schema: Json | undefined, value: Json | undefined): Typed {
  if (value === undefined) return undefined;
  const made = field(schema);
  switch (made.kind) {
    case "choice": return write(value);
    case "choices": return Array.isArray(value) ? value.map(write) : [];
    case "flag": return value === true;
    case "text": return text(value) ?? shown(value);
    case "number": return shown(value);
    case "list": return Array.isArray(value) ? value.map((item) => typed(made.item, item)) : [];
    case "object": {
      const members = made.members.map(({ key, schema: s }) => [key, typed(s, get(value, key))] as const);
      return Object.fromEntries(members.filter(([, v]) => v !== undefined));
    }
    case "any": return typeof value === "string" && tryParse(value) === undefined ? value : write(value);
  }
}

/** What was typed fits no value; where, and why. */
export class Unfit extends Error {
  constructor(readonly path: string, reason: string) {
    super(reason);
  }
}

/** The value that was typed; undefined if nothing was. Throws an Unfit. */
export function value(schema: Json | undefined, from: Typed, path = "", required = false): Json | undefined {
  const made = field(schema);
  const missing = (): undefined => {
    if (required) throw new Unfit(path, "an answer is needed here");
    return undefined;
  };
  switch (made.kind) {
    case "choice": return typeof from === "string" && from !== "" ? parse(from) : missing();
    case "choices": return Array.isArray(from) ? from.map((one) => parse(String(one))) : required ? [] : undefined;
    case "flag": return typeof from === "boolean" ? from : required ? false : undefined;
    case "text": return typeof from === "string" && (from !== "" || required) ? from : required && path === "" ? "" : missing();
    case "number": return typeof from === "string" && from.trim() !== "" ? number(from.trim(), made.whole, path) : missing();
    case "list": return list(made.item, from, path, required);
    case "object": return members(made.members, from, path);
    case "any": return typeof from === "string" && from !== "" ? any(from) : missing();
  }
}

function number(typed: string, whole: boolean, path: string): Num {
  const read = tryParse(typed);
  if (!(read instanceof Num)) throw new Unfit(path, `\`${typed}\` is no number`);
  if (whole && !/^-?\d+$/.test(read.text)) throw new Unfit(path, `\`${typed}\` is no whole number`);
  return read;
}

function list(item: Json, from: Typed, path: string, required: boolean): Json[] | undefined {
  if (!Array.isArray(from) && !required) return undefined;
  return (Array.isArray(from) ? from : [undefined]).map((one, n) => value(item, one, `${path}/${n}`, true) ?? null);
}

function members(all: { key: string; schema: Json; required: boolean }[], from: Typed, path: string): Obj {
  const made: Obj = new Map();
  const typedOf = (key: string) => (from && typeof from === "object" && !Array.isArray(from) ? from[key] : undefined);
  for (const { key, schema, required } of all) {
    const one = value(schema, typedOf(key), `${path}/${key}`, required);
    if (one !== undefined && !(one instanceof Map && one.size === 0 && !required)) made.set(key, one);
  }
  return made;
}

/** Any JSON as it is; what is no JSON is a text. */
function any(typed: string): Json {
  try {
    return parse(typed);
  } catch (error) {
    if (error instanceof JsonError) return typed;
    throw error;
  }
}
