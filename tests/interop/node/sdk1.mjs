// The official TypeScript SDK, first line: the legacy era only.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { person, told, walk } from "./walk.mjs";

const [command, ...args] = told.command ?? [];
const transport = command ? new StdioClientTransport({ command, args }) : new StreamableHTTPClientTransport(new URL(told.url));
const capabilities = person.there ? { elicitation: {} } : {};
const client = new Client({ name: "sdk1", version: "1" }, { capabilities });
if (person.there) client.setRequestHandler(ElicitRequestSchema, (request) => person.says(request.params));
await client.connect(transport);
await walk(client, { version: transport.protocolVersion ?? transport._protocolVersion ?? null });
