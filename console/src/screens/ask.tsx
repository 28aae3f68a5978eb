// Any question about the past, answered at once: a query that is registered, or one written here.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask, pathOf } from "../api";
import { Editor, type Seed } from "../editor";
import { counted, seconds } from "../format";
import { useAsked, useTitle } from "../hooks";
import type { Answer, Previewed, QueryList, Schema } from "../types";
import { Card, Empty, Name, Problem } from "../widgets";
import { AnswerView } from "./answer";
import { Mistakes, useChecker } from "./new_query";
import type { ScreenProps } from ".";

const NEVER_MS = 3_600_000;

function exampleOf(schema: Schema): string {
  const stream = schema.relations.find((each) => each.kind === "stream");
  if (!stream) return "";
  const by = stream.columns.find((each) => each.type === "STRING") ?? stream.columns.find((each) => each.type === "BIGINT" && each.name !== stream.event_time);
  const group = by ? `${by.name}, ` : "";
  return `SELECT ${group}COUNT(*) AS n\nFROM   ${stream.name}${by ? `\nGROUP BY ${by.name}` : ""}\nBEGIN NOW - 10 MIN END NOW`;
}

export function AskScreen(props: ScreenProps): JSX.Element {
  useTitle("Ask");
  const [text, setText] = useState(props.place.values.get("text") ?? "");
  const [seed, setSeed] = useState<Seed>({ text, number: 0 });
  const begin = (other: string) => {
    setText(other);
    setSeed((before) => ({ text: other, number: before.number + 1 }));
  };
  const [at, setAt] = useState("");
  const [asked, setAsked] = useState<{ answer: Answer; rows: number; cut: string; seconds: number; name: string }>();
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const schema = useAsked<Schema>("schema", NEVER_MS).data;
  const registered = useAsked<QueryList>("queries?kind=pull,every&sort=results&descending=true&limit=30&brief=true", 15_000).data;
  const { check, checked } = useChecker();
  const isPush = checked?.ok && checked.kind === "push";

  const run = async (question: () => Promise<{ answer: Answer; rows: number; cut: string; name: string }>) => {
    setBusy(true);
    setProblem("");
    const started = performance.now();
    try {
      setAsked({ ...(await question()), seconds: (performance.now() - started) / 1000 });
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  const askText = () =>
    run(async () => {
      const found = await ask<Previewed>("preview", { method: "POST", body: { text, at: at || undefined } });
      if (!found.answer) throw new Error("This query delivers as things happen. Add BEGIN and END to ask about the past, without EVERY.");
      return { answer: found.answer, rows: found.rows, cut: found.cut, name: "" };
    });
  const askQuery = (name: string) =>
    run(async () => {
      const answer = await ask<Answer>(`${pathOf(name)}/invoke${at ? `?at=${encodeURIComponent(at)}` : ""}`);
      return { answer, rows: 0, cut: "", name };
    });
  return (
    <>
      <header class="screen-head">
        <h1>Ask</h1>
        <p class="soft">about the rows that are kept; nothing is registered</p>
      </header>
      <div class="two wide-left">
        <Card label="The question">
          <Editor seed={seed} schema={schema} check={check} onText={setText} onRun={askText} label="The question" />
          {!text && schema && (
            <p class="small soft">
              A SELECT with BEGIN and END, or{" "}
              <button type="button" class="link" onClick={() => begin(exampleOf(schema))}>
                take an example
              </button>
              .
            </p>
          )}
          <Mistakes checked={text.trim() ? checked : undefined} />
          {isPush && <p class="note">This query delivers as things happen. Add BEGIN and END to ask about the past.</p>}
          <div class="tools spread">
            <label>
              <span>At</span>
              <input type="text" value={at} placeholder="the latest instant" spellcheck={false} onInput={(event) => setAt(event.currentTarget.value)} />
            </label>
            <button type="button" class="main" disabled={isBusy || !checked?.ok || isPush || !text.trim()} onClick={askText} title="Ctrl-Enter">
              Ask
            </button>
          </div>
        </Card>
        <Card title="Registered questions">
          {!registered || registered.queries.length === 0 ? (
            <Empty title="None yet">
              <p>Queries with BEGIN and END appear here.</p>
            </Empty>
          ) : (
            <ul class="ask-list" tabIndex={0} aria-label="Registered questions">
              {registered.queries.map((each) => (
                <li key={each.id}>
                  <Name name={each.name} link />
                  <button type="button" class="quiet" disabled={isBusy} onClick={() => void askQuery(each.name)} aria-label={`Ask ${each.name.slice(0, 100)}`}>
                    Ask
                  </button>
                </li>
              ))}
            </ul>
          )}
        </Card>
      </div>
      {problem && <Problem>{problem}</Problem>}
      {asked && (
        <Card
          title={asked.name ? <Name name={asked.name} link /> : "Answer"}
          more={
            <span class="soft small" role="status">
              {counted(asked.answer.rows.length, "row")} in {seconds(asked.seconds)}
              {asked.rows > 0 && `, from ${counted(asked.rows, "retained row")}`}
            </span>
          }
        >
          {asked.cut && <p class="note">{asked.cut}</p>}
          <AnswerView key={`${asked.name}${asked.seconds}`} answer={asked.answer} />
        </Card>
      )}
    </>
  );
}
