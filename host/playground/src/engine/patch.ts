// The difference between two states, as the host's journal keeps it (host/src/session/patch.rs): objects key by key, all else
// as a whole, by RFC 6901 pointer.

import { type Json, write } from "./json.ts";

export interface Patch { set: [string, Json][]; unset: string[] }

/** What changed from one state to another. */
export function between(before: Json, after: Json): Patch {
  const patch: Patch = { set: [], unset: [] };
  walk(before, after, "", patch);
  return patch;
}

function walk(before: Json, after: Json, at: string, patch: Patch) {
  if (write(before) === write(after)) return;
  if (!(before instanceof Map && after instanceof Map)) {
    patch.set.push([at, after]);
    return;
  }
  for (const key of before.keys()) {
    if (!after.has(key)) patch.unset.push(push(at, key));
  }
  for (const [key, value] of after) {
    const was = before.get(key);
    if (was === undefined) patch.set.push([push(at, key), value]);
    else walk(was, value, push(at, key), patch);
  }
}

const push = (at: string, key: string) => `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
