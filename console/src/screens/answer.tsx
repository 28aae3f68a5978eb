// An answer as a table and as a chart.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Chart } from "../chart";
import { cell, instant, isNumeric, short, whole } from "../format";
import type { Answer, Column } from "../types";
import { Empty, Rows } from "../widgets";

const MOST_ROWS = 500; // in the page
const MOST_BARS = 40;

export function AnswerView({ answer }: { answer: Answer }): JSX.Element {
  const numbers = answer.columns.filter((each) => isNumeric(each.type));
  const canChart = numbers.length > 0 && answer.rows.length > 1;
  const [form, setForm] = useState<"table" | "chart">("table");
  return (
    <div class="answer">
      {answer.warnings.map((each) => (
        <p class="note" key={each}>
          {each}
        </p>
      ))}
      {answer.rows.length === 0 ? (
        <Empty title="No rows">
          <p>At {instant(answer.at as string | number | null)} the answer is empty.</p>
        </Empty>
      ) : (
        <>
          {canChart && (
            <div class="tabs" role="group" aria-label="Show as">
              {(["table", "chart"] as const).map((each) => (
                <button type="button" key={each} aria-pressed={form === each} onClick={() => setForm(each)}>
                  {each === "table" ? "Table" : "Chart"}
                </button>
              ))}
              <span class="soft small">at {instant(answer.at as string | number | null)}</span>
            </div>
          )}
          {form === "chart" && canChart ? (
            <AnswerChart answer={answer} numbers={numbers} />
          ) : (
            <Rows label="Answer" columns={answer.columns} rows={answer.rows.slice(0, MOST_ROWS).map((row, at) => ({ key: String(at), row }))} />
          )}
          {form === "table" && answer.rows.length > MOST_ROWS && (
            <p class="soft small">
              The first {whole(MOST_ROWS)} of {whole(answer.rows.length)} rows.
            </p>
          )}
        </>
      )}
    </div>
  );
}

function AnswerChart({ answer, numbers }: { answer: Answer; numbers: Column[] }): JSX.Element {
  const others = answer.columns.filter((each) => !numbers.includes(each));
  const [value, setValue] = useState(numbers.at(-1)?.name ?? "");
  const [by, setBy] = useState(others[0]?.name ?? answer.columns[0]?.name ?? "");
  const byColumn = answer.columns.find((each) => each.name === by);
  const isTime = byColumn?.type === "TIMESTAMP";
  const isLine = isTime || (byColumn !== undefined && isNumeric(byColumn.type) && answer.rows.length > MOST_BARS);
  return (
    <>
      <div class="tools">
        <Choice label="Value" value={value} options={numbers} onChange={setValue} />
        <Choice label="By" value={by} options={answer.columns} onChange={setBy} />
      </div>
      {isLine ? <Line answer={answer} by={by} value={value} isTime={isTime} /> : <Bars answer={answer} by={by} value={value} />}
    </>
  );
}

function Choice(props: { label: string; value: string; options: Column[]; onChange: (name: string) => void }): JSX.Element {
  return (
    <label>
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map((each) => (
          <option key={each.name} value={each.name}>
            {each.name.slice(0, 60)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Line(props: { answer: Answer; by: string; value: string; isTime: boolean }): JSX.Element {
  const points = props.answer.rows
    .map((row) => [props.isTime ? Date.parse(String(row[props.by])) / 1000 : Number(row[props.by]), Number(row[props.value])] as const)
    .filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y))
    .sort(([a], [b]) => a - b);
  return (
    <Chart
      label={`${props.value} by ${props.by}`}
      at={points.map(([x]) => x)}
      isNumber={!props.isTime}
      height={240}
      series={[{ label: props.value, color: "--accent", values: points.map(([, y]) => y) }]}
    />
  );
}

function Bars(props: { answer: Answer; by: string; value: string }): JSX.Element {
  const rows = props.answer.rows.slice(0, MOST_BARS);
  const most = Math.max(...rows.map((row) => Math.abs(Number(row[props.value]) || 0)), 1e-9);
  return (
    <>
      <ul class="bars" aria-label={`${props.value} by ${props.by}`}>
        {rows.map((row, at) => {
          const value = Number(row[props.value]) || 0;
          return (
            <li key={at}>
              <bdi class="bar-name">{cell(row[props.by]).slice(0, 60)}</bdi>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect width={(100 * Math.abs(value)) / most} height="10" rx="1" class={value < 0 ? "bar-negative" : "bar-cost"} />
              </svg>
              <span class="number">{short(value)}</span>
            </li>
          );
        })}
      </ul>
      {props.answer.rows.length > MOST_BARS && (
        <p class="soft small">
          The first {MOST_BARS} of {whole(props.answer.rows.length)} rows.
        </p>
      )}
    </>
  );
}
