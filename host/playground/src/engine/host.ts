// THE turn, as on the host (host/src/session/advance.rs): route a call, ask the interpreter, add the lines, reply. What the
// host would carry out is left to the person at this page, who stands for the world outside.

import type { Catalogue } from "./catalogue.ts";
import type { Action, Call, Event, Input, Mishap, Moment, Output, Past, Reply, Source, Target } from "./contract.ts";
import type { Definition } from "./definition.ts";
import { Fault, type Guest, Refused } from "./guest.ts";
import { PAGE_ENTRIES, RUNS } from "./limits.ts";
import { Draft, type Head, type Open, type Run, type Step, due, head, kept, record, same } from "./session.ts";

/** Time and randomness: the only ones on the page. */
export interface Clock {
  now(): number;
  /** 64 fresh bits. */
  seed(): bigint;
  /** A fresh session identifier. */
  session(): string;
}

/** What became of a call or an answer. */
export interface Advanced { output: Output; session?: string; refused?: boolean }

interface Incoming { input: Input; source: Source }
type Started = { head: Head; draft: Draft; advanced: Advanced };

const words = (text: string): Output => ({ value: JSON.stringify(text), isError: true });

export class Host {
  /** All sessions, oldest first. */
  runs: Run[] = [];
  humanOnly = false;
  catalogue: Catalogue;
  /** The caller's own session of each workflow. */
  private readonly own = new Map<string, string>();
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly guest: Guest,
    private readonly clock: Clock,
    catalogue: Catalogue,
  ) {
    this.catalogue = catalogue;
  }

  /** A tool call of the agent, arguments as JSON text. */
  call(tool: string, args: string): Promise<Advanced> {
    return this.alone(async () => {
      const call = { tool, args };
      let action: Action;
      try {
        action = await this.guest.route(call, this.ids());
      } catch (thrown) {
        if (thrown instanceof Refused) return { output: thrown.refusal.reply, refused: true };
        throw thrown;
      }
      return this.act(call, action);
    });
  }

  /** Begins a session without a call. */
  open(workflow: string, args: string): Promise<Advanced> {
    return this.alone(async () => this.begun(await this.begin(workflow, { input: { tag: "open", val: args }, source: "agent" })));
  }

  /** The answer to an open request. Undefined if it is not open any more. */
  reply(session: string, asked: Open, reply: Reply, source: Source): Promise<Advanced | undefined> {
    return this.alone(async () => {
      const run = this.run(session);
      const now = run && head(run);
      const isIt = (r: Open) => r.id === asked.id && r.text === asked.text;
      if (!now?.requests.some(isIt)) return undefined;
      const draft = new Draft(now);
      await this.overdue(draft);
      if (!draft.head.requests.some(isIt)) {
        this.commit(draft);
        return undefined;
      }
      const advanced = await this.event(draft, { input: { tag: "reply", val: reply }, source });
      this.commit(draft);
      return advanced;
    });
  }

  /** Hands a session what it waited for from the clock. */
  sweep(session: string): Promise<void> {
    return this.alone(async () => {
      const run = this.run(session);
      const now = run && head(run);
      if (!now) return;
      const draft = new Draft(now);
      await this.overdue(draft);
      this.commit(draft);
    });
  }

  /** A session of its own that goes on from a line of another: the past is shared, the identifier is not. */
  fork(session: string, lines: number): Run | undefined {
    const run = this.run(session);
    if (!run) return undefined;
    const id = this.clock.session();
    const steps = run.steps.slice(0, lines).map((step): Step => ({ ...step, head: { ...step.head, session: id } }));
    const fork: Run = { name: this.name(), parent: { name: run.name, session, lines }, steps };
    this.runs = [...this.runs, fork];
    this.own.set(steps.at(-1)?.head.workflow ?? "", id);
    return fork;
  }

  /** What a call means, without making it: for finding out which tool begins a workflow. */
  async meaning(call: Call): Promise<Action | undefined> {
    try {
      return await this.guest.route(call, this.ids());
    } catch {
      return undefined;
    }
  }

  run = (session: string): Run | undefined => this.runs.find((run) => head(run)?.session === session);

  /** The trace in the dialect's own words. */
  trace(now: Head, journal: Run["steps"]): Promise<Output> {
    const entries = journal.flatMap((step) => kept(step.line)).slice(-PAGE_ENTRIES);
    return this.guest.trace(now.definition.code, record(now), now.state, { total: now.entries, entries });
  }

  private ids = () => this.catalogue.definitions.map((d) => d.about.id);
  private name = () => `Run ${this.runs.length + 1}`;

  /** One event at a time, in the order of arrival. */
  private alone<T>(work: () => Promise<T>): Promise<T> {
    const next = this.turn.then(work);
    this.turn = next.catch(() => undefined);
    return next;
  }

  private async act(call: Call, action: Action): Promise<Advanced> {
    switch (action.tag) {
      case "catalogue":
        return { output: await this.guest.catalogue(call, this.catalogue.definitions.map((d) => d.about), this.listed(action.val)) };
      case "start":
        return this.begun(await this.begin(action.val, { input: { tag: "call", val: call }, source: "agent" }));
      case "answer":
        return this.answer(action.val, () => ({ tag: "call", val: call }));
      case "recall":
        return this.answer(action.val.target, (at) => ({ tag: "recalled", val: { call, past: this.past(at, action.val) } }));
      case "status":
        return this.read(action.val, (at) => this.guest.status(at.definition.code, record(at), at.state));
      case "trace": {
        const { target, after, limit } = action.val;
        return this.read(target, (at) =>
          this.guest.trace(at.definition.code, record(at), at.state, this.page(at, after, limit)));
      }
      case "render": {
        const { target, name, args } = action.val;
        return this.read(target, (at) => this.view(at, name, args));
      }
    }
  }

  private async view(at: Head, name: string, args: string): Promise<Output> {
    const declared = at.definition.views.find((view) => view.name === name);
    const journal = declared?.journal ? this.page(at, undefined, PAGE_ENTRIES) : { total: at.entries, entries: [] };
    try {
      const text = await this.guest.render(at.definition.code, record(at), at.state, journal, name, args);
      return { value: JSON.stringify(text), isError: false };
    } catch (thrown) {
      if (thrown instanceof Refused) return thrown.refusal.reply;
      throw thrown;
    }
  }

  private listed(query: { workflow?: string; unfinished: boolean; limit: number } | undefined) {
    if (!query) return [];
    const heads = this.runs.map(head).filter((h) => h !== undefined);
    const wanted = heads.filter((h) => (query.workflow === undefined || h.workflow === query.workflow) && !(query.unfinished && h.outcome));
    wanted.sort((a, b) => b.changed - a.changed);
    return wanted.slice(0, Math.min(query.limit, RUNS)).map((h) => ({
      session: record(h), workflow: h.workflow, changed: BigInt(h.changed), entries: h.entries, current: [...h.current],
      outcome: h.outcome,
    }));
  }

  private fresh(workflow: string): Head {
    const definition = this.definition(workflow);
    const now = this.clock.now();
    return {
      session: this.clock.session(), workflow, definition, started: now, changed: now, humanOnly: this.humanOnly,
      lines: 0, entries: 0, memories: [], window: 0, state: "null", requests: [], current: [],
    };
  }

  private definition(workflow: string): Definition {
    const found = this.catalogue.definitions.find((d) => d.about.id === workflow);
    if (!found) throw new Fault(`the interpreter names the workflow \`${workflow}\`, which there is not`);
    return found;
  }

  /** The first event of a session; a refusal leaves none. */
  private async begin(workflow: string, incoming: Incoming): Promise<Started | Advanced> {
    const now = this.fresh(workflow);
    const draft = new Draft(now);
    const event = this.stamp(now, incoming);
    try {
      const turn = await this.guest.start(now.definition.code, record(now), event);
      draft.turn(event, turn);
      return { head: draft.head, draft, advanced: { output: turn.reply, session: now.session } };
    } catch (thrown) {
      if (thrown instanceof Refused) return { output: thrown.refusal.reply, refused: true };
      throw thrown;
    }
  }

  private begun(started: Started | Advanced): Advanced {
    if (!("draft" in started)) return started;
    const { draft, advanced } = started;
    this.runs = [...this.runs, { name: this.name(), steps: draft.added }];
    this.own.set(draft.head.workflow, draft.head.session);
    return advanced;
  }

  private async answer(target: Target, input: (at: Head) => Input): Promise<Advanced> {
    const found = this.target(target);
    if (found === "absent") return { output: target.absent ?? words(`unknown session '${target.session ?? ""}'`), refused: true };
    if (found === "none") {
      if (target.workflow === undefined) return { output: target.absent ?? words("unknown session ''"), refused: true };
      const started = await this.begin(target.workflow, { input: { tag: "open", val: "{}" }, source: "agent" });
      if (!("draft" in started)) return started;
      const advanced = await this.event(started.draft, { input: input(started.draft.head), source: "agent" });
      this.begun(started);
      return advanced;
    }
    const draft = new Draft(found);
    const incoming: Incoming = { input: input(found), source: "agent" };
    await this.overdue(draft);
    const advanced = await this.event(draft, incoming);
    this.commit(draft);
    return advanced;
  }

  /** The head of the session that a target means. */
  private target(target: Target): Head | "absent" | "none" {
    const id = target.session ?? (target.workflow === undefined ? undefined : this.own.get(target.workflow));
    if (id === undefined) return "none";
    const run = this.run(id);
    return (run && head(run)) ?? "absent";
  }

  private async read(target: Target, show: (at: Head) => Promise<Output>): Promise<Advanced> {
    const found = this.target(target);
    if (found === "absent") return { output: target.absent ?? words(`unknown session '${target.session ?? ""}'`), refused: true };
    if (found !== "none") return { output: await show(found), session: found.session };
    if (target.workflow === undefined) return { output: target.absent ?? words("unknown session ''"), refused: true };
    const started = await this.begin(target.workflow, { input: { tag: "open", val: "{}" }, source: "agent" });
    return "draft" in started ? { output: await show(started.draft.head) } : started;
  }

  /** Entries after a number, or the newest ones. */
  private page(at: Head, after: number | undefined, limit: number) {
    const wanted = Math.min(Math.max(limit, 1), PAGE_ENTRIES);
    const all = (this.run(at.session)?.steps ?? []).flatMap((step) => kept(step.line));
    const entries = after === undefined ? all.slice(-wanted) : all.filter((k) => k.seq > after).slice(0, wanted);
    return { total: at.entries, entries };
  }

  private past(at: Head, moment: Moment): Past | undefined {
    const run = this.run(moment.session ?? at.session);
    const other = run && head(run);
    if (!other || other.workflow !== at.workflow) return undefined;
    const seq = moment.seq ?? other.entries;
    const step = run.steps.find(({ line }) => kept(line).some((k) => k.seq === seq));
    const entry = step && kept(step.line).find((k) => k.seq === seq);
    if (!step || !entry) return undefined;
    return { session: record(other), entry, state: step.head.state, remembered: step.head.memories.length };
  }

  /** Timers and deadlines that have passed come before anything else. */
  private async overdue(draft: Draft) {
    const now = this.clock.now();
    const passed = (at: number | undefined) => at !== undefined && at <= now;
    const overdue = draft.head.requests.filter((r) => passed(due(r)));
    overdue.sort((a, b) => (a.deadline ?? 0) - (b.deadline ?? 0));
    for (const request of overdue) {
      if (!draft.head.requests.includes(request)) continue;
      // A timer fires unless its deadline came first, however late anybody looks.
      const rang = request.need.tag === "timer" && request.deadline === Number(request.need.val);
      const late = failure("timed-out", "nobody answered before the deadline");
      const value: Reply["value"] = rang ? { tag: "ok", val: "null" } : late;
      try {
        await this.event(draft, { input: { tag: "reply", val: { request: request.id, value } }, source: "clock" });
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown;
      }
    }
  }

  /** One event. An interpreter that breaks leaves a line that says so, and the session where it was. */
  private async event(draft: Draft, incoming: Incoming): Promise<Advanced> {
    const at = draft.head;
    const event = this.stamp(at, incoming);
    try {
      const turn = await this.guest.answer(at.definition.code, record(at), at.state, draft.memory(), event);
      draft.turn(event, turn);
      return { output: turn.reply, session: at.session };
    } catch (thrown) {
      if (thrown instanceof Refused) {
        draft.refusal(event, thrown.refusal);
        return { output: thrown.refusal.reply, session: at.session, refused: true };
      }
      if (thrown instanceof Fault && this.run(at.session)) {
        draft.fault(event, thrown.message);
        this.commit(draft);
      }
      throw thrown;
    }
  }

  private stamp(at: Head, { input, source }: Incoming): Event {
    return { input, source, at: BigInt(this.clock.now()), seed: this.clock.seed(), seq: at.entries + 1 };
  }

  private commit(draft: Draft) {
    const { session } = draft.head;
    const added = draft.added.splice(0);
    if (added.length === 0) return;
    this.runs = this.runs.map((run) => (head(run)?.session === session ? { ...run, steps: [...run.steps, ...added] } : run));
  }
}

/** A reply that says why there is no value. */
export const failure = (kind: Mishap, message: string): Reply["value"] => ({ tag: "err", val: { kind, message } });

export { same };
