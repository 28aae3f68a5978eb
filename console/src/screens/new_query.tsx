// A new query, or another text for one that is there: written, checked as it is typed, tried over the retained past, registered.

import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, pathOf, Refused } from "../api";
import { Chart } from "../chart";
import { Editor, type Seed } from "../editor";
import { counted, seconds, short, whole } from "../format";
import { queryAddress, useAsked, useTitle } from "../hooks";
import type { Checked, Previewed, QueryInfo, Schema } from "../types";
import { Card, Confirm, Empty, Kind, Name, Plan, Problem, Rows } from "../widgets";
import { AnswerView } from "./answer";
import type { ScreenProps } from ".";

const NEVER_MS = 3_600_000;

export function useChecker(): { check: (text: string, name?: string) => Promise<Checked | undefined>; checked: Checked | undefined } {
  const [checked, setChecked] = useState<Checked>();
  const abort = useRef<AbortController>();
  const check = useCallback(async (text: string, name?: string) => {
    abort.current?.abort();
    const own = (abort.current = new AbortController());
    if (!text.trim()) {
      setChecked(undefined);
      return undefined;
    }
    try {
      const found = await ask<Checked>("check", { method: "POST", body: { text, name: name || undefined }, signal: own.signal });
      setChecked(found);
      return found;
    } catch {
      return undefined; // aborted, or the connection is lost, which the page says already
    }
  }, []);
  return { check, checked };
}

function exampleOf(schema: Schema): string {
  const stream = schema.relations.find((each) => each.kind === "stream");
  if (!stream) return "";
  const number = stream.columns.find((each) => each.type === "DOUBLE") ?? stream.columns.find((each) => each.type === "BIGINT" && each.name !== stream.event_time);
  const columns = stream.columns.slice(0, 4).map((each) => each.name).join(", ");
  return `SELECT ${columns}\nFROM   ${stream.name}${number ? `\nWHERE  ${number.name} > 100` : ""}`;
}

export function NewScreen(props: ScreenProps): JSX.Element {
  const given = props.place.values;
  const old = given.get("name") ?? "";
  useTitle(old ? `Change ${old}` : "New query");
  const [text, setText] = useState(given.get("text") ?? "");
  const [seed, setSeed] = useState<Seed>({ text, number: 0 });
  const begin = (other: string) => {
    setText(other);
    setSeed((before) => ({ text: other, number: before.number + 1 }));
  };
  const [name, setName] = useState(old);
  const schema = useAsked<Schema>("schema", NEVER_MS).data;
  const { check, checked } = useChecker();
  const mayRegister = props.overview === undefined || props.overview.role !== "reader";
  const latestName = useRef(name);
  latestName.current = name;
  const checkThis = useCallback((now: string) => check(now, latestName.current), [check]);
  useEffect(() => {
    void check(text, name);
  }, [name]);
  useEffect(() => {
    begin(given.get("text") ?? "");
    setName(given.get("name") ?? "");
  }, [given.toString()]);

  const [preview, setPreview] = useState<Previewed>();
  const [previewed, setPreviewed] = useState("");
  const [problem, setProblem] = useState("");
  const [isTrying, setTrying] = useState(false);
  const [isSending, setSending] = useState(false);
  const [isSure, setSure] = useState(false);

  const tryIt = async () => {
    setTrying(true);
    setProblem("");
    try {
      setPreview(await ask<Previewed>("preview", { method: "POST", body: { text } }));
      setPreviewed(text);
    } catch (error) {
      setPreview(undefined);
      setProblem((error as Error).message);
    } finally {
      setTrying(false);
    }
  };
  const send = async (replace: boolean) => {
    setSure(false);
    setSending(true);
    setProblem("");
    try {
      const wanted = name || checked?.name || undefined;
      const found =
        replace && wanted
          ? await ask<QueryInfo>(pathOf(wanted), { method: "PUT", body: { text } })
          : await ask<QueryInfo>("queries", { method: "POST", body: { text, name: name || undefined } });
      location.hash = queryAddress(found.name);
    } catch (error) {
      setProblem(error instanceof Refused || error instanceof Error ? error.message : String(error));
    } finally {
      setSending(false);
    }
  };
  const isReady = Boolean(checked?.ok && text.trim());
  return (
    <>
      <header class="screen-head">
        <h1>{old ? "Change a query" : "New query"}</h1>
      </header>
      <div class="two wide-left">
        <Card label="The query">
          <Editor seed={seed} schema={schema} check={checkThis} onText={setText} onRun={tryIt} label="Text of the query" />
          {!text && schema && (
            <p class="small soft">
              Begin with a SELECT, or{" "}
              <button type="button" class="link" onClick={() => begin(exampleOf(schema))}>
                take an example
              </button>
              . Streams and columns are completed as you type.
            </p>
          )}
          <Mistakes checked={text.trim() ? checked : undefined} />
          <div class="tools spread">
            <label>
              <span>Name</span>
              <input type="text" value={name} placeholder={checked?.name ?? "the next free q1, q2, …"} maxLength={200} spellcheck={false} onInput={(event) => setName(event.currentTarget.value)} />
            </label>
            <div class="buttons">
              <button type="button" onClick={tryIt} disabled={!isReady || isTrying} title="Ctrl-Enter">
                {isTrying ? "Going through the past…" : "Preview"}
              </button>
              {mayRegister && (
                <button type="button" class="main" disabled={!isReady || isSending} onClick={() => (checked?.replaces ? setSure(true) : void send(false))}>
                  {checked?.replaces ? "Replace" : "Register"}
                </button>
              )}
            </div>
          </div>
          {problem && <Problem>{problem}</Problem>}
          {isSure && (
            <Confirm title="Replace this query?" action="Replace" onYes={() => void send(true)} onNo={() => setSure(false)}>
              <p>
                <Name name={name || checked?.name || ""} /> goes on with the new text between two micro-batches. Its counters begin anew.
              </p>
            </Confirm>
          )}
        </Card>
        <Card title="How it will be answered">{checked?.ok && text.trim() ? <Answered checked={checked} /> : <Empty title={checked && text.trim() ? "There are mistakes to put right first" : "The plan appears as you type"} />}</Card>
      </div>
      {preview && <PreviewCard preview={preview} isOld={previewed !== text} />}
    </>
  );
}

export function Mistakes({ checked }: { checked: Checked | undefined }): JSX.Element {
  return (
    <ul class="mistakes" aria-live="polite">
      {checked?.diagnostics.map((each, at) => (
        <li key={at}>
          <span class="code-place">
            {each.line}:{each.column} {each.code}
          </span>{" "}
          <strong>{each.message}</strong>
          {each.detail && <span class="soft"> {each.detail}</span>}
          {each.hint && <span class="hint"> {each.hint}</span>}
        </li>
      ))}
    </ul>
  );
}

function Answered({ checked }: { checked: Checked }): JSX.Element {
  return (
    <>
      <p>
        <Kind kind={checked.kind ?? "push"} />{" "}
        {checked.shared_with > 0 ? (
          <>
            It will share its operator with <strong>{counted(checked.shared_with, "query", "queries")}</strong> that {checked.shared_with === 1 ? "is" : "are"} there already.
          </>
        ) : (
          "It will be the first at its operator."
        )}
      </p>
      {checked.same_question.length > 0 && (
        <p class="note">
          The same conditions are asked by{" "}
          {checked.same_question.map((each, at) => (
            <span key={each}>
              {at > 0 && ", "}
              <Name name={each} link />
            </span>
          ))}
          : they are evaluated once for all.
        </p>
      )}
      <Plan facts={checked.plan} />
    </>
  );
}

function PreviewCard({ preview, isOld }: { preview: Previewed; isOld: boolean }): JSX.Element {
  const over = preview.over_time;
  return (
    <Card
      title="Preview over the retained past"
      more={
        <span class="soft small">
          {counted(preview.rows, "row")} in {seconds(preview.seconds)}
        </span>
      }
      class={isOld ? "old" : ""}
    >
      {isOld && <p class="note">The text has changed since this preview.</p>}
      {preview.cut && <p class="note">{preview.cut}</p>}
      {preview.answer ? (
        <AnswerView answer={preview.answer} />
      ) : preview.results === 0 ? (
        <Empty title="It would have found nothing">
          <p>In the {counted(preview.rows, "row")} that are kept, no row meets its conditions.</p>
        </Empty>
      ) : (
        <>
          <p class="headline">
            <strong>{whole(preview.results)}</strong> {preview.results === 1 ? "result" : "results"}
            {preview.rows > 0 && <span class="soft">, {short((1000 * preview.results) / preview.rows)} for 1,000 rows</span>}
          </p>
          {over && (
            <Chart
              label="Results by event time"
              at={over.counts.map((_, at) => over.begin + at * over.seconds)}
              isNumber={over.is_number}
              height={130}
              series={[{ label: "results", color: "--join", values: over.counts, bars: true }]}
            />
          )}
          <Rows
            label="Latest results of the preview"
            columns={preview.columns}
            timeTitle={preview.kind === "push" ? "time" : "at"}
            rows={preview.latest.map((each, at) => ({ key: String(at), time: each.ts ?? each.at, row: each.row }))}
          />
        </>
      )}
    </Card>
  );
}
