// The page: what is edited on the left, what it does on the right; on a narrow screen one of them at a time.

import { useEffect, useReducer, useState } from "preact/hooks";
import type { Store } from "../app/store.ts";
import type { Position } from "../engine/contract.ts";
import type { Finding } from "../engine/catalogue.ts";
import { entriesOf } from "../engine/session.ts";
import { Drawing } from "./drawing.tsx";
import { Editor } from "./editor.tsx";
import { Header } from "./header.tsx";
import { Journal } from "./journal.tsx";
import { Walk } from "./walk.tsx";

const PANES = ["Document", "Drawing", "Walk", "Journal"] as const;
type Pane = (typeof PANES)[number];

export function App({ store }: { store: Store }) {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => store.subscribe(() => again(0)), [store]);
  const [pane, setPane] = useState<Pane>("Document");
  const [place, setPlace] = useState<{ position: Position }>();
  const { definition, step, run, notice } = store;

  const goTo = (position: Position, file?: string) => {
    const other = store.files.findIndex((f) => f.path === file);
    if (other >= 0 && other !== store.active) store.activate(other);
    setPane("Document");
    setPlace({ position });
  };
  const passed = new Set(run?.steps.slice(0, step?.line.n).flatMap((s) => entriesOf(s.line).map((entry) => entry.node)));

  return (
    <>
      <Header store={store} />
      <div class="notices" role="status" aria-live="polite">
        {notice && (
          <p class={`notice ${notice.kind}`}>
            <span>{notice.text}</span>
            <button type="button" class="quiet" aria-label="Dismiss" onClick={() => store.hush()}>×</button>
          </p>
        )}
      </div>
      <nav class="panes" aria-label="Parts of the page">
        {PANES.map((one) => <button key={one} type="button" aria-pressed={pane === one} onClick={() => setPane(one)}>{one}</button>)}
      </nav>
      <main data-pane={pane}>
        <section class="pane document" aria-labelledby="h-document" data-name="Document">
          <h2 id="h-document">Document</h2>
          <Document store={store} place={place} goTo={goTo} />
        </section>
        <section class="pane drawing" aria-labelledby="h-drawing" data-name="Drawing">
          <h2 id="h-drawing">Drawing</h2>
          <Workflows store={store} />
          {definition
            ? <Drawing title={definition.about.title} graph={definition.graph} current={step?.head.current ?? []} passed={passed}
                pick={(id) => { const at = placeOf(id, store.files[store.active]?.text ?? ""); if (at) goTo(at); }} />
            : <p class="hint">{store.reading ? "The document is being read…" : "Nothing to draw yet."}</p>}
        </section>
        <section class="pane" aria-labelledby="h-walk" data-name="Walk">
          <h2 id="h-walk">Walk</h2>
          {store.stale && <p class="hint">The document has errors. What is drawn and walked is its last good version.</p>}
          {store.outdated && <p class="hint">The document has changed since this run began. It goes on as it began; start anew to walk the new version.</p>}
          <Walk store={store} />
        </section>
        <section class="pane" aria-labelledby="h-journal" data-name="Journal">
          <h2 id="h-journal">Journal</h2>
          <Journal store={store} />
        </section>
      </main>
    </>
  );
}

/** Where a node is written, as well as can be told without knowing the language: as a key, or as the value of `id`. */
function placeOf(id: string, text: string): Position | undefined {
  const name = id.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const found = new RegExp(`^(?:\\s*(?:- )?"?${name}"?\\s*:|.*\\b(?:id|name)"?\\s*:\\s*["']?${name}["']?\\s*(?:[,}#].*)?$)`, "mu").exec(text);
  if (!found) return undefined;
  return { line: text.slice(0, found.index).split("\n").length, column: 1 + (found[0].length - found[0].trimStart().length) };
}

function Workflows({ store }: { store: Store }) {
  const { definitions } = store.catalogue;
  const { definition } = store;
  if (definitions.length < 2) return definition ? <p class="about"><b>{definition.about.title}</b> {definition.about.description}</p> : null;
  return (
    <div class="field">
      <label for="workflow">Workflow</label>
      <select id="workflow" value={store.workflow} onChange={(e) => void store.choose(e.currentTarget.value)}>
        {definitions.map((d) => <option key={d.about.id} value={d.about.id}>{d.about.title || d.about.id}</option>)}
      </select>
    </div>
  );
}

type GoTo = (position: Position, file?: string) => void;

function Document({ store, place, goTo }: { store: Store; place?: { position: Position }; goTo: GoTo }) {
  const file = store.files[store.active];
  if (!file) return <p class="hint">No document is open.</p>;
  const findings = store.catalogue.findings.filter((f) => f.file === file.path);
  return (
    <>
      {store.files.length > 1 && (
        <div class="files" role="group" aria-label="Files">
          {store.files.map((one, n) => (
            <button key={one.path} type="button" aria-pressed={n === store.active} onClick={() => store.activate(n)}>
              {one.path}{store.catalogue.findings.some((f) => f.file === one.path && f.severity === "error") && <span class="bad"> has errors</span>}
            </button>
          ))}
        </div>
      )}
      <Editor key={`${store.generation} ${file.path}`} path={file.path} text={file.text} findings={findings} edit={(text) => store.edit(text)} place={place} />
      <Findings store={store} goTo={goTo} />
    </>
  );
}

const SHOWN = 100;

function Findings({ store, goTo }: { store: Store; goTo: GoTo }) {
  const { findings } = store.catalogue;
  const count = (severity: Finding["severity"]) => findings.filter((f) => f.severity === severity).length;
  const [errors, warnings] = [count("error"), count("warning")];
  const plural = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const summary = store.reading ? "Reading…"
    : errors > 0 ? `${plural(errors, "error")}${warnings > 0 ? `, ${plural(warnings, "warning")}` : ""}`
    : warnings > 0 ? plural(warnings, "warning")
    : findings.length > 0 ? plural(findings.length, "note")
    : store.guest ? "No findings" : "";
  return (
    <div class="findings" id="findings">
      <p class={`summary ${errors > 0 ? "error" : warnings > 0 ? "warning" : "fine"}`} role="status">{summary}</p>
      {findings.length > 0 && (
        <ul>
          {findings.slice(0, SHOWN).map((f, n) => (
            <li key={n} class={f.severity}>
              <button type="button" class="finding" onClick={() => goTo(f.span?.start ?? { line: 1, column: 1 }, f.file)}>
                <span class="where">{store.files.length > 1 && `${f.file} `}{f.span ? `line ${f.span.start.line}, column ${f.span.start.column}` : "whole document"}</span>
                <span class="what"><b>{f.severity}</b> {f.message}</span>
                {f.help !== undefined && <span class="help">{f.help}</span>}
                <span class="code">{f.code}</span>
              </button>
            </li>
          ))}
          {findings.length > SHOWN && <li class="dim">and {findings.length - SHOWN} more</li>}
        </ul>
      )}
    </div>
  );
}
