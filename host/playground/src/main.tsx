// Begins the page.

import { render } from "preact";
import { Store } from "./app/store.ts";
import { read } from "./engine/catalogue.ts";
import { Host } from "./engine/host.ts";
import { App } from "./ui/app.tsx";

const store = new Store();
// For whoever wants to drive the page by a script, tests among them.
Object.assign(globalThis, { playground: { store, Host, read } });

render(<App store={store} />, document.getElementById("page") ?? document.body);

addEventListener("hashchange", () => void store.follow(location.hash));
// A file that is dropped anywhere is opened here, and never leaves the page.
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
for (const end of ["dragleave", "drop"]) addEventListener(end, () => document.body.classList.remove("dropping"));
addEventListener("drop", (event) => {
  event.preventDefault();
  const files = [...((event as DragEvent).dataTransfer?.files ?? [])];
  if (files.length > 0) void store.opened(files);
});

void store.begun(location.hash);
