// Numbers, sizes and times as people read them.

import type { Value } from "./types";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const whole = (value: number): string => WHOLE.format(value);

/** 1,234 as it is; 1,234,567 as 1.23M. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(2)}G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(2)}M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)}k`;
  if (size >= 100 || Number.isInteger(value)) return whole(value);
  return value === 0 ? "0" : size >= 10 ? value.toFixed(1) : size < 0.01 ? "<0.01" : value.toFixed(2);
}

export function bytes(value: number): string {
  if (value >= 2 ** 30) return `${(value / 2 ** 30).toFixed(2)} GB`;
  if (value >= 2 ** 20) return `${(value / 2 ** 20).toFixed(1)} MB`;
  if (value >= 2 ** 10) return `${(value / 2 ** 10).toFixed(0)} KB`;
  return `${value} B`;
}

export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3) return `${(value * 1e6).toFixed(size < 1e-5 ? 1 : 0)} µs`;
  if (size < 1) return `${(value * 1e3).toFixed(size < 0.01 ? 2 : 1)} ms`;
  if (size < 60) return `${value.toFixed(2)} s`;
  if (size < 3600) return `${(value / 60).toFixed(1)} min`;
  if (size < 86400) return `${(value / 3600).toFixed(1)} h`;
  return `${whole(value / 86400)} d`;
}

export const percent = (value: number): string =>
  value === 0 ? "0 %" : value < 0.001 ? "<0.1 %" : `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;

/** How many times: 1.3×, 42×, 1,200×. */
export const times = (value: number): string => `${value < 10 ? value.toFixed(1) : whole(value)}×`;

/** Results for each tuple that came in. */
export function ratio(out: number, into: number): string {
  if (!into) return "–";
  const value = out / into;
  if (value === 0) return "0";
  if (value > 1) return times(value);
  return value < 0.0001 ? "<0.01 %" : `${(value * 100).toFixed(value < 0.01 ? 2 : value < 0.1 ? 1 : 0)} %`;
}

export function cell(value: Value | undefined): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Math.round(value * 1e6) / 1e6);
  return String(value);
}

export const isNumeric = (type: string): boolean => type === "BIGINT" || type === "DOUBLE" || type.startsWith("DECIMAL");

export const counted = (count: number, what: string, plural = `${what}s`): string =>
  `${whole(count)} ${count === 1 ? what : plural}`;

/** An instant without its date when that is today's, or as it is where it is a number. */
export function instant(value: string | number | null): string {
  if (value === null) return "–";
  if (typeof value === "number") return String(value);
  return value.replace("T", " ").replace("Z", "");
}
