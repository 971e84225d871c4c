// Small parts that several views use.

import type { Output } from "../engine/contract.ts";
import { type Json, pretty, tryParse } from "../engine/json.ts";

/** JSON for readers. A long one is cut until it is asked for by scrolling. */
export function Data({ value, label }: { value: Json; label?: string }) {
  return typeof value === "string"
    ? <p class="said">{value}</p>
    : <pre class="data" tabIndex={0} role="group" aria-label={label ?? "Data"}>{pretty(value)}</pre>;
}

/** What a caller got. */
export function Reply({ output }: { output: Output }) {
  const value = tryParse(output.value);
  return (
    <div class={`reply${output.isError ? " failed" : ""}`}>
      {output.headline !== undefined && <p class="said">{output.headline}</p>}
      <Data value={value === undefined ? output.value : value} label="Reply" />
      {output.content !== undefined && <Data value={tryParse(output.content) ?? output.content} label="Content" />}
    </div>
  );
}

export const clockTime = (at: number) => new Date(at).toLocaleTimeString("en-GB");

/** Hands a text to the reader as a file. */
export function save(name: string, text: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}
