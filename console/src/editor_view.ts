// CodeMirror with what it knows of the language: words to complete, mistakes as the service finds them.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting, bracketMatching } from "@codemirror/language";
import { linter, lintKeymap, type Diagnostic as Mark } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Checked, Schema } from "./types";

interface Given {
  text: string;
  label: string;
  schema: () => Schema | undefined;
  check: (text: string) => Promise<Checked | undefined>;
  onText: (text: string) => void;
  onRun: () => void;
}

const UNITS = new Set("US MS SEC SECOND SECONDS MIN MINUTE MINUTES HOUR HOURS DAY DAYS WEEK WEEKS".split(" "));

function language(schema: () => Schema | undefined) {
  let known: Schema | undefined;
  let words = new Set<string>();
  let functions = new Set<string>();
  return StreamLanguage.define({
    token(stream) {
      const found = schema();
      if (found && found !== known) {
        known = found;
        words = new Set(found.keywords);
        functions = new Set(found.functions.map((each) => each.name.toUpperCase()));
      }
      if (stream.eatSpace()) return null;
      if (stream.match(/^--.*/)) return "comment";
      if (stream.match(/^'(?:[^']|'')*'?/)) return "string";
      if (stream.match(/^"(?:[^"]|"")*"?/) || stream.match(/^`(?:[^`]|``)*`?/)) return "variableName";
      if (stream.match(/^(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/)) return "number";
      const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u) as RegExpMatchArray | null;
      if (word) {
        const upper = word[0].toUpperCase();
        if (words.has(upper)) return "keyword";
        if (UNITS.has(upper)) return "unit";
        return functions.has(upper) && /^\s*\(/.test(stream.string.slice(stream.pos)) ? "function" : "name";
      }
      stream.next();
      return "operator";
    },
    tokenTable: { unit: tags.unit, function: tags.function(tags.variableName), name: tags.name },
    languageData: { commentTokens: { line: "--" }, closeBrackets: { brackets: ["(", "'", '"'] } },
  });
}

const COLORS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: [tags.number, tags.unit], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: tags.function(tags.variableName), color: "var(--code-function)" },
]);

const LOOK = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--sunken)", fontSize: "14px", borderRadius: "8px", border: "1px solid var(--line)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--mono)", padding: "10px 0", minHeight: "140px", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 12px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--soft)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: "var(--picked) !important" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "8px", overflow: "hidden" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.75", fontStyle: "normal" },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--sans)" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--bad)" },
  ".cm-placeholder": { color: "var(--soft)" },
  ".cm-scroller": { overflow: "auto", maxHeight: "50vh" },
});

const plain = (name: string): string => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

function complete(schema: () => Schema | undefined) {
  return (context: CompletionContext): CompletionResult | null => {
    const known = schema();
    const word = context.matchBefore(/[\p{L}\p{N}_]*/u);
    if (!known || !word || (word.from === word.to && !context.explicit && context.state.sliceDoc(word.from - 1, word.from) !== ".")) return null;
    const text = context.state.doc.toString();
    const before = context.state.sliceDoc(Math.max(0, word.from - 200), word.from);
    const owner = /([\p{L}\p{N}_]+)\.$/u.exec(before)?.[1];
    const named = known.relations.filter((each) => new RegExp(`\\b${each.name.replace(/[^\w]/g, ".")}\\b`, "i").test(text));
    if (owner) {
      const alias = new RegExp(`\\b([\\p{L}\\p{N}_]+)\\s+(?:AS\\s+)?${owner}\\b`, "iu").exec(text)?.[1];
      const relation = known.relations.find((each) => [owner, alias].some((name) => name?.toLowerCase() === each.name.toLowerCase()));
      return relation ? { from: word.from, options: columnsOf(relation) } : null;
    }
    const options: Completion[] = [
      ...(named.length ? named : known.relations).flatMap(columnsOf),
      ...known.relations.map((each) => ({ label: plain(each.name), type: "class", detail: each.kind, boost: 1 })),
      ...known.functions.map((each) => ({ label: each.name, type: "function", detail: `(${each.arguments})`, info: each.summary })),
      ...known.keywords.map((each) => ({ label: each, type: "keyword", boost: -1 })),
    ];
    return { from: word.from, options: unique(options), validFor: /^[\p{L}\p{N}_]*$/u };
  };
}

const columnsOf = (relation: Schema["relations"][number]): Completion[] =>
  relation.columns.map((each) => ({ label: plain(each.name), type: "property", detail: each.type, boost: 2 }));

function unique(options: Completion[]): Completion[] {
  const seen = new Set<string>();
  return options.filter((each) => !seen.has(`${each.type} ${each.label}`) && seen.add(`${each.type} ${each.label}`));
}

function marksOf(checked: Checked, state: EditorState): Mark[] {
  const place = (line: number, column: number) => {
    const found = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
    return Math.min(found.from + column - 1, found.to);
  };
  return checked.diagnostics.map((each) => {
    const from = place(each.line, each.column);
    const to = Math.max(place(each.end_line, each.end_column), from);
    const message = [each.message, each.detail, each.hint].filter(Boolean).join("\n");
    return { from, to, severity: each.severity === "warning" ? "warning" : "error", message, source: each.code };
  });
}

export function makeEditor(home: HTMLElement, given: Given) {
  const root = home.shadowRoot ?? home.attachShadow({ mode: "open" });
  root.replaceChildren();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: given.text,
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (given.onRun(), true) }])),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        language(given.schema),
        syntaxHighlighting(COLORS),
        autocompletion({ override: [complete(given.schema)], icons: false }),
        linter(
          async (at) => {
            const text = at.state.doc.toString();
            if (!text.trim()) return [];
            const checked = await given.check(text);
            return checked ? marksOf(checked, at.state) : [];
          },
          { delay: 350 },
        ),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.lineWrapping,
        placeholder("SELECT ... FROM ... WHERE ..."),
        EditorView.contentAttributes.of({ "aria-label": given.label, "aria-multiline": "true", role: "textbox", spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) given.onText(update.state.doc.toString());
        }),
        LOOK,
      ],
    }),
  });
  return {
    destroy: () => view.destroy(),
    setText: (text: string) => {
      if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
  };
}
