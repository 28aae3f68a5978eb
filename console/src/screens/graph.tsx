// The shared graph of all queries, with what each operator counts.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { bytes, counted, ratio, seconds, short, whole } from "../format";
import { GraphView } from "../graph_view";
import { addressFor, useAsked, useDebounced, useTitle } from "../hooks";
import type { GraphNode, LiveGraph, QueryList } from "../types";
import { Empty, Name, Problem, Waiting } from "../widgets";
import type { ScreenProps } from ".";

const EVERY_MS = 2000;

export function GraphScreen(props: ScreenProps): JSX.Element {
  useTitle("Graph");
  const query = props.place.values.get("query") ?? "";
  const [chosen, setChosen] = useState("");
  const asked = useAsked<LiveGraph>(query ? `graph?query=${encodeURIComponent(query)}` : "graph", EVERY_MS);
  const { data } = asked;
  const node = data?.nodes.find((each) => each.id === chosen);
  return (
    <div class="graph-screen">
      <header class="screen-head">
        <h1>Graph</h1>
        <p class="soft">
          {data && `${counted(data.queries, "query", "queries")} in ${counted(data.nodes.length, "operator")}, each drawn and computed once`}
        </p>
        <Finder query={query} />
      </header>
      {asked.error && <Problem>{asked.error}</Problem>}
      {!data ? (
        !asked.error && <Waiting />
      ) : data.nodes.length === 0 ? (
        <Empty title="The graph is empty">
          <p>
            It grows with the first query. <a href="#/new">Write one</a>.
          </p>
        </Empty>
      ) : (
        <div class="graph-and-panel">
          <GraphView graph={data} chosen={chosen} onChoose={(id) => setChosen(id === chosen ? "" : id)} height="fill" />
          {node && <Panel node={node} onClose={() => setChosen("")} />}
        </div>
      )}
    </div>
  );
}

function Finder({ query }: { query: string }): JSX.Element {
  const [typed, setTyped] = useState("");
  const search = useDebounced(typed, 200);
  const found = useAsked<QueryList>(search ? `queries?${new URLSearchParams({ search, limit: "8", brief: "true" })}` : null, 60_000);
  useEffect(() => setTyped(""), [query]);
  if (query) {
    return (
      <p class="finder">
        path of <Name name={query} link />{" "}
        <a class="chip" href="#/graph" aria-label="Show the whole graph without a path">
          ✕
        </a>
      </p>
    );
  }
  return (
    <div class="finder">
      <label>
        <span class="hidden">Show the path of a query</span>
        <input type="search" placeholder="Show the path of a query" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      {search && typed && found.data && (
        <ul class="found-list">
          {found.data.queries.map((each) => (
            <li key={each.id}>
              <a href={addressFor(["graph"], { query: each.name })}>
                <Name name={each.name} />
              </a>
            </li>
          ))}
          {found.data.queries.length === 0 && <li class="soft">no such query</li>}
        </ul>
      )}
    </div>
  );
}

const EXPLAIN: Record<string, string> = {
  source: "Rows come in here, once for all queries.",
  filter: "One operator answers the conditions of all these queries at once: constants of a column are indexed together, equal conditions are evaluated once.",
  state: "The tuples of the stream, kept once for every join that needs them.",
  join: "One join finds the combinations for all these queries; each row carries the set of queries that still want it.",
  condition: "Conditions that no index answers, evaluated on what survives the join.",
  history: "Results kept for queries that are asked, as far back as one of them looks.",
  deliver: "From here results go to the queries.",
};

function Panel({ node, onClose }: { node: GraphNode; onClose: () => void }): JSX.Element {
  const { counts } = node;
  const facts: [string, string][] = [];
  if (counts.in !== undefined) facts.push(["in", whole(counts.in)]);
  if (counts.out !== undefined) facts.push([node.kind === "source" ? "read" : node.kind === "state" ? "stored so far" : node.kind === "deliver" ? "results" : "out", whole(counts.out)]);
  if (counts.invoked) facts.push(["invoked", whole(counts.invoked)]);
  if (counts.in !== undefined) facts.push(["out for each in", ratio(counts.out ?? 0, counts.in)]);
  if (counts.seconds !== undefined) facts.push(["time", seconds(counts.seconds)]);
  if (counts.in && counts.seconds) facts.push(["time a tuple", seconds(counts.seconds / counts.in)]);
  if (counts.kept !== undefined) facts.push(["kept now", whole(counts.kept)]);
  if (counts.bytes !== undefined) facts.push(["memory", bytes(counts.bytes)]);
  if (counts.late) facts.push(["late", whole(counts.late)]);
  if (counts.rejected) facts.push(["rejected", whole(counts.rejected)]);
  return (
    <aside class="panel" aria-label={`About ${node.kind} ${node.label.slice(0, 80)}`}>
      <header>
        <h2>
          <bdi>{node.label.slice(0, 80)}</bdi>
        </h2>
        <button type="button" class="quiet" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      <p class="soft small">{EXPLAIN[node.kind]}</p>
      {node.note && <p class="small">{node.note}</p>}
      <dl class="pairs">
        {facts.map(([what, text]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {node.parts.length > 0 && (
        <>
          <h3>{node.kind === "filter" ? "Columns and conditions" : "Conditions"}</h3>
          <ul class="part-list">
            {[...node.parts]
              .sort((a, b) => b.queries - a.queries)
              .map((each) => (
                <li key={each.label}>
                  <bdi>{each.label.slice(0, 120)}</bdi>
                  <span class="number">{short(each.queries)}</span>
                </li>
              ))}
            {node.more_parts > 0 && <li class="soft">and more</li>}
          </ul>
        </>
      )}
      <h3>{counted(node.queries, "query", "queries")}</h3>
      {node.names.length > 0 && (
        <ul class="names">
          {node.names.map((each) => (
            <li key={each}>
              <Name name={each} link />
            </li>
          ))}
        </ul>
      )}
      {node.queries > node.names.length && <a href={addressFor(["queries"], { operator: node.id })}>Show them all</a>}
    </aside>
  );
}
