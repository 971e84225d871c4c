// The host's figures (host/src/limits.rs), as far as a browser can keep them.

/** Linear memory of a call, in pages of 64 KiB: turns and the like; and describing, compiling, listing tools. */
export const CALL_PAGES = 1024;
export const LOAD_PAGES = 4096;
/** Milliseconds of a call, as above. A browser counts no instructions: time is the only measure. */
export const CALL_MS = 2_000;
export const LOAD_MS = 10_000;
/** Milliseconds in which a worker must have made a component ready. */
export const READY_MS = 30_000;
/** Milliseconds in which jco must have transpiled a component. */
export const TRANSPILE_MS = 60_000;
export const PLUGIN_BYTES = 48 << 20;
export const DOCUMENT_BYTES = 8 << 20;
export const STATE_BYTES = 4 << 20;
export const ROUNDS_PER_CALL = 64;
export const PAGE_ENTRIES = 1_000;
export const PAGE_BYTES = 1 << 20;
export const RUNS = 1_000;
/** Characters of a link past which some programs cut it. */
export const LINK_CHARS = 8_000;
/** Bytes that a link may unpack to. */
export const LINK_BYTES = 8 << 20;
/** Boxes of a drawing past which it is told instead of drawn. */
export const NODES_DRAWN = 400;
