// SHA-256 by a library and not by the browser's own: that one is only there over HTTPS and on loopback, and only asynchronous.

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";

/** SHA-256 in hex. */
export const digest = (bytes: Uint8Array): string => bytesToHex(sha256(bytes));
