// Colours for YAML and JSON, line by line over what is visible: comments, keys, texts, numbers and words. A grammar would cost
// more than all else in the editor, and a document's mistakes are found by its interpreter.

import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

const TOKENS: [string, RegExp][] = [
  ["comment", /(?:^|(?<=\s))#.*/y],
  ["key", /(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\p{L}\p{N}_$.*\/-][\p{L}\p{N}_$.*\/ -]*?)(?=\s*:(?:\s|$))/uy],
  ["text", /"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'/y],
  ["hole", /\{\{.*?\}\}/y],
  ["number", /(?<![\p{L}\p{N}_.-])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_.-])/uy],
  ["word", /(?<![\p{L}\p{N}_-])(?:true|false|null)(?![\p{L}\p{N}_-])/uy],
];
const MARKS = new Map(TOKENS.map(([name]) => [name, Decoration.mark({ class: `t-${name}` })]));
/** Characters of a line past which it is left plain. */
const LINE_MAX = 2_000;

function colours(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      if (line.length <= LINE_MAX) tokens(line.text, (name, start, end) => {
        const mark = MARKS.get(name);
        if (mark) builder.add(line.from + start, line.from + end, mark);
      });
      at = line.to + 1;
    }
  }
  return builder.finish();
}

function tokens(text: string, add: (name: string, start: number, end: number) => void) {
  for (let at = 0; at < text.length; ) {
    const found = TOKENS.map(([name, pattern]) => {
      pattern.lastIndex = at;
      return [name, pattern.exec(text)?.[0].length ?? 0] as const;
    }).find(([, length]) => length > 0);
    if (found) add(found[0], at, at + found[1]);
    if (found) at += found[1];
    else at += /^[\p{L}\p{N}_]+|^[^]/u.exec(text.slice(at))?.[0].length ?? 1;
  }
}

export const highlighting = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = colours(view);
    }
    update(update: ViewUpdate) {
      if (update.docChanged || update.viewportChanged) this.decorations = colours(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);
