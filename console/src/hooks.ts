// What screens have in common: the place in the address, and data that is asked for again and again.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, connection, Lost, Refused } from "./api";

export interface Place {
  parts: string[];
  values: URLSearchParams;
}

export function readPlace(): Place {
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { parts, values: new URLSearchParams(search) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function usePlace(): Place {
  const [place, setPlace] = useState(readPlace);
  useEffect(() => {
    const moved = () => setPlace(readPlace());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}

export function addressFor(parts: string[], values: Record<string, string | number | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export const queryAddress = (name: string): string => addressFor(["query", name]);

export interface Asked<T> {
  data: T | undefined;
  error: string;
  missing: boolean;
  again: () => void;
}

/** Ask for something now and every so often; not while nobody looks at the page. */
export function useAsked<T>(path: string | null, everyMs: number): Asked<T> {
  const [data, setData] = useState<T>();
  const [error, setError] = useState("");
  const [missing, setMissing] = useState(false);
  const trigger = useRef<() => void>(() => undefined);
  useEffect(() => {
    setError("");
    setMissing(false);
    if (path === null) return;
    const abort = new AbortController();
    let timer = 0;
    let isAsking = false;
    const look = async () => {
      clearTimeout(timer);
      if (isAsking || abort.signal.aborted) return;
      isAsking = true;
      try {
        setData(await ask<T>(path, { signal: abort.signal }));
        setError("");
        setMissing(false);
      } catch (problem) {
        if (abort.signal.aborted) return;
        if (problem instanceof Refused && problem.status !== 401) {
          setError(problem.message);
          setMissing(problem.status === 404);
        } else if (!(problem instanceof Lost) && !(problem instanceof Refused)) throw problem;
      } finally {
        isAsking = false;
        if (!abort.signal.aborted && !document.hidden) timer = window.setTimeout(look, everyMs);
      }
    };
    trigger.current = look;
    const seen = () => {
      if (!document.hidden) void look();
    };
    document.addEventListener("visibilitychange", seen);
    void look();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [path, everyMs]);
  return { data, error, missing, again: useCallback(() => trigger.current(), []) };
}

export function useConnection(): typeof connection {
  const [, setTick] = useState(0);
  useEffect(() => connection.listen(() => setTick((tick) => tick + 1)), []);
  return connection;
}

export function useDebounced<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title.slice(0, 80)} · cqc`;
  }, [title]);
}
