// Where the operators of the graph go: sized by what they show, laid out in layers by dagre.

import dagre from "@dagrejs/dagre";
import type { GraphEdge, GraphNode } from "./types";

export interface Box {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  shown: number; // parts
}

export interface Wire {
  source: string;
  target: string;
  points: { x: number; y: number }[];
  label: { x: number; y: number };
}

export interface Layout {
  width: number;
  height: number;
  boxes: Map<string, Box>;
  wires: Wire[];
}

export const BOX_WIDTH = 196;
export const PART_HEIGHT = 17;
export const HEAD_HEIGHT = 48;
export const FOOT_HEIGHT = 24;
const LABEL_WIDTH = 44;
const LABEL_HEIGHT = 14;
const MOST_PARTS = 5;
const MARGIN = 16;
const ROOT = "before all streams"; // no operator has this id

export function partsShown(node: GraphNode): number {
  return node.kind === "deliver" ? 0 : Math.min(node.parts.length, MOST_PARTS);
}

function heightOf(node: GraphNode): number {
  const shown = partsShown(node);
  const hidden = node.parts.length + node.more_parts - shown > 0 && shown > 0 ? 1 : 0;
  return HEAD_HEIGHT + (shown ? (shown + hidden) * PART_HEIGHT + 6 : 0) + FOOT_HEIGHT;
}

export function layOut(nodes: GraphNode[], edges: GraphEdge[], direction: "LR" | "TB"): Layout {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: direction, nodesep: 28, ranksep: direction === "LR" ? 46 : 48, edgesep: 14, marginx: 16, marginy: 16 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const each of nodes) graph.setNode(each.id, { width: BOX_WIDTH, height: heightOf(each) });
  // Streams begin together: an operator that is not drawn stands before all of them.
  graph.setNode(ROOT, { width: 1, height: 1 });
  for (const each of nodes) if (each.kind === "source") graph.setEdge(ROOT, each.id, { weight: 50, width: 0, height: 0 });
  const known = new Set(nodes.map((each) => each.id));
  for (const each of edges) {
    if (known.has(each.source) && known.has(each.target)) graph.setEdge(each.source, each.target, { width: 36, height: 14, labelpos: "c" });
  }
  dagre.layout(graph);
  const isAcross = direction === "LR";
  const shift = isAcross ? "x" : "y";
  const least = Math.min(...nodes.map((each) => graph.node(each.id)[shift] - (isAcross ? BOX_WIDTH : heightOf(each)) / 2), 1e9) - MARGIN;
  const boxes = new Map<string, Box>();
  for (const each of nodes) {
    const { x, y, width, height } = graph.node(each.id);
    boxes.set(each.id, {
      id: each.id, x: x - width / 2 - (isAcross ? least : 0), y: y - height / 2 - (isAcross ? 0 : least), width, height, shown: partsShown(each),
    });
  }
  const wires = graph
    .edges()
    .filter((each) => each.v !== ROOT)
    .map((each) => {
      const { points, x, y } = graph.edge(each);
      const moved = points.slice(1, -1).map((point) => ({ x: point.x - (isAcross ? least : 0), y: point.y - (isAcross ? 0 : least) }));
      return { source: each.v, target: each.w, points: moved, label: { x: (x ?? 0) - (isAcross ? least : 0), y: (y ?? 0) - (isAcross ? 0 : least) } };
    });
  plug(wires, boxes, isAcross);
  spread(wires);
  const size = graph.graph();
  return { width: (size.width ?? 0) - (isAcross ? least : 0), height: (size.height ?? 0) - (isAcross ? 0 : least), boxes, wires };
}

/** Let edges leave a box at one side and enter it at the other, side by side in the order of where they go. */
function plug(wires: Wire[], boxes: Map<string, Box>, isAcross: boolean): void {
  const middle = (id: string) => {
    const box = boxes.get(id);
    return box ? (isAcross ? box.y + box.height / 2 : box.x + box.width / 2) : 0;
  };
  for (const end of ["source", "target"] as const) {
    const groups = new Map<string, Wire[]>();
    for (const wire of wires) groups.set(wire[end], [...(groups.get(wire[end]) ?? []), wire]);
    for (const [id, group] of groups) {
      const box = boxes.get(id);
      if (!box) continue;
      const other = end === "source" ? "target" : "source";
      group.sort((a, b) => middle(a[other]) - middle(b[other]));
      const length = isAcross ? box.height : box.width;
      const step = Math.min(18, (length - 24) / group.length);
      group.forEach((wire, at) => {
        const along = middle(id) + (at - (group.length - 1) / 2) * step;
        const point = isAcross
          ? { x: end === "source" ? box.x + box.width : box.x - 2, y: along }
          : { x: along, y: end === "source" ? box.y + box.height : box.y - 2 };
        if (end === "source") wire.points.unshift(point);
        else wire.points.push(point);
      });
    }
  }
}

/** Move labels that would cover another one to a free place on their own line: the middle of a piece of it, where the curve passes. */
function spread(wires: Wire[]): void {
  const taken: { x: number; y: number }[] = [];
  const isFree = (at: { x: number; y: number }) => taken.every((each) => Math.abs(each.x - at.x) >= LABEL_WIDTH || Math.abs(each.y - at.y) >= LABEL_HEIGHT);
  for (const wire of wires) {
    const middles = wire.points.slice(1).map((point, at) => {
      const before = wire.points[at] ?? point;
      return { x: (before.x + point.x) / 2, y: (before.y + point.y) / 2 };
    });
    wire.label = [wire.label, ...middles, ...wire.points.slice(1, -1)].find(isFree) ?? wire.label;
    taken.push(wire.label);
  }
}

/** A smooth line through the points. */
export function pathOf(points: { x: number; y: number }[], direction: "LR" | "TB"): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let text = `M${first.x.toFixed(1)},${first.y.toFixed(1)}`;
  let before = first;
  for (const point of rest) {
    const [cx1, cy1, cx2, cy2] =
      direction === "LR"
        ? [(before.x + point.x) / 2, before.y, (before.x + point.x) / 2, point.y]
        : [before.x, (before.y + point.y) / 2, point.x, (before.y + point.y) / 2];
    text += `C${cx1.toFixed(1)},${cy1.toFixed(1)} ${cx2.toFixed(1)},${cy2.toFixed(1)} ${point.x.toFixed(1)},${point.y.toFixed(1)}`;
    before = point;
  }
  return text;
}
