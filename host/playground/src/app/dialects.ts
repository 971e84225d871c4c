// The list of interpreters that the build found, and which of them may own a document.

import { type File, fits } from "../engine/catalogue.ts";
import { DOCUMENT_BYTES } from "../engine/limits.ts";

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

/** The texts of files from disk, and why some are none. */
export async function textsOf(picked: globalThis.File[]): Promise<{ files: File[]; left: string[] }> {
  const [files, left]: [File[], string[]] = [[], []];
  for (const file of picked) {
    if (file.size > DOCUMENT_BYTES) {
      left.push(`${file.name} is not opened: it has ${(file.size / 2 ** 20).toFixed(1)} MiB, and ${DOCUMENT_BYTES >> 20} are allowed`);
      continue;
    }
    try {
      files.push({ path: file.name, text: new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()) });
    } catch {
      left.push(`${file.name} is not opened: it is no UTF-8 text, and cannot be edited here`);
    }
  }
  return { files, left };
}

/** Fetches a file of the page's own folder. */
export async function fetched(path: string): Promise<Response> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path} cannot be fetched: ${response.status} ${response.statusText}`);
  return response;
}
