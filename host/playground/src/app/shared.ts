// Documents that come in from outside the page: what they must look like.

import type { File } from "../engine/catalogue.ts";

/** What a link carries, and what is kept over a reload. */
export interface Shared {
  dialect: string;
  /** SHA-256 of a component that is not built in: the link does not carry it. */
  component?: string;
  files: File[];
}

export class LinkError extends Error {}

/** Documents from their JSON text. */
export function readShared(text: string): Shared {
  const value = JSON.parse(text) as Partial<Shared> | null;
  const isFile = (file: unknown): file is File =>
    typeof (file as File | null)?.path === "string" && typeof (file as File | null)?.text === "string";
  if (typeof value?.dialect !== "string" || !Array.isArray(value.files) || !value.files.every(isFile)) {
    throw new LinkError("the link holds something other than documents");
  }
  return { dialect: value.dialect, component: value.component, files: value.files };
}
