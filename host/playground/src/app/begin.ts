// Which tool call begins a workflow. The page knows no dialect: it asks the interpreter what calls would mean (`route` is pure),
// and takes the first that starts this one.

import type { Tool } from "../engine/contract.ts";
import type { Host } from "../engine/host.ts";
import { type Json, Num, type Obj, get, text, tryParse, write } from "../engine/json.ts";

/** A call that starts the workflow, and whether it needs more than these arguments. */
export interface Beginning { tool: string; args: Obj; complete: boolean }

export async function beginning(host: Host, tools: Tool[], workflow: string): Promise<Beginning | undefined> {
  // Those that only read come last: some begin all the same, where a whole run is one call that changes nothing.
  for (const tool of [...tools].sort((a, b) => Number(a.readOnly) - Number(b.readOnly))) {
    const schema = tryParse(tool.inputSchema);
    const properties = get(schema, "properties");
    const named = properties instanceof Map ? [...properties].filter(([, s]) => mayBeText(s)).map(([key]) => key) : [];
    const given: Obj[] = [...named.map((key): Obj => new Map([[key, workflow]])), new Map()];
    for (const args of given) {
      if (await starts(host, tool, args, workflow)) return { tool: tool.name, args, complete: !lacks(schema, args) };
    }
    for (const args of given) {
      if (await starts(host, tool, filled(schema, args), workflow)) return { tool: tool.name, args, complete: false };
    }
  }
  return undefined;
}

/** Whether the call needs more: some routes take what only the start itself refuses. */
function lacks(schema: Json | undefined, args: Obj): boolean {
  const required = get(schema, "required");
  return Array.isArray(required) && required.some((key) => typeof key === "string" && !args.has(key));
}

async function starts(host: Host, tool: Tool, args: Obj, workflow: string): Promise<boolean> {
  const action = await host.meaning({ tool: tool.name, args: write(args) });
  return action?.tag === "start" && action.val === workflow;
}

function mayBeText(schema: Json): boolean {
  const type = get(schema, "type");
  return type === undefined || type === "string" || (Array.isArray(type) && type.includes("string"));
}

/** With something in every required place, to see what the call would mean. */
function filled(schema: Json | undefined, args: Obj): Obj {
  const required = get(schema, "required");
  const all = new Map(args);
  for (const key of Array.isArray(required) ? required : []) {
    const name = text(key);
    if (name !== undefined && !all.has(name)) all.set(name, something(get(get(schema, "properties"), name)));
  }
  return all;
}

function something(schema: Json | undefined): Json {
  const choices = get(schema, "enum");
  if (Array.isArray(choices) && choices[0] !== undefined) return choices[0];
  switch (text(get(schema, "type"))) {
    case "object": return new Map();
    case "array": return [];
    case "integer":
    case "number": return new Num("1");
    case "boolean": return false;
    default: return "x";
  }
}

/** Arguments that the last reply names alike: an agent passes these on. */
export function passedOn(tool: Tool, reply: Json | undefined, session: string | undefined): Obj {
  const args: Obj = new Map();
  const properties = get(tryParse(tool.inputSchema), "properties");
  for (const [key, schema] of properties instanceof Map ? properties : []) {
    const told = get(reply, key);
    const type = text(get(schema, "type"));
    const fits = (type === "integer" || type === "number") ? told instanceof Num : type === "string" && typeof told === "string";
    if (fits && told !== undefined) args.set(key, told);
    else if (session !== undefined && type === "string" && /(^|_)(session|run)(_|$)/.test(key)) args.set(key, session);
  }
  return args;
}
