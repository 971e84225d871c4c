// The walk that every JavaScript client makes, and what it tells of it: one line of JSON. See python/walk.py.

export const told = JSON.parse(process.argv[2]);

/** What someone at the client says when asked, and what they were asked. */
export const person = {
  manner: told.person,
  there: told.person !== "absent",
  asked: [],
  async says(params) {
    this.asked.push(params.message);
    if (this.manner === "silent") await new Promise((done) => setTimeout(done, 3_600_000).unref());
    if (this.manner === "broken") throw Object.assign(new Error("no forms here"), { code: -32601 });
    if (this.manner !== "accept") return { action: this.manner };
    const field = params.requestedSchema.properties.value;
    return { action: "accept", content: { value: field.enum ? field.enum[0] : "Arcadia" } };
  },
};

function reply(envelope) {
  if (envelope.state === "awaiting_tool_result") return { value: { trees: 3 } };
  const first = (envelope.expects?.options ?? ["Arcadia"])[0];
  const value = first.id ?? first;
  return envelope.state === "awaiting_judgment" ? { value, rationale: "Three trees and nobody behind them." } : { value };
}

export async function walk(client, about) {
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    if (result.isError) throw new Error(JSON.stringify(result));
    return result.structuredContent;
  };
  let envelope = await call("tree_start", { tree_id: "visit" });
  const visited = [envelope.node];
  while (envelope.state !== "done" && visited.length < 20) {
    const at = { session_id: envelope.session_id, step: envelope.step };
    envelope = await call("tree_answer", { ...at, ...reply(envelope) });
    visited.push(envelope.node);
  }
  const trace = await call("tree_trace", { session_id: envelope.session_id });
  const answered = trace.trace.filter((entry) => entry.input !== null);
  const sources = Object.fromEntries(answered.map((entry) => [entry.node, entry.source]));
  console.log(JSON.stringify({ ...about, tools, asked: person.asked, visited, end: envelope, sources }));
  await client.close();
}
