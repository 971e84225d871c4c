// The list of interpreters that the build found, and which of them may own a document.

import { fits } from "../engine/catalogue.ts";

/** A built-in interpreter: what it says of its documents, where its component lies, examples. */
export interface Dialect {
  name: string;
  title: string;
  files: string[];
  marks: string[];
  wasm: string;
  bytes: number;
  /** jco's code for it; none: the page makes it. */
  glue?: string;
  examples: Example[];
}
/** A folder of documents to begin with. */
export interface Example { title: string; files: string[] }

/** The interpreters whose documents this may be, by the file's name and the texts that it holds. */
export function owners(dialects: Dialect[], path: string, text: string): Dialect[] {
  const name = path.split("/").at(-1) ?? path;
  const marked = (d: Dialect) => d.marks.length === 0 || d.marks.some((mark) => text.includes(mark));
  return dialects.filter((d) => d.files.some((glob) => fits(glob, name)) && marked(d));
}

/** Fetches a file of the page's own folder. */
export async function fetched(path: string): Promise<Response> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path} cannot be fetched: ${response.status} ${response.statusText}`);
  return response;
}
