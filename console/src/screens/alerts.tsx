// Alerts: which keys are pending or firing, since when and how often, and what each alert has told.

import type { JSX } from "preact";
import { pathOf } from "../api";
import { cell, counted, instant, short, whole } from "../format";
import { addressFor, useAsked, useTitle } from "../hooks";
import type { AlertInfo, AlertKey, AlertList, Result, Row } from "../types";
import { Card, Empty, Name, Problem, Stat, Waiting } from "../widgets";
import type { ScreenProps } from ".";

const EVERY_MS = 2000;
const MOST_KEYS = 200;
const HISTORY = 50;

const keyText = (key: Row): string =>
  Object.entries(key)
    .map(([name, value]) => `${name} = ${value === null ? "NULL" : cell(value)}`)
    .join(", ")
    .slice(0, 200) || "all";

const State = (props: { state: string }): JSX.Element => <span class={`kind state-${props.state}`}>{props.state.replace("_", " ")}</span>;

export function AlertsScreen(props: ScreenProps): JSX.Element {
  useTitle("Alerts");
  const chosen = props.place.values.get("alert") ?? "";
  const asked = useAsked<AlertList>(`alerts?most=${MOST_KEYS}`, EVERY_MS);
  const { data } = asked;
  const alerts = data?.alerts ?? [];
  const named = alerts.find((each) => each.name === chosen);
  return (
    <>
      <header class="screen-head">
        <h1>Alerts</h1>
        {chosen && (
          <button type="button" class="chip" onClick={() => (location.hash = "#/alerts")} aria-label="Show all alerts">
            {chosen.slice(0, 60)} ✕
          </button>
        )}
      </header>
      {asked.error && <Problem>{asked.error}</Problem>}
      {!data ? (
        !asked.error && <Waiting />
      ) : alerts.length === 0 ? (
        <Card>
          <Empty title="No alerts">
            <p>
              <a href="#/new">Write one</a>: CREATE ALERT name AS SELECT … PER key.
            </p>
          </Empty>
        </Card>
      ) : (
        <>
          <Severities alerts={alerts} />
          <Keys keys={data.keys.filter((each) => !chosen || each.alert === chosen)} total={sum(named ? [named] : alerts)} />
          <List alerts={alerts} />
          {named && <History name={named.name} />}
        </>
      )}
    </>
  );
}

const sum = (alerts: AlertInfo[]): number => alerts.reduce((before, each) => before + each.pending + each.firing, 0);

function Severities({ alerts }: { alerts: AlertInfo[] }): JSX.Element {
  const found = new Map<string, { firing: number; pending: number }>();
  for (const each of alerts) {
    const name = each.severity ?? "no severity";
    const before = found.get(name) ?? { firing: 0, pending: 0 };
    found.set(name, { firing: before.firing + each.firing, pending: before.pending + each.pending });
  }
  return (
    <dl class="stats">
      {[...found].slice(0, 6).map(([name, { firing, pending }]) => (
        <Stat key={name} label={`Firing, ${name.slice(0, 40)}`} value={short(firing)} more={`${short(pending)} pending`} tone={firing ? "warn" : ""} />
      ))}
    </dl>
  );
}

function Keys({ keys, total }: { keys: AlertKey[]; total: number }): JSX.Element {
  return (
    <Card title="Keys" more={<span class="soft">{total > keys.length ? `${whole(keys.length)} of ${whole(total)}` : counted(total, "key")}</span>}>
      {keys.length === 0 ? (
        <Empty title="Nothing is pending or firing" />
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Keys that are pending or firing">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">state</th>
                <th scope="col">severity</th>
                <th scope="col">alert</th>
                <th scope="col">key</th>
                <th scope="col">since</th>
                <th scope="col">last</th>
                <th scope="col" class="number">bad</th>
                <th scope="col">last observation</th>
              </tr>
            </thead>
            <tbody>
              {keys.map((each) => (
                <tr key={`${each.alert} ${JSON.stringify(each.key)}`}>
                  <td>
                    <State state={each.state} />
                    {each.state === "firing" && !each.told && <span class="soft"> held back</span>}
                  </td>
                  <td>
                    <bdi>{(each.severity ?? "").slice(0, 40)}</bdi>
                  </td>
                  <td>
                    <Name name={each.alert} link />
                  </td>
                  <th scope="row">
                    <bdi>{keyText(each.key)}</bdi>
                  </th>
                  <td class="time">{instant(each.since)}</td>
                  <td class="time">{instant(each.last)}</td>
                  <td class="number">{whole(each.count)}</td>
                  <td>
                    <bdi>{keyText(each.row)}</bdi>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function List({ alerts }: { alerts: AlertInfo[] }): JSX.Element {
  const first = [...alerts].sort((a, b) => b.firing - a.firing || b.pending - a.pending || b.results - a.results).slice(0, MOST_KEYS);
  return (
    <Card title="All alerts" more={<span class="soft">{counted(alerts.length, "alert")}</span>}>
      <div class="scroll" tabIndex={0} role="region" aria-label="All alerts">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">alert</th>
              <th scope="col">severity</th>
              <th scope="col" class="number">firing</th>
              <th scope="col" class="number">pending</th>
              <th scope="col" class="number">told</th>
              <th scope="col">history</th>
            </tr>
          </thead>
          <tbody>
            {first.map((each) => (
              <tr key={each.name}>
                <th scope="row">
                  <Name name={each.name} link />
                </th>
                <td>
                  <bdi>{(each.severity ?? "").slice(0, 40)}</bdi>
                </td>
                <td class={`number ${each.firing ? "warn" : "soft"}`}>{whole(each.firing)}</td>
                <td class="number">{whole(each.pending)}</td>
                <td class="number">{whole(each.results)}</td>
                <td>
                  <a href={addressFor(["alerts"], { alert: each.name })} aria-label={`History of ${each.name.slice(0, 80)}`}>
                    show
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

function History({ name }: { name: string }): JSX.Element {
  const asked = useAsked<{ results: Result[] }>(`${pathOf(name)}/results?limit=${HISTORY}`, EVERY_MS);
  const results = asked.data?.results;
  return (
    <Card title="History" more={<span class="soft">the latest that are kept</span>}>
      {asked.error && <Problem>{asked.error}</Problem>}
      {results === undefined ? (
        !asked.error && <Waiting />
      ) : results.length === 0 ? (
        <Empty title="It has told nothing yet" />
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="History">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">at</th>
                <th scope="col">state</th>
                <th scope="col">key</th>
                <th scope="col">since</th>
                <th scope="col" class="number">bad</th>
                <th scope="col">row</th>
              </tr>
            </thead>
            <tbody>
              {results.map((each) => (
                <tr key={each.id}>
                  <th scope="row" class="time">
                    {cell(each.ts)}
                  </th>
                  <td>{each.alert && <State state={each.alert.state} />}</td>
                  <td>
                    <bdi>{each.alert && keyText(each.alert.key)}</bdi>
                  </td>
                  <td class="time">{each.alert && instant(each.alert.since)}</td>
                  <td class="number">{each.alert && whole(each.alert.count)}</td>
                  <td>
                    <bdi>{keyText(each.row)}</bdi>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
