// A compiled workflow and its digest, which is the host's for the same files (host/src/catalogue/definition.rs): replies that
// show it are equal to the byte.

import type { Bundle, Definition as Made } from "./contract.ts";
import { digest } from "./digest.ts";

export interface Definition extends Made {
  /** SHA-256 of what the host would keep. */
  digest: string;
  /** The file it was made from. */
  path: string;
}

const FORMAT = 1;

/** What a guest compiled, with its digest. */
export async function definition(made: Made, bundle: Bundle): Promise<Definition> {
  const files = [bundle.main, ...bundle.companions];
  const { about, graph, sessions } = made;
  const header = JSON.stringify({
    id: about.id,
    title: about.title,
    description: about.description,
    version: about.version ?? null,
    extra: about.extra,
    entry: graph.entry,
    nodes: graph.nodes.map((n) => [n.id, n.label, n.shape]),
    edges: graph.edges.map((e) => [e.source, e.target, e.label]),
    views: made.views.map((v) => ({
      name: v.name, title: v.title, description: v.description, parameters: v.parameters, mime: v.mime, prompt: v.prompt,
      journal: v.journal,
    })),
    instructions: made.instructions ?? null,
    shared: sessions.shared,
    idle_seconds: sessions.idleSeconds ?? null,
    limit: sessions.limit ?? null,
    sources: await Promise.all(files.map(async (file) => [file.path, await digest(file.bytes)])),
  });
  const bytes = new TextEncoder().encode(header);
  const kept = new Uint8Array(5 + bytes.length + made.code.length);
  kept[0] = FORMAT;
  new DataView(kept.buffer).setUint32(1, bytes.length);
  kept.set(bytes, 5);
  kept.set(made.code, 5 + bytes.length);
  return { ...made, digest: await digest(kept), path: bundle.main.path };
}
