import type { VNode } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../parts/html.ts';
import { isTyping } from '../parts/is-typing.ts';
import { Go } from '../parts/link.ts';
import { useMedia } from '../parts/use-media.ts';
import { useVirtualRows } from '../parts/use-virtual-rows.ts';
import { orderAddress } from '../state/address.ts';
import type { BlotterView, ColumnName } from '../state/blotter-view.ts';
import type { OrderRow } from '../state/order-row.ts';
import type { Ports } from '../state/ports.ts';
import { RowSlots } from '../state/row-slots.ts';
import { columnsByName } from './blotter-columns.ts';

interface TableProps {
  readonly rows: readonly OrderRow[];
  readonly view: BlotterView;
  readonly change: (over: Partial<BlotterView>) => void;
  readonly ports: Ports;
  readonly empty: string;
}

const rowHeight = 30;
const phoneRowHeight = 62;
const flashMs = 1_200;

/** The table of orders: a grid of which only the rows in view exist. On a phone each row is a card of three lines, with the same cells. */
export function BlotterTable({ rows, view, change, ports, empty }: TableProps) {
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
  const [active, setActive] = useActiveRow(rows, reveal);
  const template = view.columns.map((name) => columnsByName[name].width).join(' ');
  const [nowMs, monotonicMs] = [ports.nowMs(), ports.monotonicMs()];
  return html`<div class="table" style=${{ '--columns': template }}>
    <div
      class="scroller"
      ref=${scroller}
      role="grid"
      tabindex="0"
      aria-label="Orders"
      aria-rowcount=${rows.length + 1}
      aria-colcount=${view.columns.length}
      aria-activedescendant=${active === undefined ? undefined : rowId(active)}
    >
      <div class="head row" role="row" aria-rowindex="1">${view.columns.map((name) => headCell(name, view, change))}</div>
      <div class="rows" role="rowgroup" style=${{ height: `${rows.length * height}px` }}>
        ${slots.assign(rows.slice(first, end), first).map(
          ({ slot, row, index }) => html`<div
            key=${slot}
            id=${rowId(row.key)}
            class=${`row${row.key === active ? ' active' : ''}`}
            role="row"
            aria-rowindex=${index + 2}
            aria-selected=${row.key === active}
            style=${{ height: `${height}px`, transform: `translateY(${index * height}px)` }}
            onClick=${() => setActive(row.key)}
          >
            ${cellsOf(row, view.columns, { nowMs, monotonicMs })}
          </div>`,
        )}
      </div>
      ${rows.length === 0 && html`<p class="empty">${empty}</p>`}
    </div>
  </div>`;
}

function rowId(key: string): string {
  return `row ${key}`.replace(/\s/g, '-');
}

function headCell(name: ColumnName, { sort }: BlotterView, change: TableProps['change']) {
  const { label, number } = columnsByName[name];
  const sorted = sort.column === name;
  const pick = () =>
    change({ sort: { column: name, descending: sorted ? !sort.descending : name === 'updated' || number === true } });
  const mark = sorted ? (sort.descending ? ' ↓' : ' ↑') : '';
  return html`<div
    role="columnheader"
    class=${`cell col-${name}${number === true ? ' number' : ''}`}
    aria-sort=${sorted ? (sort.descending ? 'descending' : 'ascending') : 'none'}
  >
    <button class="sort" onClick=${pick}>${label}${mark}</button>
  </div>`;
}

interface DrawnCells {
  readonly columns: readonly ColumnName[];
  readonly flashing: boolean;
  readonly cells: readonly VNode[];
}

/** A row never changes, so its cells are made once: most rows of a frame are those of the frame before, and Preact passes equal views over. */
const drawn = new WeakMap<OrderRow, DrawnCells>();

function cellsOf(
  row: OrderRow,
  columns: readonly ColumnName[],
  { nowMs, monotonicMs }: { readonly nowMs: number; readonly monotonicMs: number },
): readonly VNode[] {
  const flashing = row.arrivedMs !== undefined && monotonicMs - row.arrivedMs < flashMs;
  const known = drawn.get(row);
  if (known !== undefined && known.columns === columns && known.flashing === flashing) return known.cells;
  // Two names in turn: an animation begins anew only when its name changes, also where another order takes the slot.
  const flash = row.rank % 2 === 0 ? ' flash-even' : ' flash-odd';
  const cells = columns.map((name) => {
    const { cell, fields, number } = columnsByName[name];
    // A new order changed in every field: one cell says so.
    const flashes = flashing && (row.revision === 1 ? name === 'status' : fields.some((field) => row.changed.includes(field)));
    return html`<div role="gridcell" class=${`cell col-${name}${number === true ? ' number' : ''}${flashes ? flash : ''}`}>${cell(row, nowMs)}</div>`;
  });
  drawn.set(row, { columns, flashing, cells });
  return cells;
}

/** The row that the keys are on. It follows its order, not its place. */
function useActiveRow(rows: readonly OrderRow[], reveal: (index: number) => void) {
  const [active, setActive] = useState<string | undefined>(undefined);
  const go = useContext(Go);
  const latest = useRef({ rows, active, reveal });
  latest.current = { rows, active, reveal };
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const { rows, active, reveal } = latest.current;
      const at = rows.findIndex((row) => row.key === active);
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      if (step !== undefined && rows.length > 0) {
        event.preventDefault();
        const next = Math.min(rows.length - 1, Math.max(0, at + step));
        setActive(rows[next]?.key);
        reveal(next);
      }
      const row = rows[at];
      if (event.key === 'Enter' && row !== undefined && !(event.target instanceof HTMLButtonElement)) go(orderAddress(row));
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, [go]);
  return [active, setActive] as const;
}
