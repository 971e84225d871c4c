// The walk: what was said so far, and what can be done now.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Store } from "../app/store.ts";
import type { Input } from "../engine/contract.ts";
import { get, tryParse } from "../engine/json.ts";
import { type Line, replyOf } from "../engine/session.ts";
import { Data, Reply, save } from "./parts.tsx";
import { Request, short } from "./requests.tsx";
import { Tools } from "./tools.tsx";

export function Walk({ store }: { store: Store }) {
  const { run, step, definition, begin } = store;
  const [chosen, setHow] = useState<"requests" | "tools">();
  const how = chosen ?? (begin?.complete === false && !run ? "tools" : "requests");
  if (!definition) {
    return <p class="hint">{store.reading ? "The document is being read…" : "There is no workflow to walk: the document has errors, or holds none."}</p>;
  }
  return (
    <div class="walk">
      <Starting store={store} />
      {run && <Said store={store} whole={how === "tools" || !step?.head.requests.length} />}
      {store.shown && (
        <section class="shown" aria-label={`Reply of ${store.shown.tool}`}>
          <p class="event"><b>{store.shown.tool}</b> changed no run:</p>
          <Reply output={store.shown.output} />
        </section>
      )}
      {step?.head.outcome && <Ended store={store} />}
      {store.line !== undefined && (
        <p class="past" role="status">
          You look at line {store.line} of {run?.steps.length}. What you do here goes on as a fork.{" "}
          <button type="button" onClick={() => store.look(undefined)}>Back to the newest</button>
        </p>
      )}
      <div class="now">
        <div class="switch" role="group" aria-label="How to go on">
          <button type="button" aria-pressed={how === "requests"} onClick={() => setHow("requests")}>What it waits for</button>
          <button type="button" aria-pressed={how === "tools"} onClick={() => setHow("tools")}>Call a tool, as the agent</button>
        </div>
        {how === "tools" ? <Tools store={store} /> : <Waiting store={store} />}
      </div>
      {!begin && !run && store.host && <p class="hint">No tool of the interpreter starts this workflow by its name alone; it is opened without one.</p>}
    </div>
  );
}

function Starting({ store }: { store: Store }) {
  const { begin, run, host, busy } = store;
  return (
    <div class="actions starting">
      <button type="button" class={run ? "" : "main"} disabled={busy || !host || begin?.complete === false} onClick={() => void store.start()}>
        {run ? "Start anew" : "Start the walk"}
      </button>
      {begin && <code class="dim">{begin.tool} {short(begin.args, 60)}</code>}
      {begin?.complete === false && <span class="hint">It needs more arguments: call the tool.</span>}
    </div>
  );
}

function Waiting({ store }: { store: Store }) {
  const { step } = store;
  const box = useRef<HTMLDivElement>(null);
  // The form that was sent is gone, and the keyboard with it: it goes on in the next one.
  useEffect(() => {
    if (step && document.activeElement === document.body) {
      box.current?.querySelector<HTMLElement>("input, textarea, select, button")?.focus({ preventScroll: true });
    }
  }, [step]);
  if (!step) return <p class="hint">Nothing has begun.</p>;
  const { requests, outcome } = step.head;
  if (outcome) return <p class="hint">The run has ended. Start anew, or go back in the journal and take another way.</p>;
  if (requests.length === 0) return <p class="hint">The run waits for nothing in particular: call a tool.</p>;
  return (
    <div class="requests" ref={box}>
      {requests.map((open) => <Request key={`${step.head.session} ${step.line.n} ${open.id}`} store={store} open={open} />)}
    </div>
  );
}

function Ended({ store }: { store: Store }) {
  const { outcome } = store.step?.head ?? {};
  if (!outcome) return null;
  const well = outcome.tag === "ok";
  return (
    <section class={`ended ${well ? "well" : "badly"}`} role="status" aria-label="Outcome">
      <h3>{well ? "The run has ended" : `The run came to nothing: ${outcome.val.kind}`}</h3>
      <Data value={well ? (tryParse(outcome.val) ?? outcome.val) : outcome.val.message} label="Outcome" />
      <button type="button" onClick={() => void exportCase(store)}>Save as a case</button>
    </section>
  );
}

export async function exportCase(store: Store) {
  const made = await store.exported();
  if (!made) return;
  save(made.name, made.text);
  const more = made.notes.length > 0 ? ` Not in it: ${made.notes.join("; ")}.` : "";
  store.tell("info", `${made.name} is saved: put it beside your interpreter in \`cases/\`.${more}`);
}

/** All that was said, up to the line that is shown; the newest reply whole for whoever goes on as the agent. */
function Said({ store, whole }: { store: Store; whole: boolean }) {
  const { run, line: shown } = store;
  const end = useRef<HTMLLIElement>(null);
  const lines = (run?.steps ?? []).slice(0, shown).map((step) => step.line);
  useEffect(() => {
    const list = end.current?.parentElement;
    if (list) list.scrollTop = Math.max(0, (end.current?.offsetTop ?? 0) - list.offsetTop - 8);
  }, [lines.length, run?.name]);
  return (
    <ol class="said-list" aria-label="What was said" tabIndex={0}>
      {lines.map((line, n) => {
        const last = n === lines.length - 1;
        const reply = replyOf(line);
        return (
          <li key={line.n} ref={last ? end : undefined} class={line.refusal ? "refused" : line.fault !== undefined ? "fault" : ""}>
            <p class="event"><span class="badge">{line.event.source}</span> {eventText(line.event.input)}</p>
            {line.refusal && <p class="no">Refused: {line.refusal.message}</p>}
            {line.fault !== undefined && <p class="no">The interpreter broke: {line.fault}</p>}
            {reply && (last && whole ? <Reply output={reply} /> : <Earlier line={line} />)}
          </li>
        );
      })}
    </ol>
  );
}

function Earlier({ line }: { line: Line }) {
  const reply = replyOf(line);
  return reply ? <details><summary>Reply</summary><Reply output={reply} /></details> : null;
}

/** What an event brought, in a line. */
export function eventText(input: Input) {
  switch (input.tag) {
    case "open": return <>opened with <code>{short(tryParse(input.val) ?? input.val)}</code></>;
    case "call": return <><b>{input.val.tool}</b> <code>{short(tryParse(input.val.args) ?? input.val.args, 160)}</code></>;
    case "recalled": return <><b>{input.val.call.tool}</b> <code>{short(tryParse(input.val.call.args) ?? "", 160)}</code></>;
    case "reply": {
      const { request, value } = input.val;
      // Of what a tool gave, the structured part says it all.
      const given = value.tag === "ok" ? (tryParse(value.val) ?? value.val) : null;
      return value.tag === "ok"
        ? <>to <b>{request}</b>: <code>{short(get(given, "structuredContent") ?? given, 160)}</code></>
        : <>to <b>{request}</b>: {value.val.kind}, {value.val.message}</>;
    }
  }
}

