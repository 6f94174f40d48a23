import type { Signal } from '@preact/signals-core';
import type { VNode } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { isTyping } from '../parts/is-typing.ts';
import { Go } from '../parts/link.tsx';
import { useMedia } from '../parts/use-media.ts';
import { useValue } from '../parts/use-value.ts';
import { useVirtualRows } from '../parts/use-virtual-rows.ts';
import { orderAddress } from '../state/address.ts';
import type { BlotterView } from '../state/orders/blotter-view.ts';
import type { OrderRow } from '../state/orders/order-row.ts';
import { RowSlots } from '../state/orders/row-slots.ts';
import type { Ports } from '../state/ports.ts';
import { tracksOf } from './blotter-columns.tsx';
import { BlotterHead } from './blotter-head.tsx';
import { BlotterRow, rowId } from './blotter-row.tsx';

interface TableProps {
  readonly rows: readonly OrderRow[];
  /** The place of an order in `rows`; -1: it is not among them. */
  readonly placeOf: (key: string) => number;
  readonly view: BlotterView;
  readonly change: (over: Partial<BlotterView>) => void;
  readonly ports: Ports;
  /** The key of the chosen order, also while another screen is open. */
  readonly chosen: Signal<string | undefined>;
  /** In place of rows. */
  readonly empty: VNode | string;
}

const rowHeight = 30;
const phoneRowHeight = 62;
const flashMs = 1_200;
/**
 * Rows that may begin to flash in one frame. If every row flashes none stands out, and flashes
 * without end cost a third of each frame.
 */
const mostFlashes = 8;

/**
 * The table of orders: a grid with only the rows in view. On a phone each row has three lines, with
 * the same cells.
 */
export function BlotterTable({ rows, placeOf, view, change, ports, chosen, empty }: TableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const phone = useMedia('(max-width: 760px)');
  const height = phone ? phoneRowHeight : rowHeight;
  const { first, end, reveal } = useVirtualRows({
    scroller,
    count: rows.length,
    rowHeight: height,
    headHeight: phone ? 0 : rowHeight,
  });
  const [slots] = useState(() => new RowSlots<OrderRow>());
  const [active, setActive] = useActiveRow({ rows, placeOf, chosen, reveal });
  const [dragged, setDragged] = useState<BlotterView['widths'] | undefined>(undefined);
  const nowMs = ports.nowMs();
  const shown = rows.slice(first, end);
  const monotonicMs = ports.monotonicMs();
  const drawnMs = useRef(0);
  const calm = shown.filter(({ arrivedMs = 0 }) => arrivedMs > drawnMs.current).length <= mostFlashes;
  drawnMs.current = monotonicMs;
  return (
    <div class="table" style={{ '--columns': tracksOf(view.columns, dragged ?? view.widths) }}>
      <div
        class="scroller"
        ref={scroller}
        role="grid"
        tabindex={0}
        aria-label="Orders"
        aria-rowcount={rows.length + 1}
        aria-colcount={view.columns.length}
        aria-activedescendant={shown.some(({ key }) => key === active) ? rowId(active ?? '') : undefined}
      >
        <BlotterHead view={view} change={change} preview={setDragged} />
        <div class="rows" role="rowgroup" style={{ height: `${rows.length * height}px` }}>
          {slots.assign(shown, first).map(({ slot, row, index }) => (
            <BlotterRow
              key={slot}
              row={row}
              index={index}
              height={height}
              columns={view.columns}
              active={row.key === active}
              flashing={calm && row.arrivedMs !== undefined && monotonicMs - row.arrivedMs < flashMs}
              nowMs={nowMs}
              pick={setActive}
            />
          ))}
        </div>
        {rows.length === 0 && <p class="empty">{empty}</p>}
      </div>
    </div>
  );
}

interface ActiveDeps extends Pick<TableProps, 'rows' | 'placeOf' | 'chosen'> {
  readonly reveal: (index: number) => void;
}

/** The row under the keys. It follows its order, not its place. */
function useActiveRow({ rows, placeOf, chosen, reveal }: ActiveDeps) {
  const active = useValue(chosen);
  const setActive = useCallback((key: string | undefined) => {
    chosen.value = key;
  }, []);
  useEffect(() => {
    const at = active === undefined ? -1 : placeOf(active);
    if (at >= 0) reveal(at);
  }, []);
  const go = useContext(Go);
  const latest = useRef({ rows, placeOf, active, reveal });
  latest.current = { rows, placeOf, active, reveal };
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const { rows, placeOf, active, reveal } = latest.current;
      const at = active === undefined ? -1 : placeOf(active);
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      if (step !== undefined && rows.length > 0) {
        event.preventDefault();
        const next = Math.min(rows.length - 1, Math.max(0, at + step));
        setActive(rows[next]?.key);
        reveal(next);
      }
      const row = rows[at];
      // There, Enter has an effect of its own.
      const isUsed = event.target instanceof Element && event.target.closest('a, button, summary') !== null;
      if (event.key === 'Enter' && row !== undefined && !isUsed) go(orderAddress(row));
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, [go]);
  return [active, setActive] as const;
}
