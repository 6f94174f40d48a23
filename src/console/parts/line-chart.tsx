import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { clock } from './time-text.tsx';
import { useMedia } from './use-media.ts';

interface Line {
  readonly name: string;
  /** Digits and dashes, as in CSS: the lines differ without their colours. */
  readonly dash?: readonly number[];
}

interface ChartProps {
  /** The library that draws; undefined while it is fetched. */
  readonly Plot: typeof uPlot | undefined;
  readonly title: string;
  readonly lines: readonly Line[];
  /** Times in seconds, then one column for each line; null is a gap. */
  readonly columns: uPlot.AlignedData;
  readonly valueText: (value: number) => string;
}

const minutes = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const height = 150;
/**
 * Seconds between two marks on the axis of time: marks say hours and minutes, so closer ones would
 * say the same.
 */
const wholeMinutes = [60, 120, 300, 600, 900, 1_800];
/**
 * Between two marks on the axis of values: 1, 2, 5, 10 … A mark in between would show a rounded
 * figure.
 */
const wholeSteps = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/**
 * Lines over time, with their newest values, or those under the pointer. The canvas says nothing to
 * a screen reader: each screen with lines has their figures as a table too.
 */
export function LineChart({ Plot, title, lines, columns, valueText }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const keys = useRef<HTMLSpanElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [pointed, setPointed] = useState<number>();
  const dark = useMedia('(prefers-color-scheme: dark)');
  useEffect(() => {
    const [element, keyed] = [place.current, keys.current];
    if (Plot === undefined || element === null || keyed === null) return;
    const look = {
      lines,
      valueText,
      colours: coloursOf(keyed),
      soft: getComputedStyle(keyed).color,
      onPoint: setPointed,
    };
    const made = new Plot(optionsOf(look, element.clientWidth), columns, element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [dark, Plot]);
  useEffect(() => plot.current?.setData(columns), [columns]);
  const times = columns[0] ?? [];
  const at = pointed !== undefined && pointed < times.length ? pointed : times.length - 1;
  const time = times[at];
  return (
    <figure class="chart">
      <figcaption>
        {title}{' '}
        {time !== undefined && time !== null && (
          <span class="soft">{pointed === undefined ? '' : `at ${clock.format(time * 1000)}`}</span>
        )}
      </figcaption>
      <span class="chart-keys soft" ref={keys}>
        {lines.map((line, index) => keyOf(line, index, columns[index + 1]?.[at], valueText))}
      </span>
      <div class="chart-place" aria-hidden="true" ref={place} />
    </figure>
  );
}

function keyOf(
  { name }: Line,
  index: number,
  value: number | null | undefined,
  valueText: ChartProps['valueText'],
): VNode {
  return (
    <span class="chart-key">
      <i class={`chart-line line-${index + 1}`} />
      {name} <b>{value === null || value === undefined ? '–' : valueText(value)}</b>
    </span>
  );
}

/**
 * Each line's colour, as the browser computed it for this colour scheme: a canvas knows no CSS
 * variables.
 */
function coloursOf(keys: HTMLElement): string[] {
  return [...keys.querySelectorAll('.chart-line')].map((line) => getComputedStyle(line).color);
}

interface ChartLook extends Pick<ChartProps, 'lines' | 'valueText'> {
  readonly colours: readonly string[];
  readonly soft: string;
  readonly onPoint: (index: number | undefined) => void;
}

function optionsOf({ lines, valueText, colours, soft, onPoint }: ChartLook, width: number): uPlot.Options {
  const axis = {
    stroke: soft,
    grid: { stroke: soft, width: 0.15 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return {
    width,
    height,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
    hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)] },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high ?? 0, 1) * 1.1] } },
    axes: [
      {
        ...axis,
        size: 24,
        incrs: wholeMinutes,
        values: (_plot, times) => times.map((time) => minutes.format(time * 1000)),
      },
      { ...axis, size: 54, incrs: wholeSteps, values: (_plot, values) => values.map(valueText) },
    ],
    series: [
      {},
      ...lines.map(({ name, dash }, index) => ({
        label: name,
        stroke: colours[index] ?? soft,
        width: 1.5,
        points: { show: false },
        spanGaps: false,
        ...(dash !== undefined && { dash: [...dash] }),
      })),
    ],
  };
}
