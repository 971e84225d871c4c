// Sessions as the host keeps them (host/src/session): heads, journal lines, and a head on its way while events are added.
// Here each line is kept with the head after it, so that any moment can be shown again and forked.

import type { Entry, Event, Failure, Kept, Memory, Need, Output, Refusal, Request, Result, Session, Turn } from "./contract.ts";
import type { Definition } from "./definition.ts";
import { Fault } from "./guest.ts";
import { type Json, Num, type Obj, parse, tryParse, write } from "./json.ts";
import { STATE_BYTES } from "./limits.ts";
import { type Patch, between } from "./patch.ts";

/** A request that waits, its need as the journal writes it, and when the clock answers it. */
export interface Open { id: string; need: Need; text: string; deadline?: number; sent?: number }

/** Where a session stands after a line. Never changed, only followed by another. */
export interface Head {
  readonly session: string;
  readonly workflow: string;
  readonly definition: Definition;
  readonly started: number;
  readonly changed: number;
  readonly humanOnly: boolean;
  readonly lines: number;
  readonly entries: number;
  readonly memories: readonly string[];
  readonly window: number;
  readonly state: string;
  readonly requests: readonly Open[];
  readonly current: readonly string[];
  readonly outcome?: Result<string, Failure>;
}

/** A journal line. One of `turn`, `refusal` and `fault` is there. */
export interface Line {
  readonly n: number;
  readonly at: number;
  readonly seq: number;
  readonly event: Event;
  readonly turn?: Turn;
  readonly refusal?: Refusal;
  readonly fault?: string;
  /** What changed in the state. */
  readonly change?: Patch;
}

export interface Step { readonly line: Line; readonly head: Head }

/** A session with all its past, or a fork of one. */
export interface Run {
  readonly name: string;
  readonly parent?: { readonly name: string; readonly session: string; readonly lines: number };
  readonly steps: readonly Step[];
}

export const head = (run: Run): Head | undefined => run.steps.at(-1)?.head;

/** What a line gave to whoever caused it. */
export const replyOf = (line: Line): Output | undefined => line.turn?.reply ?? line.refusal?.reply;

export const entriesOf = (line: Line): Entry[] => line.turn?.entries ?? line.refusal?.entries ?? [];

/** A session as the contract names it. */
export const record = (head: Head): Session => ({
  id: head.session,
  started: BigInt(head.started),
  definitionHash: head.definition.digest,
  humanOnly: head.humanOnly,
});

/** The entries on a line, numbered and stamped. */
export const kept = (line: Line): Kept[] =>
  entriesOf(line).map((entry, n) => ({ seq: line.seq + n, at: BigInt(line.at), source: line.event.source, entry }));

/** A need as the journal writes it. */
export function needText(need: Need): string {
  const object = (members: [string, Json][]): Obj => new Map(members);
  const [tag, body] = ((): [string, Json] => {
    switch (need.tag) {
      case "answer":
        return ["answer", object([["audience", need.val.audience], ["prompt", need.val.prompt], ["schema", parse(need.val.schema)]])];
      case "tool":
        return ["tool", object([["server", need.val.server ?? null], ["tool", need.val.tool], ["args", parse(need.val.args)]])];
      case "tool-list":
        return ["tool-list", need.val];
      case "completion":
        return ["completion", parse(need.val)];
      case "timer":
        return ["timer", new Num(String(need.val))];
      case "workflow": {
        const { interpreter, workflow, args } = need.val;
        return ["workflow", object([["interpreter", interpreter ?? null], ["workflow", workflow], ["args", parse(args)]])];
      }
    }
  })();
  return write(object([[tag, body]]));
}

/** Whether two are the same request, so that the one that was open goes on. */
export const same = (one: Open, other: Open) =>
  one.id === other.id && one.text === other.text && one.deadline === other.deadline;

/** When the clock is to end a request; undefined if never, or if it has tried and was refused. */
export const due = (open: Open): number | undefined =>
  open.deadline !== undefined && (open.sent === undefined || open.sent < open.deadline) ? open.deadline : undefined;

/** A run on its way: lines are added, and all of them become the truth at once, or none. */
export class Draft {
  readonly added: Step[] = [];
  private readonly before: readonly Open[];

  constructor(public head: Head) {
    this.before = head.requests;
  }

  /** Requests that are open now and were not when it began. */
  opened(): Open[] {
    return this.head.requests.filter((now) => !this.before.some((then) => same(then, now)));
  }

  /** The memories that the next event is handed. */
  memory(): Memory {
    const { memories, window } = this.head;
    return { total: memories.length, items: window > 0 ? memories.slice(-Math.min(window, memories.length)) : [] };
  }

  turn(event: Event, turn: Turn) {
    const requests = checked(turn);
    const state = trimmed(turn.state);
    if (new TextEncoder().encode(state).length > STATE_BYTES) {
      throw new Fault(`the interpreter's state is larger than ${STATE_BYTES >> 20} MiB`);
    }
    const change = between(tryParse(this.head.state) ?? null, json(state, "state"));
    for (const text of turn.remember) json(text, "memory");
    checkEntries(turn.entries);
    json(turn.reply.value, "reply");
    const goingOn = (now: Open) => this.head.requests.find((then) => same(then, now)) ?? now;
    this.push({ event, turn, change }, turn.entries.length, {
      state,
      memories: turn.remember.length > 0 ? [...this.head.memories, ...turn.remember.map(trimmed)] : this.head.memories,
      window: turn.window,
      requests: requests.map(goingOn),
      current: turn.current,
      outcome: turn.outcome,
    });
  }

  refusal(event: Event, refusal: Refusal) {
    checkEntries(refusal.entries);
    json(refusal.reply.value, "reply");
    const { input } = event;
    // The clock has said its word: what was not ended by it stays open, and is not ended again.
    const ended = (open: Open) => input.tag === "reply" && event.source === "clock" && open.id === input.val.request;
    const requests = this.head.requests.map((open) => (ended(open) ? { ...open, sent: Number(event.at) } : open));
    this.push({ event, refusal }, refusal.entries.length, { requests });
  }

  fault(event: Event, fault: string) {
    this.push({ event, fault }, 0, {});
  }

  private push(said: Pick<Line, "event" | "turn" | "refusal" | "fault" | "change">, entries: number, moved: Partial<Head>) {
    const { head } = this;
    const at = Number(said.event.at);
    const line: Line = { n: head.lines + 1, at, seq: head.entries + 1, ...said };
    this.head = { ...head, ...moved, lines: line.n, entries: head.entries + entries, changed: at };
    this.added.push({ line, head: this.head });
  }
}

function checkEntries(entries: Entry[]) {
  for (const text of entries.flatMap(({ input, detail }) => [input, detail])) if (text !== undefined) json(text, "entry");
}

function checked(turn: Turn): Open[] {
  if (turn.outcome && turn.requests.length > 0) {
    throw new Fault("the interpreter broke a rule: it ends the session and leaves requests open");
  }
  const ids = new Set(turn.requests.map((r) => r.id));
  if (ids.size < turn.requests.length) throw new Fault("the interpreter broke a rule: two of its requests have one id");
  return turn.requests.map(open);
}

function open(request: Request): Open {
  const moments = [request.deadline, request.need.tag === "timer" ? request.need.val : undefined];
  const deadlines = moments.filter((moment) => moment !== undefined).map(Number);
  let text: string;
  try {
    text = needText(request.need);
  } catch {
    throw new Fault("the interpreter broke a rule: a request holds a text that should be JSON and is not");
  }
  return { id: request.id, need: request.need, text, deadline: deadlines.length > 0 ? Math.min(...deadlines) : undefined };
}

function json(text: string, what: string): Json {
  try {
    return parse(text);
  } catch (error) {
    throw new Fault(`the interpreter broke a rule: its ${what} should be JSON and is not: ${(error as Error).message}`);
  }
}

const trimmed = (text: string) => text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, "");
