// The agent's way: the tools of the dialect with their forms. What the last reply names alike is filled in.

import { useEffect, useState } from "preact/hooks";
import { passedOn } from "../app/begin.ts";
import { type Typed, Unfit, typed as asTyped, value } from "../app/form.ts";
import type { Store } from "../app/store.ts";
import type { Tool } from "../engine/contract.ts";
import { tryParse, write } from "../engine/json.ts";
import { replyOf } from "../engine/session.ts";
import { Field } from "./form.tsx";

export function Tools({ store }: { store: Store }) {
  const { tools } = store.catalogue;
  const { begin, step } = store;
  const [name, setName] = useState<string>();
  const moving = tools.filter((tool) => !tool.readOnly && tool.name !== begin?.tool);
  const standing = step && !step.head.outcome ? moving[0]?.name : begin?.tool;
  const tool = tools.find((t) => t.name === name) ?? tools.find((t) => t.name === standing) ?? tools[0];
  if (!tool) return <p class="hint">The interpreter offers no tools for these documents.</p>;
  return (
    <div class="tools">
      <div class="field">
        <label for="tool">Tool</label>
        <select id="tool" value={tool.name} onChange={(e) => setName(e.currentTarget.value)}>
          {tools.map((t) => <option key={t.name} value={t.name}>{t.name} · {t.title}</option>)}
        </select>
      </div>
      <Call key={tool.name} store={store} tool={tool} />
    </div>
  );
}

function Call({ store, tool }: { store: Store; tool: Tool }) {
  const schema = tryParse(tool.inputSchema);
  const [typed, setTyped] = useState<Typed>(undefined);
  const [unfit, setUnfit] = useState<{ path: string; reason: string }>();
  const { step, begin } = store;

  // After each turn the arguments that an agent would pass on are those of the newest reply.
  useEffect(() => {
    const last = step && replyOf(step.line);
    const known = tool.name === begin?.tool ? begin.args : passedOn(tool, last && tryParse(last.value), step?.head.session);
    setTyped(asTyped(schema, known));
    setUnfit(undefined);
  }, [step, begin, tool.name]);

  const submit = (event: Event) => {
    event.preventDefault();
    try {
      const args = value(schema, typed, "", true) ?? new Map();
      setUnfit(undefined);
      void store.call(tool.name, write(args));
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      setUnfit({ path: error.path, reason: error.message });
    }
  };

  return (
    <form onSubmit={submit} aria-label={`Call ${tool.name}`} novalidate>
      <p class="hint">{tool.description}</p>
      <Field label="" schema={schema} typed={typed} change={setTyped} required unfit={unfit} />
      <div class="actions"><button type="submit" class="main" disabled={store.busy}>Call {tool.name}</button></div>
    </form>
  );
}
