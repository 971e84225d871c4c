// What the run waits for, each as a form: a person's answer, a tool's result, a model's message, the clock. Whoever sits here
// stands for all of them.

import { useState } from "preact/hooks";
import { type Typed, Unfit, value } from "../app/form.ts";
import type { Store } from "../app/store.ts";
import type { Mishap, Need, Reply, Source } from "../engine/contract.ts";
import { type Json, type Obj, get, text, tryParse, write } from "../engine/json.ts";
import type { Open } from "../engine/session.ts";
import { Field } from "./form.tsx";
import { Data } from "./parts.tsx";

const MISHAPS: Mishap[] = ["declined", "cancelled", "timed-out", "denied", "unavailable", "failed", "lost"];

/** Who gives the answer, as the journal will say. What an agent would report by its own call is the operator's here. */
function source(need: Need): Source {
  switch (need.tag) {
    case "answer": return need.val.audience === "agent" ? "operator" : "human";
    case "tool": return need.val.server === undefined ? "operator" : "upstream";
    case "tool-list": return "upstream";
    case "completion": return "model";
    case "timer": return "clock";
    case "workflow": return "host";
  }
}

interface Asked { title: string; who: string; label: string; schema: Json; args?: Json }

function asked(need: Need): Asked {
  const any: Obj = new Map();
  switch (need.tag) {
    case "answer": {
      const who = { human: "A person answers", agent: "The agent answers", either: "A person or the agent answers" }[need.val.audience];
      const schema = tryParse(need.val.schema) ?? any;
      return { title: need.val.prompt, who, label: text(get(schema, "title")) ?? "Answer", schema };
    }
    case "tool": {
      const where = need.val.server === undefined ? "The agent calls its tool" : `The host calls the server ${need.val.server}`;
      return { title: need.val.tool, who: where, label: "What the tool gave", schema: any, args: tryParse(need.val.args) };
    }
    case "tool-list":
      return { title: need.val.join(", "), who: "The host asks these servers for their tools", label: "What they offer", schema: any };
    case "completion":
      return { title: "A model's next message", who: "The client's model answers", label: "Result of sampling/createMessage", schema: any, args: tryParse(need.val) };
    case "workflow":
      return { title: need.val.workflow, who: "Another workflow runs", label: "Its outcome", schema: any, args: tryParse(need.val.args) };
    case "timer":
      return { title: `Waits until ${new Date(Number(need.val)).toLocaleString("en-GB")}`, who: "The clock answers", label: "", schema: any };
  }
}

/** MCP's CallToolResult for what a tool gave, as the host's `sessions answer` makes it. */
function toolResult(given: Json, failed: boolean): Json {
  const result: Obj = new Map<string, Json>([
    ["content", [new Map<string, Json>([["type", "text"], ["text", typeof given === "string" ? given : write(given)]])]],
  ]);
  if (given instanceof Map) result.set("structuredContent", given);
  if (failed) result.set("isError", true);
  return result;
}

export function Request({ store, open }: { store: Store; open: Open }) {
  const { need } = open;
  const { title, who, label, schema, args } = asked(need);
  const [typed, setTyped] = useState<Typed>(undefined);
  const [isError, setIsError] = useState(false);
  const [unfit, setUnfit] = useState<{ path: string; reason: string }>();
  const give = (given: Reply["value"]) => void store.answer(open, given, source(need));

  const submit = (event: Event) => {
    event.preventDefault();
    try {
      const given = value(schema, typed, "", true) ?? null;
      setUnfit(undefined);
      give({ tag: "ok", val: write(need.tag === "tool" ? toolResult(given, isError) : given) });
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      setUnfit({ path: error.path, reason: error.message });
    }
  };

  return (
    <form class="request" onSubmit={submit} aria-label={`Request ${open.id}`} novalidate>
      <p class="who">{who}</p>
      <p class="prompt">{title}</p>
      {need.tag === "answer" && need.val.audience === "agent" && (
        <p class="hint">This form gives the bare answer. Where reasons are wanted as well, call the tool as the agent.</p>
      )}
      {args !== undefined && !(args instanceof Map && args.size === 0) && <Data value={args} label="Arguments" />}
      {need.tag !== "timer" && (
        <>
          <Field label={label} schema={schema} typed={typed} change={setTyped} required unfit={unfit} />
          {need.tag === "tool" && (
            <label class="choice"><input type="checkbox" checked={isError} onChange={(e) => setIsError(e.currentTarget.checked)} /> the tool failed</label>
          )}
        </>
      )}
      <div class="actions">
        {need.tag !== "timer" && <button type="submit" class="main" disabled={store.busy}>Answer</button>}
        {open.deadline !== undefined && (
          <button type="button" class={need.tag === "timer" ? "main" : ""} disabled={store.busy} onClick={() => void store.pass(open.deadline ?? 0)}>
            {need.tag === "timer" ? "Let the time pass" : "Let the deadline pass"}
          </button>
        )}
        <Failing give={give} busy={store.busy} need={need} />
      </div>
    </form>
  );
}

function Failing({ give, busy, need }: { give: (value: Reply["value"]) => void; busy: boolean; need: Need }) {
  const [kind, setKind] = useState<Mishap>(need.tag === "answer" ? "declined" : "failed");
  const [message, setMessage] = useState("");
  return (
    <details class="failing">
      <summary>No answer comes</summary>
      <div class="row">
        <label>Why{" "}
          <select value={kind} onChange={(e) => setKind(e.currentTarget.value as Mishap)}>
            {MISHAPS.map((one) => <option key={one}>{one}</option>)}
          </select>
        </label>
        <label>In words{" "}
          <input type="text" value={message} placeholder="nobody answered" onInput={(e) => setMessage(e.currentTarget.value)} />
        </label>
        <button type="button" disabled={busy} onClick={() => give({ tag: "err", val: { kind, message: message || "nobody answered" } })}>Report it</button>
      </div>
    </details>
  );
}

/** What comes in with an event, in a line. */
export const short = (value: Json, most = 80) => {
  const line = typeof value === "string" ? value : write(value);
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

