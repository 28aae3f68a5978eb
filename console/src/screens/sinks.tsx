// Sinks: what they have sent, what waits, what failed; and a test result for each.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, Lost, Refused } from "../api";
import { bytes, counted, instant, short, whole } from "../format";
import { useAsked, useTitle } from "../hooks";
import type { SinkInfo, SinkList } from "../types";
import { Card, Empty, Problem, Waiting } from "../widgets";
import type { ScreenProps } from ".";

const EVERY_MS = 2000;

interface Seen {
  at: number;
  sent: Record<string, number>;
}

/** Results a second of each sink, from two looks at what it has sent. */
function useRates(sinks: SinkInfo[] | undefined): Record<string, number> {
  const before = useRef<Seen>();
  const [rates, setRates] = useState<Record<string, number>>({});
  useEffect(() => {
    if (!sinks) return;
    const now: Seen = { at: performance.now(), sent: Object.fromEntries(sinks.map((each) => [each.name, each.sent])) };
    const last = before.current;
    before.current = now;
    if (!last || now.at <= last.at) return;
    const passed = (now.at - last.at) / 1000;
    setRates(Object.fromEntries(sinks.map((each) => [each.name, Math.max(each.sent - (last.sent[each.name] ?? each.sent), 0) / passed])));
  }, [sinks]);
  return rates;
}

export function SinksScreen(props: ScreenProps): JSX.Element {
  useTitle("Sinks");
  const asked = useAsked<SinkList>("sinks", EVERY_MS);
  const sinks = asked.data?.sinks;
  const rates = useRates(sinks);
  const mayTest = props.overview?.role === "admin";
  return (
    <>
      <header class="screen-head">
        <h1>Sinks</h1>
        {sinks && <p class="soft">{counted(sinks.length, "sink")}</p>}
      </header>
      {asked.error && <Problem>{asked.error}</Problem>}
      <Card>
        {sinks === undefined ? (
          !asked.error && <Waiting />
        ) : sinks.length === 0 ? (
          <Empty title="No sinks">
            <p>CREATE SINK names a receiver, and INTO the queries that send their results there.</p>
          </Empty>
        ) : (
          <div class="scroll" tabIndex={0} role="region" aria-label="Sinks">
            <table class="list">
              <thead>
                <tr>
                  <th scope="col">name</th>
                  <th scope="col">type</th>
                  <th scope="col">state</th>
                  <th scope="col" class="number">a second</th>
                  <th scope="col" class="number">sent</th>
                  <th scope="col" class="number">waiting</th>
                  <th scope="col" class="number">failures</th>
                  <th scope="col" class="number">dead letters</th>
                  <th scope="col" class="number">dropped</th>
                  <th scope="col">last sent</th>
                  <th scope="col">test</th>
                </tr>
              </thead>
              <tbody>
                {sinks.map((each) => (
                  <Sink key={each.name} sink={each} rate={rates[each.name] ?? 0} mayTest={mayTest} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Card>
    </>
  );
}

function Sink({ sink, rate, mayTest }: { sink: SinkInfo; rate: number; mayTest: boolean }): JSX.Element {
  const [said, setSaid] = useState("");
  const [isTesting, setTesting] = useState(false);
  const test = async () => {
    setTesting(true);
    try {
      const found = await ask<{ id: string }>(`sinks/${encodeURIComponent(sink.name)}/test`, { method: "POST" });
      setSaid(`The receiver took the test result ${found.id}.`);
    } catch (problem) {
      if (!(problem instanceof Refused) && !(problem instanceof Lost)) throw problem;
      setSaid(`The test failed: ${problem.message}`);
    } finally {
      setTesting(false);
    }
  };
  return (
    <>
      <tr>
        <th scope="row">
          <bdi class="name">{sink.name.slice(0, 120)}</bdi>
        </th>
        <td>{sink.type}</td>
        <td>{sink.is_failing ? <span class="bad">failing</span> : "working"}</td>
        <td class="number">{short(rate)}</td>
        <td class="number">{short(sink.sent)}</td>
        <td class={`number ${sink.waiting ? "warn" : "soft"}`}>
          {short(sink.waiting)}
          {sink.waiting > 0 && ` (${bytes(sink.waiting_bytes)})`}
        </td>
        <td class={`number ${sink.failures ? "warn" : "soft"}`}>{whole(sink.failures)}</td>
        <td class={`number ${sink.dead ? "warn" : "soft"}`}>{whole(sink.dead)}</td>
        <td class={`number ${sink.dropped ? "warn" : "soft"}`}>{whole(sink.dropped)}</td>
        <td class="time">{sink.last_sent ? instant(new Date(sink.last_sent * 1000).toISOString()) : "never"}</td>
        <td>
          {mayTest && (
            <button type="button" class="quiet" disabled={isTesting} onClick={test} aria-label={`Test ${sink.name.slice(0, 80)}`}>
              Test
            </button>
          )}
        </td>
      </tr>
      {(sink.last_error || said) && (
        <tr class="under">
          <td colSpan={11}>
            {sink.last_error && <span class="reason">{sink.last_error.slice(0, 400)}</span>}
            {said && <span role="status"> {said.slice(0, 400)}</span>}
          </td>
        </tr>
      )}
    </>
  );
}
