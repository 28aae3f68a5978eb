// All queries, searched, sorted and cut into pages by the service.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { bytes, counted, seconds, short, times, whole } from "../format";
import { addressFor, useAsked, useDebounced, useTitle } from "../hooks";
import type { QueryInfo, QueryList } from "../types";
import { Card, Empty, Kind, Name, Problem, Waiting } from "../widgets";
import type { ScreenProps } from ".";

const PAGE = 50;
const EVERY_MS = 3000;

interface ColumnSpec {
  id: string;
  title: string;
  number: boolean;
  help?: string;
  show: (query: QueryInfo) => JSX.Element | string;
}

const COLUMNS: ColumnSpec[] = [
  { id: "name", title: "name", number: false, show: (query) => <Name name={query.name} link /> },
  { id: "kind", title: "kind", number: false, show: (query) => <Kind kind={query.stopped ? "stopped" : query.kind} /> },
  { id: "owner", title: "owner", number: false, show: (query) => <bdi class="owner">{query.owner.slice(0, 60)}</bdi> },
  { id: "rate", title: "results/s", number: true, help: "Of about the last half minute", show: (query) => short(query.results_per_second) },
  { id: "results", title: "results", number: true, show: (query) => short(query.results) },
  { id: "invoked", title: "invoked", number: true, help: "How often it was asked", show: (query) => short(query.invocations) },
  { id: "cost", title: "cost", number: true, help: "Processor time so far: its own work and its part of common work", show: (query) => seconds(query.cost_seconds) },
  {
    id: "alone",
    title: "alone",
    number: true,
    help: "About what it would have cost by itself",
    show: (query) =>
      query.alone_seconds === null ? (
        <span class="soft" title="Not measured yet">
          …<span class="factor" />
        </span>
      ) : (
        <>
          {seconds(query.alone_seconds)}
          <span class="factor">{query.cost_seconds > 0 && query.alone_seconds / query.cost_seconds >= 1.05 ? times(query.alone_seconds / query.cost_seconds) : ""}</span>
        </>
      ),
  },
  { id: "shared", title: "shared with", number: true, help: "Other queries that the same filter or join answers", show: (query) => short(query.shared_with) },
  { id: "kept", title: "kept", number: true, help: "State beside the tuples of its streams", show: (query) => (query.kept_bytes ? bytes(query.kept_bytes) : <span class="soft">–</span>) },
];

export function QueriesScreen(props: ScreenProps): JSX.Element {
  useTitle("Queries");
  const { values } = props.place;
  const value = (key: string) => values.get(key) ?? "";
  const sort = value("sort") || "cost";
  const descending = value("order") ? value("order") === "down" : COLUMNS.find((each) => each.id === sort)?.number ?? true;
  const page = Math.max(Number(value("page")) || 1, 1);
  const [typed, setTyped] = useState(value("search"));
  const search = useDebounced(typed, 250);
  const go = (change: Record<string, string | number | undefined>) => {
    location.hash = addressFor(["queries"], { ...Object.fromEntries(values), ...change });
  };
  useEffect(() => {
    if (search !== value("search")) go({ search, page: undefined });
  }, [search]);
  useEffect(() => setTyped(value("search")), [value("search")]);
  const asked = useAsked<QueryList>(
    `queries?${new URLSearchParams({
      search: value("search"), kind: value("kind"), operator: value("operator"), sort, brief: "true",
      descending: String(descending), offset: String((page - 1) * PAGE), limit: String(PAGE),
    })}`,
    EVERY_MS,
  );
  const { data } = asked;
  const pages = data ? Math.max(Math.ceil(data.matching / PAGE), 1) : 1;
  return (
    <>
      <header class="screen-head">
        <h1>Queries</h1>
        <a class="button main" href="#/new">
          New query
        </a>
      </header>
      <Card>
        <div class="tools">
          <label class="search">
            <span class="hidden">Search queries</span>
            <input type="search" placeholder="Search name, owner, text" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
          <label>
            <span class="hidden">Kind</span>
            <select value={value("kind")} onChange={(event) => go({ kind: event.currentTarget.value, page: undefined })}>
              <option value="">all kinds</option>
              <option value="push">push</option>
              <option value="pull">pull</option>
              <option value="every">every</option>
              <option value="stopped">stopped</option>
            </select>
          </label>
          {value("operator") && (
            <button type="button" class="chip" onClick={() => go({ operator: undefined, page: undefined })} aria-label="Show the queries of all operators">
              at {value("operator").slice(0, 60)} ✕
            </button>
          )}
          <p class="found soft" role="status">
            {data && (data.matching === data.total ? counted(data.total, "query", "queries") : `${whole(data.matching)} of ${whole(data.total)}`)}
          </p>
        </div>
        {asked.error && <Problem>{asked.error}</Problem>}
        {!data ? (
          !asked.error && <Waiting />
        ) : data.total === 0 ? (
          <Empty title="No queries yet">
            <p>
              <a href="#/new">Write the first one</a>. It starts at once, and shares what is already computed.
            </p>
          </Empty>
        ) : data.matching === 0 ? (
          <Empty title="Nothing matches">
            <button type="button" onClick={() => (location.hash = "#/queries")}>
              Show all queries
            </button>
          </Empty>
        ) : (
          <>
            <div class="scroll" tabIndex={0} role="region" aria-label="Queries">
              <table class="list queries">
                <thead>
                  <tr>
                    {COLUMNS.map((each) => (
                      <th
                        scope="col"
                        key={each.id}
                        class={`${each.number ? "number" : ""} ${each.id === "alone" ? "with-factor" : ""}`}
                        aria-sort={sort === each.id ? (descending ? "descending" : "ascending") : undefined}
                      >
                        <button
                          type="button"
                          class="sort"
                          title={each.help}
                          onClick={() => go({ sort: each.id, order: sort === each.id ? (descending ? "up" : "down") : undefined, page: undefined })}
                        >
                          {each.title}
                          <span aria-hidden="true" class="arrow">
                            {sort === each.id ? (descending ? "▾" : "▴") : ""}
                          </span>
                        </button>
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {data.queries.map((query) => (
                    <tr key={query.id} class={query.stopped ? "stopped" : ""}>
                      {COLUMNS.map((each) => (
                        <td class={each.number ? "number" : ""} key={each.id}>
                          {each.show(query)}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {pages > 1 && (
              <nav class="pages" aria-label="Pages">
                <button type="button" disabled={page <= 1} onClick={() => go({ page: page - 1 })}>
                  Previous
                </button>
                <span>
                  {whole(page)} of {whole(pages)}
                </span>
                <button type="button" disabled={page >= pages} onClick={() => go({ page: page + 1 })}>
                  Next
                </button>
              </nav>
            )}
          </>
        )}
      </Card>
    </>
  );
}
