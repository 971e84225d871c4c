// {{name}}: an interpreter for wfhost. It reads checklists, and walks them.
//
//     # Before a release
//     - [ ] All tests pass
//     - [?] The release manager agrees
//
// `- [ ]` is an item that the agent does and checks off, `- [?]` one that only a person can say.
//
// Every function is pure: there is no clock, no randomness, no file, and nothing is remembered between two calls. What a
// call needs comes as its arguments. In the contract's terms: a record is an object with names in camelCase, a variant is
// {tag, val}, an option is a value or undefined, and a `result` is returned, or its error thrown.

const SUFFIX = '.{{name}}.md';
const text = (bytes) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
// Columns count characters, and a JavaScript string counts some of them twice.
const characters = (line) => line.length - (line.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g) ?? []).length;
const bytes = (value) => new TextEncoder().encode(JSON.stringify(value));

// --- documents: text to definition, or to findings with their place

function item(line) {
  const found = /^- \[([ ?])\](.*)$/.exec(line);
  return found && { text: found[2].trim(), person: found[1] === '?' };
}

function error(code, message, help, line, length) {
  const span = line && { start: { line, column: 1 }, end: { line, column: length + 1 } };
  return { severity: 'error', code, message, help, subject: undefined, path: undefined, span };
}

function read(content) {
  let source;
  try {
    source = text(content);
  } catch {
    return { title: '', items: [], diagnostics: [error('not-text', 'the file is no UTF-8 text', 'save it as UTF-8')] };
  }
  const diagnostics = [];
  const items = [];
  let title = '';
  source.split('\n').forEach((raw, index) => {
    const line = raw.trimEnd();
    const place = [index + 1, characters(line)];
    const found = item(line);
    if (line.startsWith('# ')) {
      if (title) diagnostics.push(error('second-title', 'a checklist has one title', 'make it a file of its own', ...place));
      else title = line.slice(2).trim();
    } else if (found) {
      if (!found.text) diagnostics.push(error('empty-item', 'an item without words', 'say what is to be done', ...place));
      items.push(found);
    } else if (line) {
      const help = 'write `# TITLE`, `- [ ] ITEM` for the agent or `- [?] ITEM` for a person';
      diagnostics.push(error('unknown-line', 'neither a title nor an item', help, ...place));
    }
  });
  if (!title) diagnostics.push(error('no-title', 'there is no title', 'begin the file with `# TITLE`'));
  if (!items.length) diagnostics.push(error('no-items', 'there are no items', 'add a line `- [ ] ITEM`'));
  return { title, items, diagnostics };
}

function definition(path, { title, items }) {
  const file = path.split('/').pop();
  const id = file.endsWith(SUFFIX) ? file.slice(0, -SUFFIX.length) : file;
  const ids = items.map((_, index) => `item-${index + 1}`);
  return {
    about: { id, title, description: `${items.length} items`, version: undefined, extra: '{}' },
    graph: {
      entry: 'item-1',
      nodes: items.map((one, index) => ({ id: ids[index], label: one.text, shape: one.person ? 'question' : 'action' })),
      edges: ids.slice(1).map((target, index) => ({ source: ids[index], target, label: '' })),
    },
    views: [],
    servers: [],
    instructions: undefined,
    sessions: { shared: false, idleSeconds: undefined, limit: undefined },
    // Handed back at every call. Small here; a large document is better laid out to be read in place.
    code: bytes({ title, items }),
  };
}

// --- replies

const output = (value, isError = false) => ({ headline: undefined, value: JSON.stringify(value), content: undefined, isError });

// A "no" that says in words what to do instead. It changes nothing.
const refusal = (code, message) => ({ code, message, entries: [], reply: output({ refused: code, message }, true) });

// --- a run: the state is a list that says of each item whether it is `open`, `done` or `denied`

function standing(code, state) {
  const { title, items } = JSON.parse(text(code));
  const marks = JSON.parse(state);
  return { title, items: items.map((one, index) => ({ ...one, mark: marks[index] ?? 'open' })) };
}

// The number of the first item of that mark, or 0.
const first = ({ items }, mark) => items.findIndex((one) => one.mark === mark) + 1;

function told({ title, items }, session) {
  const open = items.flatMap((one, index) =>
    one.mark === 'done' ? [] : [{ item: index + 1, text: one.text, by: one.person ? 'a person' : 'you' }],
  );
  const denied = first({ items }, 'denied') || undefined;
  const done = items.length - open.length;
  return output({ run: session.id, title, done, of: items.length, finished: !open.length, open, denied });
}

const entry = (number, kind) => ({ node: `item-${number}`, kind, input: undefined, branch: undefined, detail: undefined });

function turn(at, session, line) {
  const [denied, open] = [first(at, 'denied'), first(at, 'open')];
  let outcome;
  if (denied) outcome = { tag: 'err', val: { kind: 'denied', message: `a person said no to item ${denied}`, detail: undefined } };
  else if (!open) outcome = { tag: 'ok', val: JSON.stringify({ done: at.items.length }) };
  const next = outcome ? 0 : open;
  return {
    state: JSON.stringify(at.items.map((one) => one.mark)),
    entries: [line],
    remember: [],
    window: 0,
    progress: [],
    // What the session waits for: that the next item is done, as the agent or a person says.
    requests: next ? [request(at.items[next - 1], next)] : [],
    current: next ? [`item-${next}`] : [],
    outcome,
    reply: told(at, session),
  };
}

function request(one, number) {
  const schema = JSON.stringify({ type: 'boolean', title: 'done' });
  const val = { audience: one.person ? 'human' : 'agent', prompt: one.text, schema };
  return { id: `item-${number}`, need: { tag: 'answer', val }, deadline: undefined };
}

function checked(at, session, number) {
  const one = Number.isInteger(number) ? at.items[number - 1] : undefined;
  if (!one) throw refusal('no-such-item', `\`item\` is a number from 1 to ${at.items.length}`);
  if (one.mark === 'done') throw refusal('already-done', `item ${number} is done`);
  if (one.person) throw refusal('for-a-person', `only a person can say item ${number}`);
  one.mark = 'done';
  return turn(at, session, entry(number, 'checked'));
}

function said(at, session, reply) {
  if (reply.value.tag === 'err') throw refusal('unanswered', `nobody said it: ${reply.value.val.message}`);
  const number = Number(reply.request.replace('item-', ''));
  const yes = reply.value.val === 'true';
  at.items[number - 1].mark = yes ? 'done' : 'denied';
  return turn(at, session, entry(number, yes ? 'agreed' : 'denied'));
}

// --- tools: what an agent can call, and what each call means

function tool(name, description, properties, required, readOnly) {
  return {
    name,
    title: name.replaceAll('_', ' '),
    description,
    inputSchema: JSON.stringify({ type: 'object', properties, required }),
    outputSchema: undefined,
    readOnly,
    destructive: false,
    idempotent: readOnly,
    openWorld: false,
  };
}

function target(run) {
  if (typeof run !== 'string') throw refusal('no-run', 'say which `run`; {{tool}}_start gives one');
  const absent = refusal('no-such-run', `there is no run \`${run}\`; {{tool}}_list shows them`).reply;
  return { session: run, workflow: undefined, absent };
}

// --- the contract: every function of wit/engine.wit

export const engine = {
  describe: () => ({
    name: '{{name}}',
    version: '0.1.0',
    title: 'Checklists',
    files: [`*${SUFFIX}`],
    marks: ['- [ ]', '- [?]'],
    languages: [],
    schema: undefined,
    skill: SKILL,
  }),

  recognise(document) {
    try {
      const lines = text(document.bytes).split('\n');
      return document.path.endsWith(SUFFIX) && lines.some((line) => item(line)) ? [] : undefined;
    } catch {
      return undefined;
    }
  },

  compile({ main }) {
    const checklist = read(main.bytes);
    const { diagnostics } = checklist;
    return { definitions: diagnostics.length ? [] : [definition(main.path, checklist)], diagnostics };
  },

  tools(workflows) {
    const run = { type: 'string', description: 'the run that {{tool}}_start gave' };
    const number = { type: 'integer', minimum: 1, description: 'the number of the item that is done' };
    const checklist = { type: 'string', enum: workflows.map((one) => one.id), description: 'which checklist' };
    return [
      tool('{{tool}}_list', 'List the checklists, and the runs that are not finished.', {}, [], true),
      tool('{{tool}}_start', 'Begin a run of a checklist.', { checklist }, ['checklist'], false),
      tool('{{tool}}_check', 'Check one item off, after it was done.', { run, item: number }, ['run', 'item'], false),
      tool('{{tool}}_status', 'Show what is done and what is still open.', { run }, ['run'], true),
      tool('{{tool}}_trace', 'Show who checked what, and when.', { run }, ['run'], true),
    ];
  },

  route(call, workflows) {
    // The host has not checked the arguments.
    const args = JSON.parse(call.args) ?? {};
    switch (call.tool) {
      case '{{tool}}_list':
        return { tag: 'catalogue', val: { workflow: undefined, unfinished: true, limit: 20 } };
      case '{{tool}}_start':
        if (workflows.includes(args.checklist)) return { tag: 'start', val: args.checklist };
        throw refusal('no-such-checklist', `\`checklist\` is one of: ${workflows.join(', ')}`);
      case '{{tool}}_check':
        return { tag: 'answer', val: target(args.run) };
      case '{{tool}}_status':
        return { tag: 'status', val: target(args.run) };
      case '{{tool}}_trace':
        return { tag: 'trace', val: { target: target(args.run), after: undefined, limit: 100 } };
      default:
        throw refusal('no-such-tool', `there is no tool \`${call.tool}\``);
    }
  },

  catalogue: (call, workflows, runs) =>
    output({
      checklists: workflows.map((one) => ({ checklist: one.id, title: one.title, about: one.description })),
      unfinished: runs.map((one) => ({ run: one.session.id, checklist: one.workflow })),
    }),

  evaluate(language) {
    throw error('no-such-language', `checklists evaluate no \`${language}\``, undefined);
  },

  start: (code, session) => turn(standing(code, '[]'), session, entry(1, 'started')),

  answer(code, session, state, memory, event) {
    const at = standing(code, state);
    if (first(at, 'denied') || !first(at, 'open')) throw refusal('over', 'this run is over');
    switch (event.input.tag) {
      case 'call':
        return checked(at, session, (JSON.parse(event.input.val.args) ?? {}).item);
      case 'reply':
        return said(at, session, event.input.val);
      default:
        throw refusal('not-here', 'a run is begun once');
    }
  },

  status: (code, session, state) => told(standing(code, state), session),

  trace(code, session, state, journal) {
    const who = { agent: 'agent', human: 'person', operator: 'operator' };
    const entries = journal.entries.map(({ seq, at, source, entry: { kind, node } }) => ({
      seq,
      at: Number(at),
      who: who[source] ?? 'host',
      what: kind,
      item: node,
    }));
    return output({ run: session.id, total: journal.total, entries });
  },

  render(code, session, state, journal, view) {
    throw refusal('no-such-view', `there is no view \`${view}\``);
  },
};
