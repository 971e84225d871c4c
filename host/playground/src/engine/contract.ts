// The contract's records as jco hands them over (wit/engine.wit): records are objects with camel-case members, an option is
// a value or undefined, a variant is {tag, val}, u64 is a bigint. Version 0.2.0 adds to 0.1.0 and changes nothing of it.

export type Severity = "error" | "warning" | "note";
export type Shape = "action" | "branch" | "question" | "judgment" | "fork" | "terminal";
export type Audience = "human" | "agent" | "either";
export type Source = "agent" | "human" | "host" | "upstream" | "model" | "clock" | "operator";
export type Mishap = "declined" | "cancelled" | "timed-out" | "denied" | "unavailable" | "failed" | "lost";

export interface Document { path: string; bytes: Uint8Array }
export interface Bundle { main: Document; companions: Document[] }
export interface Position { line: number; column: number }
export interface Span { start: Position; end: Position }
export interface Diagnostic {
  severity: Severity; code: string; message: string;
  help?: string; subject?: string; path?: string; span?: Span;
}

export interface Workflow { id: string; title: string; description: string; version?: string; extra: string }
export interface Node { id: string; label: string; shape: Shape }
export interface Edge { source: string; target: string; label: string }
export interface Graph { entry: string; nodes: Node[]; edges: Edge[] }
export interface View {
  name: string; title: string; description: string; parameters: string[]; mime: string; prompt: boolean; journal: boolean;
}
export interface Definition {
  about: Workflow; graph: Graph; views: View[]; servers: { name: string; spec: string }[]; instructions?: string;
  sessions: { shared: boolean; idleSeconds?: number; limit?: number }; code: Uint8Array;
}
export interface Compiled { definitions: Definition[]; diagnostics: Diagnostic[] }

export interface Session { id: string; started: bigint; definitionHash: string; humanOnly: boolean }
export interface Failure { kind: Mishap; message: string; detail?: string }
export type Result<T, E> = { tag: "ok"; val: T } | { tag: "err"; val: E };
export interface Question { audience: Audience; prompt: string; schema: string }
export type Need =
  | { tag: "answer"; val: Question }
  | { tag: "tool"; val: { server?: string; tool: string; args: string } }
  | { tag: "tool-list"; val: string[] }
  | { tag: "completion"; val: string }
  | { tag: "timer"; val: bigint }
  | { tag: "workflow"; val: { interpreter?: string; workflow: string; args: string } };
export interface Request { id: string; need: Need; deadline?: bigint }

export interface Call { tool: string; args: string }
export interface Reply { request: string; value: Result<string, Failure> }
export interface Entry { node: string; kind: string; input?: string; branch?: string; detail?: string }
export interface Kept { seq: number; at: bigint; source: Source; entry: Entry }
export interface Past { session: Session; entry: Kept; state: string; remembered: number }
export type Input =
  | { tag: "open"; val: string }
  | { tag: "call"; val: Call }
  | { tag: "recalled"; val: { call: Call; past?: Past } }
  | { tag: "reply"; val: Reply };
export interface Event { input: Input; source: Source; at: bigint; seed: bigint; seq: number }
export interface Journal { total: number; entries: Kept[] }
export interface Memory { total: number; items: string[] }

export interface Output { headline?: string; value: string; content?: string; isError: boolean }
export interface Turn {
  state: string; entries: Entry[]; remember: string[]; window: number; progress: string[]; requests: Request[];
  current: string[]; outcome?: Result<string, Failure>; reply: Output;
}
export interface Refusal { code: string; message: string; entries: Entry[]; reply: Output }

export interface Interpreter {
  name: string; version: string; title: string; files: string[]; marks: string[]; languages: string[]; schema?: string;
  /** Since 0.2.0: how to write a document, for a model. */
  skill?: string;
}
export interface Tool {
  name: string; title: string; description: string; inputSchema: string; outputSchema?: string;
  readOnly: boolean; destructive: boolean; idempotent: boolean; openWorld: boolean;
}
export interface Target { session?: string; workflow?: string; absent?: Output }
export interface Moment { target: Target; session?: string; seq?: number }
export interface RunQuery { workflow?: string; unfinished: boolean; limit: number }
export interface Run {
  session: Session; workflow: string; changed: bigint; entries: number; current: string[];
  outcome?: Result<string, Failure>; unreadable?: string;
}
export type Action =
  | { tag: "catalogue"; val?: RunQuery }
  | { tag: "start"; val: string }
  | { tag: "answer"; val: Target }
  | { tag: "recall"; val: Moment }
  | { tag: "status"; val: Target }
  | { tag: "trace"; val: { target: Target; after?: number; limit: number } }
  | { tag: "render"; val: { target: Target; name: string; args: string } };

/** The functions of the contract, as a component exports them. A `result` gives its value, or throws the other one. */
export interface Engine {
  describe(): Interpreter;
  recognise(document: Document): string[] | undefined;
  compile(bundle: Bundle): Compiled;
  tools(workflows: Workflow[]): Tool[];
  route(call: Call, workflows: string[]): Action;
  catalogue(call: Call, workflows: Workflow[], runs: Run[]): Output;
  evaluate(language: string, expression: string, context: string): string;
  start(code: Uint8Array, session: Session, event: Event): Turn;
  answer(code: Uint8Array, session: Session, state: string, memory: Memory, event: Event): Turn;
  status(code: Uint8Array, session: Session, state: string): Output;
  trace(code: Uint8Array, session: Session, state: string, journal: Journal): Output;
  render(code: Uint8Array, session: Session, state: string, journal: Journal, view: string, args: string): string;
}
export type FunctionName = keyof Engine;

/** The name of the interface in a component's exports, whatever its version. */
export const INTERFACE = /^wfhost:engine\/engine@(\d+\.\d+\.\d+)$/;
/** Versions of the contract that this page speaks. */
export const VERSIONS = ["0.1.0", "0.2.0"];
