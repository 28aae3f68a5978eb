// The editor of queries. It lives in a shadow root: there its styles are adopted sheets, which the strict policy of the page allows.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Checked, Schema } from "./types";

type Made = { destroy: () => void; setText: (text: string) => void };

/** A text for the editor to begin with, or to show instead; another number, another text. */
export interface Seed {
  text: string;
  number: number;
}

export function Editor(props: {
  seed: Seed;
  schema: Schema | undefined;
  check: (text: string) => Promise<Checked | undefined>;
  onText: (text: string) => void;
  onRun?: () => void;
  label: string;
}): JSX.Element {
  const home = useRef<HTMLDivElement>(null);
  const made = useRef<Made | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    let isGone = false;
    const element = home.current;
    if (!element) return;
    void import("./editor_view").then(({ makeEditor }) => {
      if (isGone) return;
      made.current = makeEditor(element, {
        text: latest.current.seed.text,
        label: latest.current.label,
        schema: () => latest.current.schema,
        check: (text) => latest.current.check(text),
        onText: (text) => latest.current.onText(text),
        onRun: () => latest.current.onRun?.(),
      });
    });
    return () => {
      isGone = true;
      made.current?.destroy();
      made.current = null;
    };
  }, []);
  // What is typed goes out only: were it put back in, a page that lags behind would undo what was typed since.
  useEffect(() => made.current?.setText(props.seed.text), [props.seed.number]);
  return <div class="editor" ref={home} />;
}
