// Where the boxes of a drawing go: dagre lays them out from top to bottom, texts are measured first.

import { Graph, layout as arrange } from "@dagrejs/dagre";
import type { Graph as Drawing, Node } from "../engine/contract.ts";

export interface Box { node: Node; lines: string[]; x: number; y: number; width: number; height: number }
export interface Arrow { source: string; target: string; label: string; path: string; x: number; y: number; width: number; right: number }
export interface Layout { boxes: Box[]; arrows: Arrow[]; width: number; height: number }

const FONT = "13px system-ui, sans-serif";
const SMALL = "11px system-ui, sans-serif";
const LINE = 17;
const LABEL_MAX = 24;
const EDGE_LABEL_MAX = 18;

let canvas: CanvasRenderingContext2D | null | undefined;

function measured(text: string, font: string): number {
  canvas ??= document.createElement("canvas").getContext("2d");
  if (!canvas) return text.length * 7;
  canvas.font = font;
  return canvas.measureText(text).width;
}

const cut = (text: string, most: number) => {
  const points = [...text];
  return points.length > most ? `${points.slice(0, most - 1).join("")}…` : text;
};

/** Positions of everything in a drawing. */
export function layout(drawing: Drawing): Layout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 26, ranksep: 38, edgesep: 14, marginx: 14, marginy: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  const boxes = new Map<string, Box>();
  for (const node of drawing.nodes) {
    const lines = (node.label || node.id).split("\n").slice(0, 3).map((line) => cut(line, LABEL_MAX));
    const text = Math.max(...lines.map((line, n) => measured(line, n === 0 ? FONT : SMALL)));
    const slanted = node.shape === "branch" || node.shape === "fork";
    const width = Math.max(64, text + (slanted ? 52 : 28));
    const height = lines.length * LINE + 16;
    boxes.set(node.id, { node, lines, x: 0, y: 0, width, height });
    graph.setNode(node.id, { width, height });
  }
  const edges = drawing.edges.filter((edge) => boxes.has(edge.source) && boxes.has(edge.target));
  edges.forEach((edge, n) => {
    const label = cut(edge.label, EDGE_LABEL_MAX);
    const width = label === "" ? 0 : measured(label, SMALL) + 8;
    graph.setEdge(edge.source, edge.target, { width, height: label === "" ? 0 : 16, labelpos: "c" }, String(n));
  });
  arrange(graph);
  for (const [id, box] of boxes) {
    const { x, y } = graph.node(id) as { x: number; y: number };
    Object.assign(box, { x, y });
  }
  const arrows = edges.map((edge, n): Arrow => {
    const own = edge.source === edge.target ? boxes.get(edge.source) : undefined;
    if (own) return loop(own, cut(edge.label, EDGE_LABEL_MAX));
    const laid = graph.edge(edge.source, edge.target, String(n)) as { points: Point[]; x?: number; y?: number; width: number };
    return {
      source: edge.source, target: edge.target, label: cut(edge.label, EDGE_LABEL_MAX), path: curve(laid.points),
      x: laid.x ?? 0, y: laid.y ?? 0, width: laid.width,
      right: Math.max((laid.x ?? 0) + laid.width / 2, ...laid.points.map((point) => point.x)),
    };
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  // A way from a box to itself goes out beyond what dagre says is the width.
  return { boxes: [...boxes.values()], arrows, width: Math.max(width, ...arrows.map((arrow) => arrow.right + 14)), height };
}

/** A way from a box to itself, on its right. */
function loop({ node: { id }, x, y, width: w, height: h }: Box, label: string): Arrow {
  const [from, out, up] = [x + w / 2, x + w / 2 + 34, h / 4];
  const path = `M${from},${y - up}C${out},${y - h * 0.8} ${out},${y + h * 0.8} ${from},${y + up}`;
  const width = label === "" ? 0 : measured(label, SMALL) + 8;
  const right = out + width;
  return { source: id, target: id, label, path, x: out - 4 + width / 2, y, width, right };
}

interface Point { x: number; y: number }

/** A smooth line through the middle of each pair of points. */
function curve(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const parts = [`M${at(first)}`];
  rest.forEach((point, n) => {
    const next = rest[n + 1];
    if (!next) parts.push(`L${at(point)}`);
    else parts.push(`Q${at(point)} ${at({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`);
  });
  return parts.join("");
}

const at = ({ x, y }: Point) => `${x.toFixed(1)},${y.toFixed(1)}`;
