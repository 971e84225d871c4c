// A walk as a recorded case (tests/corpus): documents, calls, results, with what changes from run to run replaced. A person's
// answer stands with the call that asked for it, as a client would have been asked.

import type { File } from "../engine/catalogue.ts";
import type { Input, Output } from "../engine/contract.ts";
import { type Json, type Obj, from, get, parse, pretty, tryParse } from "../engine/json.ts";
import { type Line, type Run, type Step, head, replyOf } from "../engine/session.ts";
import type { Beginning } from "./begin.ts";

export interface Exported { name: string; text: string; notes: string[] }

interface Recording { run: Run; files: File[]; dialect: string; peer: string; begin?: Beginning }

/** The case, and what could not be said in it. */
export function exported({ run, files, dialect, peer, begin }: Recording): Exported {
  const notes: string[] = [];
  const sessions = [head(run)?.session ?? "", run.parent?.session ?? ""].filter((id) => id !== "");
  const plain = (value: Json) => replaced(value, sessions);
  const calls: Obj[] = [];
  for (const step of run.steps) {
    const { line } = step;
    const call = called(line.event.input, begin);
    if (call) {
      calls.push(object({ tool: call.tool, arguments: plain(parse(call.args)), is_error: failed(line), result: plain(result(line)) }));
      continue;
    }
    const last = calls.at(-1);
    const asked = line.event.source === "human" ? elicited(step, before(run, line)) : undefined;
    if (last && asked) {
      const earlier = last.get("elicited");
      last.set("elicited", [...(Array.isArray(earlier) ? earlier : []), plain(asked)]);
      last.set("result", plain(result(line)));
      last.set("is_error", failed(line));
    } else {
      notes.push(`line ${line.n} was not a call of the agent nor a person's answer to a form, and a case cannot say it`);
    }
  }
  const workflow = head(run)?.workflow ?? "walk";
  const name = `${workflow.replace(/[^\w-]+/g, "_")}_${run.steps.length}`;
  const elicits = calls.some((call) => call.has("elicited"));
  const members = {
    name, dialect, peer,
    about: `a walk of ${workflow}, recorded in the playground`,
    documents: new Map(files.map((file) => [file.path, file.text] as [string, Json])),
    ...(elicits ? { client_capabilities: from({ elicitation: {} }) } : {}),
    calls,
  };
  return { name: `${name}.json`, text: `${pretty(object(members))}\n`, notes };
}

function called(input: Input, begin: Beginning | undefined): { tool: string; args: string } | undefined {
  if (input.tag === "call") return input.val;
  if (input.tag === "recalled") return input.val.call;
  if (input.tag === "open" && begin) return { tool: begin.tool, args: pretty(begin.args) };
  return undefined;
}

const failed = (line: Line): boolean => replyOf(line)?.isError ?? true;
const result = (line: Line): Json => value(replyOf(line));
const value = (output: Output | undefined): Json => (output ? (tryParse(output.value) ?? output.value) : null);
const before = (run: Run, line: Line): Step | undefined => run.steps.find((step) => step.line.n === line.n - 1);

/** What a client was asked, and what came back. */
function elicited({ line }: Step, earlier: Step | undefined): Json | undefined {
  const { input } = line.event;
  if (input.tag !== "reply") return undefined;
  const { request, value } = input.val;
  const asked = earlier?.head.requests.find((open) => open.id === request);
  if (asked?.need.tag !== "answer") return undefined;
  const schema = parse(asked.need.val.schema);
  const whole = get(schema, "type") === "object";
  // As the host asks (host/src/mcp/ask.rs): a value that is no object is the one field of a form.
  const field = new Map<string, Json>(schema instanceof Map ? schema : []);
  if (!field.has("title")) field.set("title", "Value");
  const requestedSchema = whole ? schema : object({ type: "object", properties: object({ value: field }), required: ["value"] });
  const content = (text: string) => (whole ? parse(text) : object({ value: parse(text) }));
  const reply = value.tag === "ok" ? object({ action: "accept", content: content(value.val) }) : object({ action: "decline" });
  return object({ message: asked.need.val.prompt, requestedSchema, reply });
}

const object = (members: Record<string, Json>): Obj => new Map(Object.entries(members));

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const HASH = /^[0-9a-f]{64}$/;

/** Identifiers, moments and hashes as the corpus writes them. */
function replaced(value: Json, sessions: string[]): Json {
  if (typeof value === "string") {
    if (sessions.includes(value)) return "<session_id>";
    if (TIME.test(value)) return "<timestamp>";
    return HASH.test(value) ? "<hash>" : value;
  }
  if (Array.isArray(value)) return value.map((item) => replaced(item, sessions));
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, replaced(item, sessions)]));
  return value;
}
