// Documents in the address: `#p1.CHARACTERS.CHECK.DATA`, where DATA is raw deflate in base64url. Length and check tell a link
// that was cut or altered on its way.

import { digest } from "../engine/digest.ts";
import { LINK_BYTES } from "../engine/limits.ts";
import { LinkError, type Shared, readShared } from "./shared.ts";

const FORM = /^#?p1\.(\d+)\.([0-9a-f]{8})\.([A-Za-z0-9_-]*)$/;

/** The fragment for an address. */
export async function fragment(shared: Shared): Promise<string> {
  const packed = await through(new TextEncoder().encode(JSON.stringify(shared)), new CompressionStream("deflate-raw"));
  const data = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `#p1.${data.length}.${await check(data)}.${data}`;
}

const check = async (data: string) => (await digest(new TextEncoder().encode(data))).slice(0, 8);

/** What a fragment says. */
export async function shared(hash: string): Promise<Shared> {
  const [, length, sum, data] = FORM.exec(hash) ?? [];
  if (length === undefined || sum === undefined || data === undefined) {
    throw new LinkError("the link was cut or altered: what is left of it is too short. Ask for it again, best as a file");
  }
  if (data.length < Number(length)) {
    throw new LinkError(`the link was cut: ${data.length} of its ${length} characters arrived. Ask for it again, best as a file`);
  }
  if (data.length > Number(length) || (await check(data)) !== sum) {
    throw new LinkError("the link was altered on its way: its check does not fit. Ask for it again, best as a file");
  }
  let text: string;
  try {
    const bytes = Uint8Array.from(atob(data.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
  } catch (error) {
    throw error instanceof LinkError ? error : new LinkError("the link cannot be unpacked");
  }
  return readShared(text);
}

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const part = value as Uint8Array;
    length += part.length;
    if (length > LINK_BYTES) throw new LinkError(`the link unpacks to more than ${LINK_BYTES >> 20} MiB`);
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}
