// The drawing of the workflow: where the run stands, and which boxes it has passed. Readers of a screen get the same as a list.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Graph, Shape } from "../engine/contract.ts";
import { NODES_DRAWN } from "../engine/limits.ts";
import { type Box, layout } from "./layout.ts";

interface Props { title: string; graph: Graph; current: readonly string[]; passed: ReadonlySet<string>; pick: (id: string) => void }

const LEAST_SCALE = 0.7;

export function Drawing({ title, graph, current, passed, pick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  const large = graph.nodes.length > NODES_DRAWN;
  const laid = useMemo(() => (large ? undefined : layout(graph)), [graph, large]);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setRoom(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [large]);

  const scale = laid && room > 0 ? Math.min(1, Math.max(LEAST_SCALE, room / laid.width)) : 1;

  // Only the drawing itself is scrolled: the page stays where its reader is.
  useEffect(() => {
    const element = box.current;
    const at = laid?.boxes.find((b) => current.includes(b.node.id));
    if (!element || !at) return;
    element.scrollTo({ left: at.x * scale - element.clientWidth / 2, top: at.y * scale - element.clientHeight / 2 });
  }, [current, laid, scale]);

  return (
    <>
      {laid ? (
        <div class="canvas" ref={box} tabIndex={0} role="group" aria-label="Drawing, can be scrolled">
          <svg aria-hidden="true" width={laid.width * scale} height={laid.height * scale} viewBox={`0 0 ${laid.width} ${laid.height}`}>
            <defs>
              <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
                <path d="M0,0 8,4 0,8z" class="tip" />
              </marker>
            </defs>
            {laid.arrows.map((arrow, n) => <path key={n} class="arrow" d={arrow.path} marker-end="url(#tip)" />)}
            {laid.arrows.map((arrow, n) => arrow.label !== "" && (
              <g key={n} class="label">
                <rect x={arrow.x - arrow.width / 2} y={arrow.y - 8} width={arrow.width} height={16} rx={4} />
                <text x={arrow.x} y={arrow.y + 4}>{arrow.label}</text>
              </g>
            ))}
            {laid.boxes.map((b) => (
              <g key={b.node.id} class={`node ${b.node.shape}${current.includes(b.node.id) ? " current" : passed.has(b.node.id) ? " passed" : ""}${graph.entry === b.node.id ? " entry" : ""}`}
                transform={`translate(${b.x},${b.y})`} onClick={() => pick(b.node.id)}>
                <Outline box={b} />
                {b.lines.map((line, n) => (
                  <text key={n} class={n === 0 ? "first" : "more"} y={(n - (b.lines.length - 1) / 2) * 17 + 4}>{line}</text>
                ))}
              </g>
            ))}
          </svg>
        </div>
      ) : (
        <p class="hint" ref={box}>The workflow has {graph.nodes.length} nodes; up to {NODES_DRAWN} are drawn. The list below the drawing has them all for readers of a screen.</p>
      )}
      <Told title={title} graph={graph} current={current} passed={passed} pick={pick} />
    </>
  );
}

function Outline({ box: { node, width: w, height: h } }: { box: Box }) {
  const [x, y] = [-w / 2, -h / 2];
  const slant = 14;
  switch (node.shape) {
    case "branch":
    case "fork": {
      const points = [[x, 0], [x + slant, y], [-x - slant, y], [-x, 0], [-x - slant, -y], [x + slant, -y]];
      return <polygon class="shape" points={points.map((p) => p.join(",")).join(" ")} />;
    }
    case "judgment":
      return <><rect class="shape" x={x} y={y} width={w} height={h} rx={4} /><path class="inner" d={`M${x + 6},${y}V${-y}M${-x - 6},${y}V${-y}`} /></>;
    case "question":
      return <rect class="shape" x={x} y={y} width={w} height={h} rx={12} />;
    case "terminal":
      return <rect class="shape" x={x} y={y} width={w} height={h} rx={h / 2} />;
    case "action":
      return <rect class="shape" x={x} y={y} width={w} height={h} rx={3} />;
  }
}

const KIND: Record<Shape, string> = {
  action: "action", branch: "branch", question: "question", judgment: "judgment", fork: "fork", terminal: "end",
};

/** The drawing for readers of a screen, and for the keyboard: each node with what it leads to, and the way to its text. */
function Told({ title, graph, current, passed, pick }: Props) {
  const name = (id: string) => graph.nodes.find((node) => node.id === id)?.label.split("\n")[0] ?? id;
  return (
    <details class="told">
      <summary>As a list</summary>
      <ul aria-label={`Nodes of ${title}`}>
        {graph.nodes.slice(0, 5_000).map((node) => {
          const ways = graph.edges.filter((edge) => edge.source === node.id);
          const here = current.includes(node.id);
          return (
            <li key={node.id} aria-current={here ? "step" : undefined} class={here ? "here" : ""}>
              <button type="button" class="quiet" onClick={() => pick(node.id)}>{name(node.id)}</button>{" "}
              <span class="dim">
                {KIND[node.shape]}{here ? ", the run stands here" : passed.has(node.id) ? ", passed" : ""}
                {ways.length > 0 && <> → {ways.map((way) => (way.label ? `${way.label}: ${name(way.target)}` : name(way.target))).join("; ")}</>}
              </span>
            </li>
          );
        })}
      </ul>
    </details>
  );
}
