// The documents of the page, and what the interpreter makes of them: the same order of questions as on the host
// (host/src/catalogue/load.rs).

import type { Diagnostic, Document, Tool } from "./contract.ts";
import { type Definition, definition } from "./definition.ts";
import { Fault, type Guest } from "./guest.ts";
import { DOCUMENT_BYTES } from "./limits.ts";

export interface File { path: string; text: string }
/** A finding and the file that it is about. */
export interface Finding extends Diagnostic { file: string }
export interface Catalogue { definitions: Definition[]; tools: Tool[]; findings: Finding[] }

export const EMPTY: Catalogue = { definitions: [], tools: [], findings: [] };

/** Asks the interpreter about each file, compiles those that are documents of its own, and lists its tools. */
export async function read(guest: Guest, files: File[]): Promise<Catalogue> {
  const documents = files.map((file): Document => ({ path: file.path, bytes: new TextEncoder().encode(file.text) }));
  documents.sort((a, b) => (a.path < b.path ? -1 : 1));
  const findings: Finding[] = [];
  const claims = new Map<Document, string[]>();
  const reads = (document: Document) => guest.about.files.some((glob) => fits(glob, document.path.split("/").at(-1) ?? ""));
  // A file that is alone is looked at under any name; beside others what has another name is a companion at most.
  const asked = documents.some(reads) ? documents.filter(reads) : documents;
  for (const document of asked) {
    if (document.bytes.length > DOCUMENT_BYTES) {
      const mebibytes = (document.bytes.length / 2 ** 20).toFixed(1);
      findings.push(error(document.path, "unreadable-file", `the document has ${mebibytes} MiB; ${DOCUMENT_BYTES >> 20} are allowed`));
      continue;
    }
    const globs = await attempt(findings, document.path, () => guest.recognise(document));
    if (globs !== "fault") claims.set(document, globs ?? []);
  }
  const beside = (document: Document, path: string) =>
    document.path !== path && (claims.get(document) ?? []).some((glob) => fits(glob, path));
  const mains = [...claims.keys()].filter((d) => ![...claims.keys()].some((other) => beside(other, d.path)));
  const definitions: Definition[] = [];
  for (const main of mains) {
    const bundle = { main, companions: documents.filter((d) => beside(main, d.path)) };
    const compiled = await attempt(findings, main.path, () => guest.compile(bundle));
    if (compiled === "fault") continue;
    findings.push(...compiled.diagnostics.map((d) => ({ ...d, file: d.path ?? main.path })));
    if (compiled.diagnostics.some((d) => d.severity === "error")) continue;
    for (const made of compiled.definitions) {
      const first = definitions.find((d) => d.about.id === made.about.id);
      if (first) findings.push(error(main.path, "duplicate-id", `the id \`${made.about.id}\` is already that of \`${first.path}\``));
      else definitions.push(await definition(made, bundle));
    }
  }
  const tools = await attempt(findings, files[0]?.path ?? "", () => guest.tools(definitions.map((d) => d.about)));
  return { definitions, findings, tools: tools === "fault" ? [] : tools };
}

async function attempt<T>(findings: Finding[], file: string, ask: () => Promise<T>): Promise<T | "fault"> {
  try {
    return await ask();
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    findings.push(error(file, "plugin-fault", thrown.message));
    return "fault";
  }
}

const error = (file: string, code: string, message: string): Finding => ({ severity: "error", code, message, file });

/** Whether a glob of `*` and `?` fits a file's name. */
export function fits(glob: string, name: string): boolean {
  const escaped = glob.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, "[^]*").replaceAll("?", "[^]");
  return new RegExp(`^${escaped}$`, "u").test(name);
}
