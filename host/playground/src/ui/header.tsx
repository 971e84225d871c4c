// The head of the page: which interpreter, which example, and what can be done with the whole.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Store } from "../app/store.ts";

type Theme = "light" | "dark";

export function Header({ store }: { store: Store }) {
  const { guesting, dialect, dialects } = store;
  const picker = useRef<HTMLInputElement>(null);
  const examples = dialect?.examples ?? [];
  const chosen = dialect?.name ?? "";
  return (
    <header>
      <h1>wfhost <span>playground</span></h1>
      <div class="controls">
        <label>
          <span class="dim">Dialect</span>
          <select value={chosen} onChange={(e) => {
            const next = dialects.find((d) => d.name === e.currentTarget.value);
            if (next) void store.example(next, next.examples[0]);
          }}>
            {!dialect && <option value="">{guesting.kind === "ready" ? `${guesting.guest.about.name} (from disk)` : "…"}</option>}
            {dialects.map((d) => <option key={d.name} value={d.name}>{d.title}</option>)}
          </select>
        </label>
        {examples.length > 0 && dialect && (
          <label>
            <span class="dim">Example</span>
            <select value="" onChange={(e) => void store.example(dialect, examples[Number(e.currentTarget.value)])}>
              <option value="" disabled>choose…</option>
              {examples.map((example, n) => <option key={example.title} value={String(n)}>{example.title}</option>)}
            </select>
          </label>
        )}
        <button type="button" onClick={() => picker.current?.click()}>Open a file</button>
        <input ref={picker} type="file" multiple hidden aria-label="Document or .wasm interpreter" onChange={(e) => {
          const files = [...(e.currentTarget.files ?? [])];
          e.currentTarget.value = "";
          if (files.length > 0) void store.opened(files);
        }} />
        <Share store={store} />
        <Lights />
      </div>
      <p class="engine dim" role="status">{engine(store)}</p>
    </header>
  );
}

function engine({ guesting }: Store): string {
  switch (guesting.kind) {
    case "loading": return guesting.name === "" ? "Loading…" : `Loading ${guesting.name}…`;
    case "broken": return `${guesting.name} cannot be used: ${guesting.reason}`;
    case "ready": {
      const { about, digest, version } = guesting.guest;
      return `${about.name} ${about.version} · contract ${version} · the very bytes that a host knows as ${digest.slice(0, 12)}`;
    }
  }
}

function Share({ store }: { store: Store }) {
  const share = async () => {
    const address = await store.share();
    // Without the permission the address bar still has it.
    if (address !== undefined) await navigator.clipboard?.writeText(address).catch(() => undefined);
  };
  return <button type="button" disabled={!store.guest} onClick={() => void share()}>Share by link</button>;
}

function Lights() {
  const [theme, setTheme] = useState<Theme | undefined>(() => {
    const kept = recalled();
    return kept === "light" || kept === "dark" ? kept : undefined;
  });
  useEffect(() => {
    if (theme) document.documentElement.dataset.theme = theme;
  }, [theme]);
  const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const flip = () => {
    const next = dark ? "light" : "dark";
    setTheme(next);
    try {
      localStorage.setItem("theme", next);
    } catch {
      // A browser that keeps nothing forgets it.
    }
  };
  return <button type="button" aria-pressed={dark} onClick={flip}>Dark</button>;
}

function recalled(): string | null {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}
