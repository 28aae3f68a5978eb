// The shared graph, drawn: each operator once, with what it counts; what flows between them; and the way of one query.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { bytes, counted, ratio, seconds, short } from "./format";
import { BOX_WIDTH, HEAD_HEIGHT, layOut, PART_HEIGHT, pathOf, type Layout } from "./layout";
import type { GraphEdge, GraphNode, LiveGraph } from "./types";

const KIND_TITLES: Record<string, string> = {
  source: "stream",
  filter: "grouped filter",
  state: "shared state",
  join: "join",
  condition: "conditions",
  history: "kept results",
  deliver: "deliver",
};

type Counts = Record<string, number>;

const wireOf = (edge: GraphEdge): string => `${edge.source}\n${edge.target}`;

interface Seen {
  at: number;
  nodes: Map<string, Counts>;
  flows: Map<string, number>; // by edge
}

/** What changed a second since the look before: of operators, and of the edges of which it is known. */
function useRates(graph: LiveGraph): { nodes: Map<string, Counts>; flows: Map<string, number> } {
  const known = useRef<Seen>({ at: 0, nodes: new Map(), flows: new Map() });
  return useMemo(() => {
    const before = known.current;
    const now: Seen = {
      at: performance.now() / 1000,
      nodes: new Map(graph.nodes.map((each) => [each.id, each.counts])),
      flows: new Map(graph.edges.flatMap((each) => (each.flow === null ? [] : [[wireOf(each), each.flow] as const]))),
    };
    known.current = now;
    const nodes = new Map<string, Counts>();
    const flows = new Map<string, number>();
    const spent = now.at - before.at;
    if (!before.at || spent <= 0.2) return { nodes, flows };
    const rate = (value: number, last = 0) => Math.max((value - last) / spent, 0);
    for (const [id, counts] of now.nodes) {
      const last = before.nodes.get(id);
      if (last) nodes.set(id, Object.fromEntries(Object.entries(counts).map(([key, value]) => [key, rate(value, last[key])])));
    }
    for (const [wire, flow] of now.flows) {
      const last = before.flows.get(wire);
      if (last !== undefined) flows.set(wire, rate(flow, last));
    }
    return { nodes, flows };
  }, [graph]);
}

function footOf(node: GraphNode, rate: Record<string, number> | undefined): string[] {
  const { counts } = node;
  const found: string[] = [];
  if (node.kind === "source") {
    found.push(`${short(counts.out ?? 0)} read`);
    if (rate?.out) found.push(`${short(rate.out)}/s`);
    if (counts.late) found.push(`${short(counts.late)} late`);
  } else if (node.kind === "state") {
    found.push(`${short(counts.kept ?? 0)} kept`, bytes(counts.bytes ?? 0));
  } else if (node.kind === "history") {
    if (counts.kept !== undefined) found.push(`${short(counts.kept)} kept`, bytes(counts.bytes ?? 0));
  } else if (node.kind === "deliver") {
    if (counts.out || !counts.invoked) found.push(`${short(counts.out ?? 0)} ${counts.out === 1 ? "result" : "results"}`);
    if (counts.invoked) found.push(`${short(counts.invoked)} invoked`);
    if (rate?.out) found.push(`${short(rate.out)}/s`);
  } else if (counts.in !== undefined) {
    found.push(ratio(counts.out ?? 0, counts.in), seconds(counts.seconds ?? 0));
    if (node.kind === "join" && counts.bytes) found.push(bytes(counts.bytes));
  }
  return found;
}

function titleOf(node: GraphNode): string {
  if (node.kind !== "deliver") return node.label;
  return node.names.length === 1 && node.queries === 1 ? node.names[0] ?? node.label : counted(node.queries, "query", "queries");
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

interface View {
  x: number;
  y: number;
  scale: number;
}

export function GraphView(props: {
  graph: LiveGraph;
  chosen?: string;
  onChoose?: (id: string) => void;
  height: number | "fill";
  onlyPath?: boolean;
}): JSX.Element {
  const { graph } = props;
  const home = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [view, setView] = useState<View | null>(null);
  const drag = useRef<{ x: number; y: number; view: View } | null>(null);
  const isNarrow = size.width > 0 && size.width < 620;
  const direction = isNarrow ? "TB" : "LR";
  const path = graph.path;
  const nodes = props.onlyPath && path ? withCounts(path.nodes, graph.nodes) : graph.nodes;
  const edges = props.onlyPath && path ? path.edges : graph.edges;
  const shape = `${direction} ${nodes.map((each) => `${each.id}:${each.parts.length}`).join()} ${edges.map((each) => `${each.source}>${each.target}`).join()}`;
  const layout = useMemo(() => layOut(nodes, edges, direction), [shape]);
  const rates = useRates(graph);
  const onPath = useMemo(() => (path && !props.onlyPath ? new Set(path.nodes.map((each) => each.id)) : null), [path, props.onlyPath]);
  const wiresOnPath = useMemo(() => (path && !props.onlyPath ? new Set(path.edges.map(wireOf)) : null), [path, props.onlyPath]);
  const pathParts = useMemo(() => new Map(path?.nodes.map((each) => [each.id, new Set(each.parts.map((part) => part.label))])), [path]);

  useEffect(() => {
    const element = home.current;
    if (!element) return;
    const look = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    look();
    const sized = new ResizeObserver(look);
    sized.observe(element);
    return () => sized.disconnect();
  }, []);
  const fitted = useMemo(() => fit(layout, size), [layout, size.width, size.height]);
  useEffect(() => setView(null), [shape]);
  const shown = view ?? fitted;

  const zoom = (factor: number, x = size.width / 2, y = size.height / 2) => {
    const scale = Math.min(Math.max(shown.scale * factor, 0.08), 3);
    const ratio = scale / shown.scale;
    setView({ scale, x: x - (x - shown.x) * ratio, y: y - (y - shown.y) * ratio });
  };
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => {
    const element = home.current;
    if (!element) return;
    // Not passive: the page must not scroll while one zooms. With a plain wheel it does scroll.
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && props.height !== "fill") return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      latest.current(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [props.height]);
  const key = (event: KeyboardEvent) => {
    const moves: Record<string, [number, number]> = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    const move = moves[event.key];
    if (move) setView({ ...shown, x: shown.x + move[0], y: shown.y + move[1] });
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") setView(null);
    else return;
    event.preventDefault();
  };
  // Operators are shared: what goes along an edge is the same whether all of the graph is drawn or the way of one query.
  const flows = new Map(graph.edges.map((each) => [wireOf(each), each.flow ?? 0]));
  const most = Math.max(...flows.values(), 1);

  return (
    <div
      class={`graph ${props.height === "fill" ? "fill" : ""}`}
      style={props.height === "fill" ? undefined : { height: `${props.height}px` }}
      ref={home}
    >
      <svg
        class={`graph-canvas ${onPath ? "has-path" : ""}`}
        role="group"
        aria-label={`The shared graph: ${counted(nodes.length, "operator")}, ${counted(graph.queries, "query", "queries")}. Arrow keys move, plus and minus zoom, 0 shows all.`}
        tabindex={0}
        onKeyDown={key}
        onPointerDown={(event) => {
          if (event.button === 0) drag.current = { x: event.clientX, y: event.clientY, view: shown };
        }}
        onPointerMove={(event) => {
          const from = drag.current;
          if (from && (event.buttons & 1) === 1) setView({ ...from.view, x: from.view.x + event.clientX - from.x, y: from.view.y + event.clientY - from.y });
        }}
        onPointerUp={() => (drag.current = null)}
        onPointerLeave={() => (drag.current = null)}
      >
        <defs>
          <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">
            <path d="M0,0.6 L7,4 L0,7.4 z" class="head" />
          </marker>
        </defs>
        <g transform={`translate(${shown.x},${shown.y}) scale(${shown.scale})`}>
          {layout.wires.map((wire) => {
            const id = `${wire.source}\n${wire.target}`;
            const flow = flows.get(id) ?? 0;
            const rate = rates.flows.get(id) ?? 0;
            const width = 1.2 + 4 * (Math.log1p(flow) / Math.log1p(most));
            const state = wiresOnPath ? (wiresOnPath.has(id) ? "on" : "off") : "";
            return (
              <g class={`wire ${state} ${rate > 0 ? "flows" : ""}`} key={id}>
                <path d={pathOf(wire.points, direction)} stroke-width={width} marker-end="url(#head)" />
                {flow > 0 && (
                  <text x={wire.label.x} y={wire.label.y} dy="3.5">
                    {rate > 0 ? `${short(rate)}/s` : short(flow)}
                  </text>
                )}
              </g>
            );
          })}
          {nodes.map((node) => {
            const box = layout.boxes.get(node.id);
            if (!box) return null;
            const state = onPath ? (onPath.has(node.id) ? "on" : "off") : "";
            const foot = footOf(node, rates.nodes.get(node.id));
            const title = titleOf(node);
            const parts = [...node.parts].sort((a, b) => b.queries - a.queries);
            const own = pathParts.get(node.id);
            if (own) parts.sort((a, b) => Number(own.has(b.label)) - Number(own.has(a.label)));
            const hidden = node.parts.length + node.more_parts - box.shown;
            return (
              <g
                key={node.id}
                class={`node node-${node.kind} ${state} ${props.chosen === node.id ? "chosen" : ""}`}
                transform={`translate(${box.x},${box.y})`}
                role="button"
                tabindex={0}
                aria-pressed={props.chosen === node.id}
                aria-label={`${KIND_TITLES[node.kind] ?? node.kind} ${cut(title, 80)}, for ${counted(node.queries, "query", "queries")}, ${foot.join(", ")}`}
                onClick={() => props.onChoose?.(node.id)}
                onKeyDown={(event) => {
                  if (event.key === "Enter" || event.key === " ") {
                    event.preventDefault();
                    event.stopPropagation();
                    props.onChoose?.(node.id);
                  }
                }}
              >
                <rect class="box" width={box.width} height={box.height} rx="9" />
                <rect class="edge" width="4" height={box.height - 16} x="7" y="8" rx="2" />
                <text class="caption" x="19" y="19">
                  {(KIND_TITLES[node.kind] ?? node.kind).toUpperCase()}
                </text>
                {node.kind !== "deliver" && (
                  <text class="badge" x={box.width - 11} y="19">
                    {short(node.queries)} {node.queries === 1 ? "query" : "queries"}
                  </text>
                )}
                <text class="title" x="19" y="38">
                  {cut(title, 25)}
                </text>
                {parts.slice(0, box.shown).map((part, at) => {
                  const y = HEAD_HEIGHT + at * PART_HEIGHT;
                  const share = node.queries ? part.queries / node.queries : 0;
                  const mine = own?.has(part.label) && onPath;
                  return (
                    <g class={`part ${mine ? "mine" : ""}`} key={part.label}>
                      <rect class="part-bar" x="19" y={y} height={PART_HEIGHT - 3} width={Math.max((BOX_WIDTH - 32) * Math.min(share, 1), 3)} rx="3" />
                      <text x="24" y={y + 11}>
                        {cut(part.label, 22)}
                      </text>
                      <text class="part-count" x={box.width - 14} y={y + 11}>
                        {short(part.queries)}
                      </text>
                    </g>
                  );
                })}
                {box.shown > 0 && hidden > 0 && (
                  <text class="more-parts" x="24" y={HEAD_HEIGHT + box.shown * PART_HEIGHT + 11}>
                    {hidden} more
                  </text>
                )}
                <text class="foot" x="19" y={box.height - 10}>
                  {foot.join("  ·  ")}
                </text>
              </g>
            );
          })}
        </g>
      </svg>
      <div class="graph-tools" role="group" aria-label="Zoom">
        <button type="button" onClick={() => zoom(1.3)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(1 / 1.3)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => setView(null)} aria-label="Show all">
          ⤢
        </button>
      </div>
    </div>
  );
}

function withCounts(some: GraphNode[], all: GraphNode[]): GraphNode[] {
  const known = new Map(all.map((each) => [each.id, each]));
  return some.map((each) => {
    const whole = known.get(each.id);
    return whole ? { ...each, counts: whole.counts, queries: whole.queries, note: whole.note } : each;
  });
}

function fit(layout: Layout, size: { width: number; height: number }): View {
  if (!size.width || !size.height || !layout.width) return { x: 0, y: 0, scale: 1 };
  const scale = Math.min(size.width / layout.width, size.height / layout.height, 1.15);
  const legible = Math.max(scale, size.width < 620 ? 0.55 : 0.35);
  return { scale: legible, x: Math.max((size.width - layout.width * legible) / 2, 0), y: Math.max((size.height - layout.height * legible) / 2, 0) };
}
