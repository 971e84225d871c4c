// SHA-256: the browser's own where it is (HTTPS and loopback), else a library's, loaded only then.

/** SHA-256 in hex. */
export async function digest(bytes: Uint8Array): Promise<string> {
  // Not there on a page that came over plain HTTP, whatever its type says.
  const own = crypto.subtle as SubtleCrypto | undefined;
  const hash = own
    ? new Uint8Array(await own.digest("SHA-256", bytes as BufferSource))
    : (await import("@noble/hashes/sha2.js")).sha256(bytes);
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
