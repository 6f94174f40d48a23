import type { VNode } from 'preact';
import { Link } from '../parts/link.tsx';
import { fillBar, instrumentParts, instrumentText, sideMark, sizeText } from '../parts/order-text.tsx';
import { timeText, timeWords } from '../parts/time-text.tsx';
import { doubtText, sideText, statusText, statusTone } from '../parts/words.ts';
import { commandAddress, orderAddress } from '../state/address.ts';
import { type ColumnName, columnOf, isAmount, shownValue } from '../state/orders/order-columns.ts';
import type { OrderRow } from '../state/orders/order-row.ts';
import { amountParts, amountText } from '../state/text/decimal-text.ts';
import { joined } from '../state/text/word-text.ts';

/** Words for people, for the platform's own. */
const words: Readonly<Partial<Record<ColumnName, (row: OrderRow) => string>>> = {
  instrument: ({ order }) => instrumentParts(order.instrument).join(''),
  side: ({ order }) => sideText(order.side),
  type: ({ order }) => sideText(order.orderType),
  status: ({ order }) => statusText(order.status),
  certainty: ({ order }) => joined([doubtText(order), order.conflict !== undefined && 'contradiction']),
  origin: ({ order }) => (order.origin === 'tidemark' ? 'Tidemark' : 'elsewhere'),
};

/** A cell's text, unless it is an amount. */
export function textOf(name: ColumnName, row: OrderRow, nowMs: number): string {
  const { kind, value } = columnOf(name);
  const text = words[name]?.(row) ?? value(row) ?? '';
  return kind === 'time' && text !== '' ? timeWords(text, nowMs) : text;
}

type CellOf = (row: OrderRow, text: string) => VNode;

/** Cells with more than their text. */
const cells: Readonly<Partial<Record<ColumnName, CellOf>>> = {
  instrument: (row) => {
    const { instrument } = row.order;
    const parts = instrumentParts(instrument);
    const [start, end] = parts;
    const names = [
      instrumentText(instrument),
      ...(instrument.legs ?? []).map(({ side, symbol }) => `${side} ${symbol}`),
    ];
    return (
      <Link to={orderAddress(row)} tabIndex={-1} aria-label={parts.join('')}>
        <span class="instrument" title={names.join('\n')}>
          <span class="instrument-start">{start}</span>
          <span class="instrument-end">{end}</span>
        </span>
      </Link>
    );
  },
  side: ({ order }) => sideMark(order.side),
  status: ({ order }, text) => (
    <span class={`status ${statusTone(order.status)}`} title={`${order.statusRaw} by the platform`}>
      {text}
    </span>
  ),
  certainty: ({ order }, text) => (
    <span class="doubt" title={order.conflict ?? order.certaintyReason ?? text}>
      {text}
    </span>
  ),
  command: (_row, text) =>
    text === '' ? (
      <span />
    ) : (
      <Link class="id" title={text} to={commandAddress(text)}>
        {text}
      </Link>
    ),
  origin: ({ order }, text) => <span title={order.callerRef ?? text}>{text}</span>,
};

/** Working terms stand out if they differ from these, and else are quiet. */
const submitted: Readonly<Partial<Record<ColumnName, ColumnName>>> = { working: 'quantity', at: 'price' };

export function cellOf(
  name: ColumnName,
  row: OrderRow,
  { places, nowMs }: { places: number; nowMs: number },
): VNode | string {
  const { kind, value } = columnOf(name);
  if (kind === 'time') return timeText(value(row), nowMs);
  if (isAmount(name)) {
    const text = value(row);
    const other = submitted[name];
    const tone = other === undefined ? undefined : columnOf(other).value(row) === text ? 'soft' : 'differs';
    const amount = amountCell(name, shownValue(name, row, places), leastPlaces(name, places), tone, text);
    return name === 'fill' ? fillBar(row.order, amount) : amount;
  }
  const shown = textOf(name, row, nowMs);
  return (
    cells[name]?.(row, shown) ?? (
      <span class={kind === 'id' ? 'id' : undefined} title={shown}>
        {shown}
      </span>
    )
  );
}

/**
 * A cell's words for readers of the screen: an amount stands there in two parts, which would be
 * read apart. `named`: there are no headings, so it has its column's name. Undefined: as it stands.
 */
export function labelOf(
  name: ColumnName,
  row: OrderRow,
  { places, nowMs }: { places: number; nowMs: number },
  named: boolean,
): string | undefined {
  const { label } = columnOf(name);
  const text = shownValue(name, row, places);
  if (text === undefined || !(named || isAmount(name))) return undefined;
  const words = isAmount(name) ? amountText(text, leastPlaces(name, places)) : textOf(name, row, nowMs);
  if (!named || words === '') return words;
  return `${label} ${words}${name === 'fill' ? ` / ${sizeText(row.order)}` : ''}`;
}

/** How many decimals an amount has at least. `places`: its instrument's prices have them. */
export function leastPlaces(name: ColumnName, places: number): number {
  const { kind } = columnOf(name);
  return kind === 'price' ? places : kind === 'money' ? 2 : 0;
}

/**
 * A column's points stand below each other: behind them each cell has the same room. `exact`:
 * before it was rounded.
 */
export function amountCell(
  name: ColumnName,
  text: string | undefined,
  places = 0,
  tone?: 'soft' | 'differs',
  exact = text,
): VNode {
  const { whole, fraction } = amountParts(text ?? '–', places);
  return (
    <span class={text === undefined ? 'none' : tone} title={exact}>
      {whole}
      <span class="fraction" style={`width:var(--${name})`}>
        {fraction}
      </span>
    </span>
  );
}
