// Charts of numbers over time, by uPlot; colours are those of the page, also after it changes between light and dark.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { short } from "./format";

export interface Series {
  label: string;
  color: string; // a custom property of the page
  values: number[];
  bars?: boolean;
  format?: (value: number) => string;
}

const colorOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function translucent(color: string): string {
  const found = /^#([0-9a-f]{6})$/i.exec(color);
  return found ? `#${found[1]}22` : color;
}

export function Chart(props: {
  at: number[];
  series: Series[];
  height: number;
  isNumber?: boolean;
  label: string;
}): JSX.Element {
  const home = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = `${props.series.map((each) => `${each.label}${each.color}${each.bars}`).join()} ${props.isNumber} ${props.height}`;
  const data = [props.at, ...props.series.map((each) => each.values)] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const element = home.current;
    if (!element) return;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(props, element.clientWidth || 300), latest.current, element);
    };
    make();
    const sized = new ResizeObserver(() => {
      if (element.clientWidth) plot.current?.setSize({ width: element.clientWidth, height: props.height });
    });
    sized.observe(element);
    const themed = new MutationObserver(make);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      sized.disconnect();
      themed.disconnect();
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [data]);
  const last = props.series.map((each) => `${each.label} ${(each.format ?? short)(each.values.at(-1) ?? 0)}`).join(", ");
  return <div class="chart" ref={home} role="img" aria-label={`${props.label}. Latest: ${last}.`} />;
}

/** UTC, as all times of the console: with the date where days pass between two ticks. */
function clockTimes(_: uPlot, ticks: number[], __: number, ___: number, step: number): string[] {
  return ticks.map((each) => {
    const text = new Date(each * 1000).toISOString();
    return step >= 86400 ? text.slice(5, 10) : step >= 60 ? text.slice(11, 16) : text.slice(11, 19);
  });
}

function optionsOf(props: Parameters<typeof Chart>[0], width: number): uPlot.Options {
  const soft = colorOf("--soft");
  const line = colorOf("--line");
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, font: "11px system-ui, sans-serif" };
  const bars = uPlot.paths.bars?.({ size: [0.85, 40] });
  return {
    width,
    height: props.height,
    padding: [8, 8, 0, 0],
    cursor: { y: false, points: { size: 6 } },
    legend: { show: false },
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    scales: { x: { time: !props.isNumber }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
    axes: [
      { ...axis, size: 24, gap: 2, ...(props.isNumber ? {} : { values: clockTimes }) },
      { ...axis, size: 46, gap: 2, values: (_, ticks) => ticks.map((each) => (props.series[0]?.format ?? short)(each)) },
    ],
    series: [
      {},
      ...props.series.map((each) => {
        const color = colorOf(each.color);
        return {
          label: each.label,
          stroke: color,
          width: each.bars ? 0 : 1.6,
          fill: each.bars ? color : translucent(color),
          points: { show: false },
          ...(each.bars && bars ? { paths: bars } : {}),
        };
      }),
    ],
  };
}
