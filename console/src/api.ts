// How the console speaks to its service: JSON requests and event streams, each with the token, relative to where the page is.

export interface Diagnostic {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  code: string;
  severity: string;
  message: string;
  hint: string | null;
  detail: string | null;
}

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly diagnostics: Diagnostic[] = [],
  ) {
    super(message);
  }
}

export class Lost extends Error {}

const KEY = "cqc-token";
let token = readToken();

function readToken(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage may be forbidden; the token is then asked for at each visit
  }
}

export function setToken(given: string): void {
  token = given;
  try {
    if (given) sessionStorage.setItem(KEY, given);
    else sessionStorage.removeItem(KEY);
  } catch {
    // kept in memory only
  }
}

export const hasToken = (): boolean => token !== "";

type Listener = () => void;

/** What the whole page should know of the connection. */
class Connection {
  state: "ok" | "lost" | "refused" = "ok";
  reason = "";
  private readonly listeners = new Set<Listener>();

  become(state: Connection["state"], reason = ""): void {
    if (state === this.state && reason === this.reason) return;
    this.state = state;
    this.reason = reason;
    for (const each of this.listeners) each();
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export const connection = new Connection();

export function addressOf(path: string): string {
  return new URL(path.replace(/^\//, ""), document.baseURI.replace(/#.*$/, "")).href;
}

export const pathOf = (name: string): string => `queries/${encodeURIComponent(name)}`;

function headersWith(more: Record<string, string>): Record<string, string> {
  return token ? { ...more, authorization: `Bearer ${token}` } : more;
}

async function refusal(answer: Response): Promise<Refused> {
  let message = `the service answered ${answer.status}`;
  let diagnostics: Diagnostic[] = [];
  try {
    const problem = await answer.json();
    message = problem.error ?? message;
    diagnostics = problem.diagnostics ?? [];
  } catch {
    // not JSON: the status has to do
  }
  if (answer.status === 401) connection.become("refused", token ? "This token is not accepted." : "");
  return new Refused(answer.status, message, diagnostics);
}

export async function ask<T>(
  path: string,
  more: { method?: string; body?: unknown; signal?: AbortSignal } = {},
): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(addressOf(path), {
      method: more.method ?? "GET",
      headers: headersWith({
        accept: "application/json",
        ...(more.body === undefined ? {} : { "content-type": "application/json" }),
      }),
      body: more.body === undefined ? undefined : JSON.stringify(more.body),
      signal: more.signal,
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (more.signal?.aborted) throw error;
    connection.become("lost");
    throw new Lost("there is no connection to the service");
  }
  if (answer.status === 502 || answer.status === 504) connection.become("lost");
  if (!answer.ok) throw await refusal(answer);
  if (connection.state !== "ok") connection.become("ok");
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

export interface Event {
  id: string;
  kind: string;
  data: string;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;

/** Follow an event stream until the signal says stop; after a break it goes on from the last id. */
export async function follow(
  path: string,
  signal: AbortSignal,
  onEvents: (events: Event[]) => void,
  onState: (state: "live" | "waiting") => void,
): Promise<void> {
  let last = "";
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const headers = headersWith({ accept: "text/event-stream", ...(last ? { "last-event-id": last } : {}) });
      const answer = await fetch(addressOf(path), { headers, signal, cache: "no-store" });
      if (!answer.ok || !answer.body) {
        const problem = await refusal(answer);
        if (answer.status < 500) throw problem;
        throw new Lost(problem.message);
      }
      if (connection.state === "lost") connection.become("ok");
      onState("live");
      pause = FIRST_PAUSE_MS;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop() ?? "";
        const events = parts.map(parse);
        for (const each of events) last = each.id || last;
        const told = events.filter((each) => each.kind);
        if (told.length) onEvents(told);
        if (told.some((each) => each.kind === "end" && !each.data.includes('"stopped"'))) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) throw error;
      if (!(error instanceof Lost)) connection.become("lost");
    }
    onState("waiting");
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

function parse(text: string): Event {
  const found: Event = { id: "", kind: "", data: "" };
  for (const line of text.split("\n")) {
    if (line.startsWith("id: ")) found.id = line.slice(4);
    else if (line.startsWith("event: ")) found.kind = line.slice(7);
    else if (line.startsWith("data: ")) found.data = line.slice(6);
  }
  return found;
}
