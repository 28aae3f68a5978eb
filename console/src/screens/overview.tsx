// The service at a glance.

import type { JSX } from "preact";
import { Chart } from "../chart";
import { bytes, counted, instant, percent, seconds, short, times, whole } from "../format";
import { addressFor, useTitle } from "../hooks";
import type { Overview, SeverityInfo, SinkInfo, StreamInfo } from "../types";
import { Card, Empty, Stat, Waiting } from "../widgets";
import type { ScreenProps } from ".";

const MOST_SHOWN = 20;
const FAR_S = 7 * 86400; // a watermark so far back is that of recorded data, and no lag

export function OverviewScreen(props: ScreenProps): JSX.Element {
  useTitle("Overview");
  const { overview } = props;
  return (
    <>
      <header class="screen-head">
        <h1>Overview</h1>
        {overview && <p class="soft">running for {seconds(overview.uptime_seconds)}</p>}
      </header>
      {overview ? <Shown overview={overview} /> : <Waiting />}
    </>
  );
}

function Shown({ overview }: { overview: Overview }): JSX.Element {
  const { queries, history } = overview;
  const total = queries.push + queries.pull + queries.every + queries.stopped;
  return (
    <>
      <dl class="stats">
        <Stat label="Tuples a second" value={short(overview.tuples_per_second)} more={`${short(overview.tuples)} so far`} />
        <Stat label="Results a second" value={short(overview.results_per_second)} more={`${short(overview.results)} so far`} />
        <Stat
          label="Queries"
          value={<a href="#/queries">{whole(total)}</a>}
          more={
            <>
              {short(queries.push)} push, {short(queries.pull)} pull, {short(queries.every)} every
              {queries.stopped > 0 && <a class="bad" href={addressFor(["queries"], { kind: "stopped" })}> {queries.stopped} stopped</a>}
            </>
          }
        />
        <Stat label="Engine at work" value={percent(overview.load)} more="of its time" tone={overview.load > 0.9 ? "warn" : ""} />
        <Stat label="Late rows" value={short(overview.late)} more={`${short(overview.rejected)} rejected`} tone={overview.rejected + overview.late > 0 ? "warn" : ""} />
        <Stat label="Memory" value={bytes(overview.memory_bytes)} more={`${bytes(overview.state_bytes)} of it tuples`} />
      </dl>
      <SharingCard overview={overview} />
      <div class="two">
        <Card title="Tuples a second">
          {history && history.at.length > 1 ? (
            <Chart label="Tuples a second over the last ten minutes" at={history.at} height={170} series={[{ label: "tuples", color: "--accent", values: history.tuples }]} />
          ) : (
            <Waiting what="Collecting the first seconds" />
          )}
        </Card>
        <Card title="Results a second">
          {history && history.at.length > 1 ? (
            <Chart label="Results a second over the last ten minutes" at={history.at} height={170} series={[{ label: "results", color: "--join", values: history.results }]} />
          ) : (
            <Waiting what="Collecting the first seconds" />
          )}
        </Card>
      </div>
      {(overview.alerts.length > 0 || overview.sinks.length > 0) && (
        <div class="two">
          {overview.alerts.length > 0 && <Alerts severities={overview.alerts} />}
          {overview.sinks.length > 0 && <Backlog sinks={overview.sinks} />}
        </div>
      )}
      <Streams streams={overview.streams} />
    </>
  );
}

function Alerts({ severities }: { severities: SeverityInfo[] }): JSX.Element {
  return (
    <Card title="Alerts firing">
      <div class="scroll" tabIndex={0} role="region" aria-label="Alerts by severity">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">severity</th>
              <th scope="col" class="number">firing</th>
              <th scope="col" class="number">pending</th>
              <th scope="col" class="number">alerts</th>
            </tr>
          </thead>
          <tbody>
            {severities.slice(0, MOST_SHOWN).map((each) => (
              <tr key={each.severity ?? ""}>
                <th scope="row">{each.severity === null ? <span class="soft">no severity</span> : <bdi class="name">{each.severity.slice(0, 60)}</bdi>}</th>
                <td class={`number ${each.firing ? "bad" : "soft"}`}>{short(each.firing)}</td>
                <td class={`number ${each.pending ? "warn" : "soft"}`}>{short(each.pending)}</td>
                <td class="number">
                  <a href="#/alerts" aria-label={`${counted(each.alerts, "alert")} of ${each.severity ?? "no severity"}`}>
                    {short(each.alerts)}
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function Backlog({ sinks }: { sinks: SinkInfo[] }): JSX.Element {
  const shown = [...sinks].sort((one, other) => other.waiting - one.waiting).slice(0, MOST_SHOWN);
  return (
    <Card title="Sinks">
      <div class="scroll" tabIndex={0} role="region" aria-label="Sinks with what waits for them">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">sink</th>
              <th scope="col" class="number">waiting</th>
              <th scope="col" class="number">bytes</th>
              <th scope="col" class="number">sent</th>
              <th scope="col" class="number">dead letters</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((each) => (
              <tr key={each.name}>
                <th scope="row">
                  <a href="#/sinks">
                    <bdi class="name">{each.name.slice(0, 60)}</bdi>
                  </a>
                  {each.is_failing && <span class="kind bad">failing</span>}
                </th>
                <td class={`number ${each.waiting ? "warn" : "soft"}`}>{short(each.waiting)}</td>
                <td class="number">{bytes(each.waiting_bytes)}</td>
                <td class="number">{short(each.sent)}</td>
                <td class={`number ${each.dead ? "bad" : "soft"}`}>{short(each.dead)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function SharingCard({ overview }: { overview: Overview }): JSX.Element | null {
  const { priced_cost_seconds: cost, alone_seconds: alone } = overview.sharing;
  const queries = overview.queries;
  const total = queries.push + queries.pull + queries.every;
  if (!total) {
    return (
      <Card>
        <Empty title="No queries yet">
          <p>
            <a href="#/new">Write the first one</a>, or register it with <code>cqc register</code>.
          </p>
        </Empty>
      </Card>
    );
  }
  if (!alone || !cost) return null;
  const share = Math.max(Math.min(cost / alone, 1), 0.004);
  return (
    <Card class="sharing" label="What sharing saves">
      <p class="sharing-line">
        <strong>{counted(total, "query", "queries")}</strong> in one graph took <strong>{seconds(cost)}</strong> of processor time. One by one they would have taken about{" "}
        <strong>{seconds(alone)}</strong>: <strong class="accent">{times(alone / cost)}</strong> as much.
      </p>
      <svg class="sharing-bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={`Together ${percent(share)} of what they would cost one by one`}>
        <rect width="100" height="6" class="bar-alone" />
        <rect width={100 * share} height="6" class="bar-cost" />
      </svg>
      <p class="soft small legend">
        <span class="key cost" aria-hidden="true" /> together, measured <span class="key alone" aria-hidden="true" /> one by one, estimated from one query of each operator run alone over the retained rows
      </p>
    </Card>
  );
}

function lag(stream: StreamInfo): JSX.Element | string {
  if (stream.kind === "table") return "";
  if (stream.watermark === null) return <span class="soft">nothing yet</span>;
  if (stream.idle) return <span class="soft">idle</span>;
  if (stream.lag_seconds === null) return <span class="soft" title="Event time is a number">–</span>;
  if (Math.abs(stream.lag_seconds) > FAR_S) {
    return (
      <span class="soft" title={`${seconds(stream.lag_seconds)} behind the clock`}>
        recorded
      </span>
    );
  }
  return <span class={stream.lag_seconds > 60 ? "warn" : ""}>{seconds(stream.lag_seconds)}</span>;
}

function Streams({ streams }: { streams: StreamInfo[] }): JSX.Element {
  return (
    <Card title="Streams and tables">
      {streams.length === 0 ? (
        <Empty title="Nothing is declared" />
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Streams and tables">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">name</th>
                <th scope="col" class="number">a second</th>
                <th scope="col" class="number">read</th>
                <th scope="col" class="number">late</th>
                <th scope="col" class="number">rejected</th>
                <th scope="col">watermark</th>
                <th scope="col" class="number">lag</th>
                <th scope="col" class="number">kept</th>
                <th scope="col" class="number">memory</th>
                <th scope="col" class="number">queries</th>
              </tr>
            </thead>
            <tbody>
              {streams.map((each) => (
                <Stream key={each.name} stream={each} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function Stream({ stream }: { stream: StreamInfo }): JSX.Element {
  const reasons = Object.entries(stream.reasons);
  return (
    <>
      <tr>
        <th scope="row">
          <bdi class="name">{stream.name}</bdi>
          {stream.kind === "table" && <span class="kind">table</span>}
        </th>
        <td class="number">{stream.kind === "table" ? "" : short(stream.per_second)}</td>
        <td class="number">{short(stream.read)}</td>
        <td class={`number ${stream.late ? "warn" : "soft"}`}>{short(stream.late)}</td>
        <td class={`number ${stream.rejected ? "warn" : "soft"}`}>{short(stream.rejected)}</td>
        <td class="time">{stream.kind === "table" ? "" : instant(stream.watermark)}</td>
        <td class="number">{lag(stream)}</td>
        <td class="number">{short(stream.rows)}</td>
        <td class="number">{bytes(stream.bytes)}</td>
        <td class="number">
          <a href={addressFor(["queries"], { operator: `source:${stream.name}` })} aria-label={`${counted(stream.queries, "query", "queries")} read ${stream.name}`}>
            {short(stream.queries)}
          </a>
        </td>
      </tr>
      {(reasons.length > 0 || stream.waiting > 0) && (
        <tr class="under">
          <td colSpan={10}>
            {stream.waiting > 0 && <span>{counted(stream.waiting, "row")} far ahead wait for company. </span>}
            {reasons.map(([reason, count]) => (
              <span key={reason} class="reason">
                {whole(count)} rejected: {reason}
              </span>
            ))}
          </td>
        </tr>
      )}
    </>
  );
}
