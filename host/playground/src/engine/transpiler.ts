// The worker that makes jco's code for a component that came from disk. Loaded only then: the transpiler is large.

import { $init, generate } from "@bytecodealliance/jco-transpile/component";

self.onmessage = async ({ data }: MessageEvent<Uint8Array>) => {
  try {
    await $init;
    const made = generate(data, {
      name: "guest",
      instantiation: { tag: "sync" },
      map: [],
      noTypescript: true,
      tlaCompat: false,
      noNodejsCompat: true,
      base64Cutoff: 0,
    });
    const file = made.files.find(([name]) => name.endsWith(".js"));
    self.postMessage({ glue: file?.[1] });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String((error as { payload?: unknown })?.payload ?? error);
    self.postMessage({ reason });
  }
};
