import type { VNode } from 'preact';
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useConsole } from '../parts/console.ts';
import { useKeys } from '../parts/keys.ts';
import { useGo } from '../parts/link.tsx';
import { dayOf } from '../parts/time-text.tsx';
import { useMedia } from '../parts/use-media.ts';
import { useValue } from '../parts/use-value.ts';
import { useVirtualRows } from '../parts/use-virtual-rows.ts';
import { orderAddress } from '../state/address.ts';
import { type BlotterView, type ChangeView, selectionOf, withColumn } from '../state/orders/blotter-view.ts';
import type { ColumnName } from '../state/orders/order-columns.ts';
import { isGroup, type ListRow } from '../state/orders/order-groups.ts';
import type { OrderList } from '../state/orders/order-list.ts';
import { RowSlots } from '../state/orders/row-slots.ts';
import { textOf } from './blotter-columns.tsx';
import { BlotterHead } from './blotter-head.tsx';
import { BlotterRow, GroupLine, rowId } from './blotter-row.tsx';
import { ColumnSizes, phoneSums } from './column-sizes.tsx';
import { usePresses } from './use-presses.tsx';

interface TableProps {
  readonly list: OrderList;
  /** Brings the chosen order into view: keys act on it wherever it went. */
  readonly toChosen: { current: (() => void) | undefined };
  readonly view: BlotterView;
  readonly change: ChangeView;
  /** The orders for one action on several. */
  readonly marked: ReadonlySet<string>;
  /** Marks an order, or no longer. Undefined: this reader may do nothing with them. */
  readonly mark: ((key: string) => void) | undefined;
  /** In place of rows. */
  readonly empty: VNode | string;
}

const rowHeight = 30;
const phoneLineHeight = 18;
/** On a phone a reader chooses no columns: these decide. */
const phoneLines: readonly (readonly ColumnName[])[] = [
  ['instrument', 'outcome', 'status'],
  ['side', 'type', 'price', 'stop'],
  ['fill', 'account'],
  ['updated', 'certainty'],
];
const phoneColumns = phoneLines.flat();
const phoneGroup: readonly ColumnName[] = ['instrument', ...phoneSums];
const flashMs = 1_200;
/**
 * Rows that may begin to flash in one frame. If every row flashes none stands out, and flashes
 * without end cost a third of each frame.
 */
const mostFlashes = 8;

/**
 * The orders as a grid with only the rows in view. On a phone each row has as many lines as the
 * widest one needs.
 */
export function BlotterTable(props: TableProps) {
  const { list, view, change, marked, mark, empty } = props;
  const { rows } = list;
  const { ports } = useConsole();
  const scroller = useRef<HTMLDivElement>(null);
  const phone = useMedia('(max-width: 760px)');
  const [lines, setLines] = useState(phoneLines.length);
  const height = phone ? lines * phoneLineHeight + 4 : rowHeight;
  const { first, end, reveal } = useVirtualRows({
    scroller,
    count: rows.length,
    rowHeight: height,
    headHeight: phone ? 0 : rowHeight,
  });
  const [slots] = useState(() => new RowSlots<ListRow>());
  const [active, setActive] = useActiveRow({ ...props, scroller, reveal });
  const [dragged, setDragged] = useState<BlotterView['widths']>();
  const nowMs = ports.nowMs();
  const shown = rows.slice(first, end).map(list.drawnOf);
  const presses = usePresses({ ...props, shown, opens: phone, pick: setActive });
  const monotonicMs = ports.monotonicMs();
  const drawnMs = useRef(0);
  const changed = shown.filter((row) => !isGroup(row) && (row.arrivedMs ?? 0) > drawnMs.current);
  const calm = changed.length <= mostFlashes;
  drawnMs.current = monotonicMs;
  const columns = useColumns(view, phone);
  const sizes = useMemo(() => new ColumnSizes(columns, view), [columns, selectionOf(view), dayOf(new Date(nowMs))]);
  sizes.take(shown, nowMs);
  useLayoutEffect(() => {
    if (phone) setLines(sizes.linesOf(phoneLines, scroller.current?.clientWidth ?? 0));
  });
  return (
    <div class="table" style={phone ? {} : sizes.style(dragged ?? view.widths)}>
      <div
        class="scroller"
        ref={scroller}
        role="grid"
        tabindex={0}
        aria-label="Orders"
        aria-multiselectable={mark !== undefined}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        aria-activedescendant={shown.some(({ key }) => key === active) ? rowId(active ?? '') : undefined}
      >
        <BlotterHead view={view} columns={columns} change={change} preview={setDragged} />
        <div class="rows" role="rowgroup" style={{ height: `${rows.length * height}px` }} {...presses}>
          {slots.assign(shown, first).map(({ slot, row, index }) => {
            const isMarked = marked.has(row.key);
            const selected = marked.size === 0 ? row.key === active : isMarked;
            const common = { index, height, columns, active: row.key === active, selected };
            if (isGroup(row)) {
              const sums = phone ? { columns: phoneGroup } : {};
              return <GroupLine key={slot} {...common} {...sums} row={row} group={view.group} />;
            }
            const flashing = calm && row.arrivedMs !== undefined && monotonicMs - row.arrivedMs < flashMs;
            const drawn = { sizes, grown: sizes.grown, flashing, nowMs, ...(phone && { lines: phoneLines }) };
            return <BlotterRow key={slot} {...common} {...drawn} {...{ row, isMarked }} />;
          })}
        </div>
        {rows.length === 0 && <p class="empty">{empty}</p>}
      </div>
    </div>
  );
}

/** The same list until it changes. Summed values have to be seen. */
function useColumns({ columns, group }: BlotterView, phone: boolean): readonly ColumnName[] {
  const wanted = group.length > 0 && !columns.includes('value') ? withColumn(columns, 'value') : columns;
  const text = wanted.join();
  return useMemo(() => (phone ? phoneColumns : wanted), [text, phone]);
}

interface ActiveDeps extends Pick<TableProps, 'list' | 'toChosen' | 'mark'> {
  readonly scroller: { readonly current: HTMLElement | null };
  readonly reveal: (index: number) => void;
}

/** As the column "In doubt" says it. */
function isInDoubt(row: ListRow): boolean {
  return !isGroup(row) && textOf('certainty', row, 0) !== '';
}

/** The row under the keys. It follows its order, not its place. */
function useActiveRow(deps: ActiveDeps) {
  const { list, toChosen, mark, scroller, reveal } = deps;
  const { rows, placeOf, drawnOf, fold } = list;
  const { ports, chosenOrder: chosen } = useConsole();
  const active = useValue(chosen);
  const setActive = useCallback((key: string | undefined) => {
    chosen.value = key;
  }, []);
  const at = active === undefined ? -1 : placeOf(active);
  const [asked, setAsked] = useState(0);
  // Once the rows are drawn: those that came since make the table longer.
  useLayoutEffect(() => {
    const now = placeOf(chosen.peek() ?? '');
    if (now >= 0) reveal(now);
  }, [asked]);
  const show = () => {
    list.hold(ports);
    setAsked((before) => before + 1);
  };
  toChosen.current = show;
  const go = useGo();
  const move = (step: 1 | -1, fits: (row: ListRow) => boolean) => () => {
    // Not `at`: a second key may come before the next frame.
    const from = placeOf(chosen.peek() ?? '');
    let next = from < 0 && step < 0 ? rows.length - 1 : from + step;
    let row = rows[next];
    for (; row !== undefined && !fits(drawnOf(row)); row = rows[next]) next += step;
    if (row === undefined) return;
    setActive(row.key);
    show();
    // The keys are for the rows now, and a screen reader says the chosen one.
    scroller.current?.focus({ preventScroll: true });
  };
  const row = rows[at];
  useKeys({
    next: move(1, () => true),
    previous: move(-1, () => true),
    nextDoubt: move(1, isInDoubt),
    previousDoubt: move(-1, isInDoubt),
    mark: () => {
      const now = rows[placeOf(chosen.peek() ?? '')];
      if (now === undefined || isGroup(now)) return;
      show();
      mark?.(now.key);
    },
    open: row && (() => (isGroup(row) ? fold(row.group) : go(orderAddress(row)))),
  });
  return [active, setActive] as const;
}
