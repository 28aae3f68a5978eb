// What the service answers, as far as the console reads it (`/openapi.json` has everything).

import type { Diagnostic } from "./api";

export type Value = string | number | boolean | null;
export type Row = Record<string, Value>;
export interface Column {
  name: string;
  type: string;
}
export interface Fact {
  what: string;
  text: string;
}
export interface Histogram {
  begin: number;
  seconds: number;
  counts: number[];
  is_number: boolean;
}
export interface QueryInfo {
  id: number;
  name: string;
  owner: string;
  kind: "push" | "pull" | "every";
  age_seconds: number;
  created: string;
  results: number;
  invocations: number;
  cost_seconds: number;
  kept_bytes: number;
  results_per_second: number;
  shared_with: number;
  alone_seconds: number | null;
  operator: string;
  columns: Column[];
  text: string;
  stopped: string | null;
}
export interface QueryDetail extends QueryInfo {
  plan: Fact[];
  same_question: string[];
  results_over_time: Histogram;
}
export interface QueryList {
  queries: QueryInfo[];
  matching: number;
  total: number;
}
export interface Result {
  id: string;
  query: string;
  ts?: Value;
  at?: Value;
  row: Row;
  alert?: { state: string; severity: string | null; key: Row; since: string | number | null; count: number };
}
export interface AlertInfo {
  name: string;
  severity: string | null;
  pending: number;
  firing: number;
  results: number;
}
export interface AlertKey {
  alert: string;
  severity: string | null;
  state: string;
  key: Row;
  since: string | number | null;
  last: string | number | null;
  count: number;
  told: boolean;
  row: Row;
}
export interface AlertList {
  alerts: AlertInfo[];
  keys: AlertKey[];
}
export interface SinkInfo {
  name: string;
  type: string;
  sent: number;
  waiting: number;
  waiting_bytes: number;
  dead: number;
  dropped: number;
  failures: number;
  is_failing: boolean;
  last_error: string;
  last_sent: number;
}
export interface SinkList {
  sinks: SinkInfo[];
}
export interface StreamInfo {
  name: string;
  kind: "stream" | "table";
  read: number;
  per_second: number;
  late: number;
  rejected: number;
  reasons: Record<string, number>;
  waiting: number;
  queries: number;
  rows: number;
  bytes: number;
  watermark: string | number | null;
  latest: string | number | null;
  lag_seconds: number | null;
  idle: boolean;
}
export interface Health {
  status: string;
  busy: { what: string; query: string | null; seconds: number } | null;
  engine: string;
  caught_up: boolean;
  problems: string[];
}
export interface SeverityInfo {
  severity: string | null;
  alerts: number;
  pending: number;
  firing: number;
}
export interface Overview {
  version: string;
  now: string;
  uptime_seconds: number;
  role: "admin" | "user" | "reader";
  user: string | null;
  has_tokens: boolean;
  health: Health;
  tuples: number;
  results: number;
  late: number;
  rejected: number;
  tuples_per_second: number;
  results_per_second: number;
  load: number;
  queries: { push: number; pull: number; every: number; stopped: number };
  memory_bytes: number;
  state_bytes: number;
  operator_bytes: number;
  kept_result_bytes: number;
  sharing: { cost_seconds: number; priced_cost_seconds: number; alone_seconds: number };
  streams: StreamInfo[];
  alerts: SeverityInfo[];
  sinks: SinkInfo[];
  history: { at: number[]; tuples: number[]; results: number[]; load: number[]; memory: number[] } | null;
}
export interface GraphNode {
  id: string;
  kind: string;
  label: string;
  queries: number;
  parts: { label: string; queries: number }[];
  more_parts: number;
  names: string[];
  note: string;
  counts: Record<string, number>;
}
export interface GraphEdge {
  source: string;
  target: string;
  queries: number;
  flow: number | null;
}
export interface LiveGraph {
  queries: number;
  nodes: GraphNode[];
  edges: GraphEdge[];
  path: { nodes: GraphNode[]; edges: GraphEdge[] } | null;
}
export interface Answer {
  query: string;
  at: Value;
  columns: Column[];
  warnings: string[];
  rows: Row[];
}
export interface Checked {
  ok: boolean;
  diagnostics: Diagnostic[];
  name: string | null;
  replaces: boolean;
  kind: string | null;
  columns: Column[];
  plan: Fact[];
  shared_with: number;
  same_question: string[];
}
export interface Previewed {
  kind: string;
  columns: Column[];
  rows: number;
  seconds: number;
  results: number;
  latest: Result[];
  over_time: Histogram | null;
  answer: Answer | null;
  cut: string;
}
export interface Schema {
  relations: { name: string; kind: string; columns: Column[]; event_time: string | null }[];
  functions: { name: string; arguments: string; summary: string; aggregate: boolean }[];
  keywords: string[];
}
