// The official TypeScript SDK, second line: both eras.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { person, told, walk } from "./walk.mjs";

const [command, ...args] = told.command ?? [];
const transport = command ? new StdioClientTransport({ command, args }) : new StreamableHTTPClientTransport(new URL(told.url));
const mode = told.era === "modern" ? { pin: "2026-07-28" } : told.era;
const capabilities = person.there ? { elicitation: { form: {} } } : {};
const client = new Client({ name: "sdk2", version: "1" }, { capabilities, versionNegotiation: { mode } });
if (person.there) client.setRequestHandler("elicitation/create", (request) => person.says(request.params));
await client.connect(transport);
await walk(client, { version: client.getNegotiatedProtocolVersion?.() ?? null });
