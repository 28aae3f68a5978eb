// Small parts that every screen uses.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { cell, isNumeric } from "./format";
import { queryAddress } from "./hooks";
import type { Column, Fact, Row, Value } from "./types";

export function Card(props: {
  title?: ComponentChildren;
  more?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
  label?: string;
}): JSX.Element {
  return (
    <section class={`card ${props.class ?? ""}`} aria-label={props.label}>
      {props.title !== undefined && (
        <header class="card-head">
          <h2>{props.title}</h2>
          {props.more}
        </header>
      )}
      {props.children}
    </section>
  );
}

export function Stat(props: { label: string; value: ComponentChildren; more?: ComponentChildren; tone?: string }): JSX.Element {
  return (
    <div class={`stat ${props.tone ?? ""}`}>
      <dt>{props.label}</dt>
      <dd>
        <span class="stat-value">{props.value}</span>
        {props.more !== undefined && <span class="stat-more">{props.more}</span>}
      </dd>
    </div>
  );
}

export function Name(props: { name: string; link?: boolean }): JSX.Element {
  const shown = props.name.length > 120 ? `${props.name.slice(0, 120)}…` : props.name;
  const inner = <bdi class="name">{shown}</bdi>;
  return props.link ? (
    <a class="name-link" href={queryAddress(props.name)} title={props.name.slice(0, 400)}>
      {inner}
    </a>
  ) : (
    inner
  );
}

const KINDS: Record<string, string> = {
  push: "delivers as it happens",
  pull: "answers when asked",
  every: "answers at regular instants",
  stopped: "stopped by the service",
};

export const Kind = (props: { kind: string }): JSX.Element => (
  <span class={`kind kind-${props.kind}`} title={KINDS[props.kind]}>
    {props.kind}
  </span>
);

export const Empty = (props: { title: string; children?: ComponentChildren }): JSX.Element => (
  <div class="empty">
    <p class="empty-title">{props.title}</p>
    {props.children}
  </div>
);

export const Waiting = (props: { what?: string }): JSX.Element => (
  <div class="waiting" role="status">
    <span class="dots" aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
    {props.what ?? "Loading"}
  </div>
);

export const Problem = (props: { children: ComponentChildren }): JSX.Element => (
  <p class="problem" role="alert">
    {props.children}
  </p>
);

export function Plan(props: { facts: Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {props.facts.map((each, at) => (
        <div key={at}>
          <dt>{at && props.facts[at - 1]?.what === each.what ? "" : each.what}</dt>
          <dd>{each.text}</dd>
        </div>
      ))}
    </dl>
  );
}

const MOST_CELL = 300;

function shownCell(value: Value | undefined): JSX.Element | string {
  if (value === null || value === undefined) return <span class="null">NULL</span>;
  const text = cell(value);
  return text.length > MOST_CELL ? `${text.slice(0, MOST_CELL)}…` : text;
}

/** Rows as a table; no more than `most` of them are in the page. */
export function Rows(props: {
  columns: Column[];
  rows: { key: string; time?: Value; row: Row; query?: string }[];
  timeTitle?: string;
  withQuery?: boolean;
  label: string;
}): JSX.Element {
  const { columns } = props;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={props.label}>
      <table class="rows">
        <thead>
          <tr>
            {props.timeTitle && <th scope="col">{props.timeTitle}</th>}
            {props.withQuery && <th scope="col">query</th>}
            {columns.map((each) => (
              <th scope="col" class={isNumeric(each.type) ? "number" : ""} key={each.name}>
                <bdi>{each.name.slice(0, 60)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((each) => (
            <tr key={each.key}>
              {props.timeTitle && <td class="time">{cell(each.time)}</td>}
              {props.withQuery && (
                <td>
                  <Name name={each.query ?? ""} link />
                </td>
              )}
              {columns.map((column) => (
                <td class={isNumeric(column.type) ? "number" : "text"} key={column.name}>
                  <bdi>{shownCell(each.row[column.name])}</bdi>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A question before something that cannot be undone. */
export function Confirm(props: {
  title: string;
  children: ComponentChildren;
  action: string;
  onYes: () => void;
  onNo: () => void;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} onClose={props.onNo} aria-labelledby="confirm-title">
      <h2 id="confirm-title">{props.title}</h2>
      <div class="dialog-text">{props.children}</div>
      <div class="buttons end">
        <button type="button" onClick={props.onNo}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={props.onYes}>
          {props.action}
        </button>
      </div>
    </dialog>
  );
}

export function CopyButton(props: { text: string; what: string }): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      // without permission the text can still be selected
    }
  };
  return (
    <button type="button" class="quiet" onClick={copy} aria-label={`Copy ${props.what}`}>
      {done ? "Copied" : "Copy"}
    </button>
  );
}
