// The editor: CodeMirror with the findings underlined and marked beside the line. Tab is left to the keyboard's user, who
// leaves the editor with it; Ctrl-] and Ctrl-[ indent.

import {
  cursorDocEnd, cursorDocStart, cursorPageDown, cursorPageUp, history, historyKeymap, selectAll, selectDocEnd, selectDocStart,
  selectPageDown, selectPageUp,
} from "@codemirror/commands";
import { EditorSelection, EditorState, type Extension, RangeSet, StateEffect, StateField, type Text } from "@codemirror/state";
import {
  Decoration, type DecorationSet, EditorView, GutterMarker, gutter, highlightActiveLine, keymap, lineNumbers,
} from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import type { Position } from "../engine/contract.ts";
import type { Finding } from "../engine/catalogue.ts";
import { highlighting } from "./highlight.ts";

interface Props {
  path: string;
  text: string;
  findings: Finding[];
  edit: (text: string) => void;
  /** Where the reader wants to be; each request is another object. */
  place?: { position: Position };
}

const findingsSet = StateEffect.define<Finding[]>();

/** Where a one-based position in scalar values lies in the text. */
function offset(doc: Text, { line, column }: Position): number {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  let units = 0;
  let left = column - 1;
  for (const c of at.text) {
    if (left <= 0) break;
    left -= 1;
    units += c.length;
  }
  return at.from + units;
}

function range(doc: Text, finding: Finding): [number, number] {
  const { start, end } = finding.span ?? { start: { line: 1, column: 1 }, end: { line: 1, column: 1 } };
  const from = offset(doc, start);
  const line = doc.lineAt(from);
  const to = Math.max(offset(doc, end), from);
  // A place without length is shown on the rest of its line.
  return to > from ? [from, to] : [from, Math.max(line.to, from)];
}

const underlines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let now = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(findingsSet)) continue;
      const { doc } = transaction.state;
      const made = effect.value.map((finding) => {
        const [from, to] = range(doc, finding);
        const attributes = { class: `mark ${finding.severity}`, title: finding.message };
        return to > from ? Decoration.mark({ attributes }).range(from, to) : Decoration.line({ attributes }).range(from);
      });
      now = Decoration.set(made, true);
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const RANK = { error: 0, warning: 1, note: 2 };

class Dot extends GutterMarker {
  constructor(private readonly finding: Finding) {
    super();
  }
  override toDOM() {
    const dot = document.createElement("span");
    dot.className = `dot ${this.finding.severity}`;
    dot.title = this.finding.message;
    return dot;
  }
}

const dots = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(marks, transaction) {
    let now = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(findingsSet)) continue;
      const { doc } = transaction.state;
      const worst = new Map<number, Finding>();
      for (const finding of effect.value) {
        const at = doc.lineAt(range(doc, finding)[0]).from;
        const other = worst.get(at);
        if (!other || RANK[finding.severity] < RANK[other.severity]) worst.set(at, finding);
      }
      now = RangeSet.of([...worst].map(([at, finding]) => new Dot(finding).range(at)), true);
    }
    return now;
  },
});

/** A new line begins where this one does. */
function newline({ state, dispatch }: EditorView): boolean {
  const change = state.changeByRange((range) => {
    const { text, from } = state.doc.lineAt(range.from);
    const indent = /^\s*/.exec(text.slice(0, range.from - from))?.[0] ?? "";
    const insert = state.lineBreak + indent;
    return { changes: { ...range, insert }, range: EditorSelection.cursor(range.from + insert.length) };
  });
  dispatch(state.update(change, { scrollIntoView: true, userEvent: "input" }));
  return true;
}

/** The lines of the selection two columns to the right, or to the left. */
const indent = (by: 1 | -1) => ({ state, dispatch }: EditorView): boolean => {
  const changes: { from: number; to?: number; insert?: string }[] = [];
  for (const { from, to } of state.selection.ranges) {
    for (let at = from; at <= to; ) {
      const line = state.doc.lineAt(at);
      const spaces = /^ {0,2}/.exec(line.text)?.[0].length ?? 0;
      if (by === 1) changes.push({ from: line.from, insert: "  " });
      else if (spaces > 0) changes.push({ from: line.from, to: line.from + spaces });
      at = line.to + 1;
    }
  }
  dispatch(state.update({ changes, userEvent: "input.indent" }));
  return true;
};

// The browser moves by characters, words and lines itself; it does not know of text that is not drawn.
const keys = keymap.of([
  { key: "Enter", run: newline },
  { key: "Mod-]", run: indent(1) },
  { key: "Mod-[", run: indent(-1) },
  { key: "Mod-a", run: selectAll },
  { key: "PageUp", run: cursorPageUp, shift: selectPageUp },
  { key: "PageDown", run: cursorPageDown, shift: selectPageDown },
  { key: "Mod-Home", run: cursorDocStart, shift: selectDocStart },
  { key: "Mod-End", run: cursorDocEnd, shift: selectDocEnd },
  ...historyKeymap,
]);

function extensions(path: string, edit: (text: string) => void): Extension[] {
  return [
    lineNumbers(),
    gutter({ class: "dots", markers: (view) => view.state.field(dots) }),
    history(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    EditorState.tabSize.of(2),
    underlines,
    dots,
    highlighting,
    keys,
    EditorView.contentAttributes.of({ "aria-label": `Document ${path}`, "aria-describedby": "findings" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) edit(update.state.doc.toString());
    }),
  ];
}

/** The text is that of the beginning: whoever has another one makes another editor, by its key. */
export function Editor({ path, text, findings, edit, place }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const changed = useRef(edit);
  changed.current = edit;

  useEffect(() => {
    const state = EditorState.create({ doc: text, extensions: extensions(path, (now) => changed.current(now)) });
    const made = new EditorView({ state, parent: box.current ?? document.body });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: findingsSet.of(findings) });
  }, [findings]);

  useEffect(() => {
    const { current } = view;
    if (!current || !place) return;
    const anchor = offset(current.state.doc, place.position);
    current.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    current.focus();
  }, [place]);

  return <div class="editor" ref={box} />;
}
