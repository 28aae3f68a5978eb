// One query: its text, its plan, its way through the graph, its results as they come.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, follow, pathOf, Refused } from "../api";
import { Chart } from "../chart";
import { bytes, counted, seconds, short, times, whole } from "../format";
import { GraphView } from "../graph_view";
import { addressFor, useAsked, useTitle } from "../hooks";
import type { Answer, LiveGraph, Overview, QueryDetail, Result } from "../types";
import { Card, Confirm, CopyButton, Empty, Kind, Name, Plan, Problem, Rows, Stat, Waiting } from "../widgets";
import { AnswerView } from "./answer";

const EVERY_MS = 2500;
const SHOWN = 100; // results in the page
const MOST_A_SECOND = 20;

export function QueryScreen(props: { name: string; overview: Overview | undefined }): JSX.Element {
  const { name } = props;
  useTitle(name);
  const asked = useAsked<QueryDetail>(pathOf(name), EVERY_MS);
  const query = asked.data;
  if (asked.missing) {
    return (
      <Empty title="There is no such query">
        <p>It was removed, or never registered.</p>
        <a href="#/queries">All queries</a>
      </Empty>
    );
  }
  if (!query) return asked.error ? <Problem>{asked.error}</Problem> : <Waiting />;
  return <Shown query={query} overview={props.overview} />;
}

function Shown({ query, overview }: { query: QueryDetail; overview: Overview | undefined }): JSX.Element {
  const graph = useAsked<LiveGraph>(query.stopped ? null : `graph?query=${encodeURIComponent(query.name)}`, EVERY_MS);
  const mayChange = overview !== undefined && (overview.role === "admin" || (overview.role === "user" && overview.user === query.owner));
  const gain = query.alone_seconds !== null && query.cost_seconds > 0 ? query.alone_seconds / query.cost_seconds : null;
  return (
    <>
      <header class="screen-head">
        <p class="crumb">
          <a href="#/queries">Queries</a>
        </p>
        <h1 class="query-name">
          <Name name={query.name} /> <Kind kind={query.stopped ? "stopped" : query.kind} />
        </h1>
        <div class="buttons">
          {mayChange && (
            <a class="button" href={addressFor(["new"], { text: query.text.length < 20_000 ? query.text : "", name: query.name })}>
              Change
            </a>
          )}
          {mayChange && <Unregister name={query.name} />}
        </div>
      </header>
      {query.stopped && <Problem>The service stopped this query: {query.stopped}</Problem>}
      <dl class="stats">
        <Stat label="Results" value={short(query.results)} more={`${short(query.results_per_second)} a second`} />
        {(query.kind !== "push" || query.invocations > 0) && <Stat label="Invoked" value={short(query.invocations)} more={query.invocations === 1 ? "time" : "times"} />}
        <Stat label="Cost" value={seconds(query.cost_seconds)} more="of processor time" />
        <Stat
          label="Alone it would cost"
          value={query.alone_seconds === null ? "…" : seconds(query.alone_seconds)}
          more={query.alone_seconds === null ? "not measured yet" : gain && gain >= 1.05 ? `${times(gain)} as much, about` : "about the same"}
        />
        <Stat label="Shared with" value={short(query.shared_with)} more="other queries" />
        <Stat label="State kept" value={query.kept_bytes ? bytes(query.kept_bytes) : "none"} more="beside shared tuples" />
        <Stat label="Owner" value={<bdi>{query.owner.slice(0, 24)}</bdi>} more={`for ${seconds(query.age_seconds)}`} />
      </dl>
      <div class="two wide-left">
        <Card title="Text" more={<CopyButton text={query.text} what="the text" />}>
          <pre class="code" tabIndex={0} aria-label="Text of the query">
            <code>{query.text}</code>
          </pre>
        </Card>
        <Card title="How it is answered">
          <Plan facts={query.plan} />
          {query.same_question.length > 0 && (
            <p class="small soft">
              The same conditions as{" "}
              {query.same_question.map((each, at) => (
                <span key={each}>
                  {at > 0 && ", "}
                  <Name name={each} link />
                </span>
              ))}
              .
            </p>
          )}
        </Card>
      </div>
      {graph.data && (
        <Card title="Its way through the graph" more={<a href={addressFor(["graph"], { query: query.name })}>In the whole graph</a>} class="flush">
          <GraphView graph={graph.data} height={340} onlyPath={graph.data.nodes.length > 16} />
        </Card>
      )}
      {!query.stopped && query.kind !== "push" && <Invoke query={query} />}
      {!query.stopped && query.kind !== "pull" && <Results query={query} />}
    </>
  );
}

function Unregister({ name }: { name: string }): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState("");
  const remove = async () => {
    setAsking(false);
    try {
      await ask(pathOf(name), { method: "DELETE" });
      location.hash = "#/queries";
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        Unregister
      </button>
      {problem && <Problem>{problem}</Problem>}
      {isAsking && (
        <Confirm title="Unregister this query?" action="Unregister" onYes={remove} onNo={() => setAsking(false)}>
          <p>
            <Name name={name} /> stops at once. The other queries do not notice. Its results that are kept stay with whoever has read them.
          </p>
        </Confirm>
      )}
    </>
  );
}

interface Live {
  results: Result[];
  seen: number;
  skipped: number;
}

/** The latest results, then those that come, at most so many a second; the page never holds more than a hundred. */
function useResults(name: string, isPaused: boolean): Live & { state: string } {
  const [live, setLive] = useState<Live>({ results: [], seen: 0, skipped: 0 });
  const [state, setState] = useState("waiting");
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    const abort = new AbortController();
    let waiting: Result[] = [];
    let skipped = 0;
    let frame = 0;
    const show = () => {
      frame = 0;
      if (paused.current) return;
      const fresh = waiting.reverse();
      const left = skipped;
      waiting = [];
      skipped = 0;
      setLive((before) => ({
        results: [...fresh, ...before.results].slice(0, SHOWN),
        seen: before.seen + fresh.length + left,
        skipped: before.skipped + left,
      }));
    };
    const run = async () => {
      const first = await ask<{ results: Result[]; next: string }>(`${pathOf(name)}/results?limit=${SHOWN}`, { signal: abort.signal });
      setLive({ results: first.results, seen: 0, skipped: 0 });
      await follow(
        `${pathOf(name)}/results?most=${MOST_A_SECOND}&since=${encodeURIComponent(first.next)}`,
        abort.signal,
        (events) => {
          for (const each of events) {
            if (each.kind === "result") waiting.push({ id: each.id, ...JSON.parse(each.data) });
            else if (each.kind === "skipped") skipped += JSON.parse(each.data).count;
          }
          waiting = waiting.slice(-SHOWN);
          if (!frame) frame = requestAnimationFrame(show);
        },
        setState,
      );
      setState("ended");
    };
    run().catch((error) => {
      if (!abort.signal.aborted && error instanceof Refused) setState(error.message);
    });
    return () => {
      abort.abort();
      cancelAnimationFrame(frame);
    };
  }, [name]);
  return { ...live, state };
}

function Results({ query }: { query: QueryDetail }): JSX.Element {
  const [isPaused, setPaused] = useState(false);
  const live = useResults(query.name, isPaused);
  const { results_over_time: over } = query;
  const at = over.counts.map((_, index) => over.begin + index * over.seconds);
  const isTimed = query.kind === "push";
  return (
    <>
      <Card title="Results over time" more={<span class="soft small">as they came, the last ten minutes</span>}>
        {over.counts.some((each) => each > 0) ? (
          <Chart label="Results over the last ten minutes" at={at} height={130} series={[{ label: "results", color: "--join", values: over.counts, bars: true }]} />
        ) : (
          <Empty title="No results in the last ten minutes" />
        )}
      </Card>
      <Card
        title="Live results"
        more={
          <div class="buttons">
            <span class="soft small" role="status">
              {live.state === "live" ? (isPaused ? "paused" : "live") : live.state === "waiting" ? "connecting…" : live.state}
              {live.skipped > 0 && `, a sample: ${short(live.skipped)} more were counted`}
            </span>
            <button type="button" class="quiet" onClick={() => setPaused(!isPaused)} aria-pressed={isPaused}>
              {isPaused ? "Go on" : "Pause"}
            </button>
          </div>
        }
      >
        {live.results.length === 0 ? (
          <Empty title="No results yet">
            <p>They appear here as soon as there is one.</p>
          </Empty>
        ) : (
          <Rows
            label="Live results"
            columns={query.columns}
            timeTitle={isTimed ? "time" : "at"}
            rows={live.results.map((each) => ({ key: each.id, time: each.ts ?? each.at, row: each.row }))}
          />
        )}
      </Card>
    </>
  );
}

function Invoke({ query }: { query: QueryDetail }): JSX.Element {
  const [at, setAt] = useState("");
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState("");
  const [took, setTook] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const invoke = async (event?: Event) => {
    event?.preventDefault();
    setBusy(true);
    setProblem("");
    const started = performance.now();
    try {
      setAnswer(await ask<Answer>(`${pathOf(query.name)}/invoke${at ? `?at=${encodeURIComponent(at)}` : ""}`));
      setTook((performance.now() - started) / 1000);
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title="Ask it">
      <form class="tools" onSubmit={invoke}>
        <label>
          <span>At</span>
          <input type="text" placeholder="the latest instant" value={at} onInput={(event) => setAt(event.currentTarget.value)} spellcheck={false} />
        </label>
        <button class="main" type="submit" disabled={isBusy}>
          Invoke
        </button>
        {answer && (
          <span class="soft small" role="status">
            {counted(answer.rows.length, "row")} in {seconds(took)}, {whole(query.invocations)} asked before
          </span>
        )}
      </form>
      {problem && <Problem>{problem}</Problem>}
      {answer && <AnswerView answer={answer} />}
    </Card>
  );
}
