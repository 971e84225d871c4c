// The journal: every line with its entries and what it changed in the state. Each is a moment to go back to, or to fork from.

import { useState } from "preact/hooks";
import type { Store } from "../app/store.ts";
import { tryParse } from "../engine/json.ts";
import { type Run, type Step, entriesOf, head } from "../engine/session.ts";
import { Data, clockTime } from "./parts.tsx";
import { short } from "./requests.tsx";
import { eventText, exportCase } from "./walk.tsx";

export function Journal({ store }: { store: Store }) {
  const { run, step } = store;
  const runs = store.host?.runs ?? [];
  if (!run || !step) return <p class="hint">Nothing is kept yet: the journal begins with the walk.</p>;
  const at = store.line ?? run.steps.length;
  return (
    <div class="journal">
      <div class="actions">
        <label for="run" class="dim">Run</label>
        <select id="run" value={head(run)?.session} onChange={(e) => store.pick(e.currentTarget.value)}>
          {runs.map((one) => <option key={head(one)?.session} value={head(one)?.session}>{described(one)}</option>)}
        </select>
        <button type="button" disabled={at <= 1} onClick={() => store.look(at - 1)}>Step back</button>
        <button type="button" disabled={store.line === undefined} onClick={() => store.look(at + 1)}>Step on</button>
        <button type="button" onClick={() => store.fork(at)}>Fork here</button>
        <button type="button" onClick={() => void exportCase(store)}>Save as a case</button>
      </div>
      {run.parent && <Parting store={store} run={run} />}
      <ol class="lines" aria-label="Journal">
        {run.steps.map((one) => <Entry key={one.line.n} store={store} step={one} here={one.line.n === at} later={one.line.n > at} />)}
      </ol>
      <State step={step} />
    </div>
  );
}

const described = (run: Run) => {
  const now = head(run);
  const fork = run.parent ? `, fork of ${run.parent.name} after line ${run.parent.lines}` : "";
  return `${run.name}: ${now?.workflow ?? ""}${fork}, ${run.steps.length} ${run.steps.length === 1 ? "line" : "lines"}${now?.outcome ? ", ended" : ""}`;
};

/** Where a fork went another way than the run that it came from. */
function Parting({ store, run }: { store: Store; run: Run }) {
  const { parent } = run;
  const other = parent && store.host?.run(parent.session);
  if (!parent || !other) return null;
  const [ours, theirs] = [run, other].map((one) => one.steps[parent.lines]);
  const ends = [run, other].map((one) => head(one)?.current.join(", ") || "nowhere");
  return (
    <p class="parting">
      Fork of {parent.name}, the same up to line {parent.lines}.{" "}
      {ours && theirs && <>Then here {eventText(ours.line.event.input)}, there {eventText(theirs.line.event.input)}. </>}
      {ours && (ends[0] === ends[1] ? <>Both now stand at {ends[0]}.</> : <>Here the run stands at <b>{ends[0]}</b>, there at <b>{ends[1]}</b>.</>)}
    </p>
  );
}

interface EntryProps { store: Store; step: Step; here: boolean; later: boolean }

function Entry({ store, step: { line }, here, later }: EntryProps) {
  const entries = entriesOf(line);
  const changes = line.change ? line.change.set.length + line.change.unset.length : 0;
  return (
    <li class={`${here ? "here" : ""}${later ? " later" : ""}${line.refusal || line.fault !== undefined ? " no" : ""}`} aria-current={here ? "step" : undefined}>
      <div class="line">
        <button type="button" class="number" onClick={() => store.look(line.n)} aria-label={`Look at line ${line.n}`}>{line.n}</button>
        <div>
          <p class="event"><span class="badge">{line.event.source}</span> {eventText(line.event.input)} <time class="dim">{clockTime(line.at)}</time></p>
          {line.refusal && <p class="no">Refused, {line.refusal.code}: {line.refusal.message}</p>}
          {line.fault !== undefined && <p class="no">Broke: {line.fault}</p>}
          {entries.map((entry, n) => (
            <p key={n} class="entry">
              <span class="dim">{line.seq + n}</span> <b>{entry.node}</b> {entry.kind}
              {entry.input !== undefined && <> <code>{short(tryParse(entry.input) ?? entry.input)}</code></>}
              {entry.branch !== undefined && <> → <b>{entry.branch}</b></>}
            </p>
          ))}
          {changes > 0 && (
            <details>
              <summary>{changes} {changes === 1 ? "change" : "changes"} of the state</summary>
              <ul class="diff">
                {line.change?.unset.map((at) => <li key={at} class="gone"><code>− {at}</code></li>)}
                {line.change?.set.map(([at, value]) => <li key={at} class="came"><code>+ {at || "(all)"} = {short(value, 200)}</code></li>)}
              </ul>
            </details>
          )}
        </div>
      </div>
    </li>
  );
}

function State({ step }: { step: Step }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="state" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>The state after line {step.line.n}</summary>
      {open && <Data value={tryParse(step.head.state) ?? step.head.state} label="State" />}
    </details>
  );
}
