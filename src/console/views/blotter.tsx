import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { NormalisedOrder } from '../../../types/records.d.ts';
import { useConsole } from '../parts/console.ts';
import { useKeys } from '../parts/keys.ts';
import { useGo } from '../parts/link.tsx';
import { instrumentText, sizeText } from '../parts/order-text.tsx';
import { saveCsv } from '../parts/save-csv.ts';
import { useValue } from '../parts/use-value.ts';
import { useWhileShown } from '../parts/use-while-shown.ts';
import { doubtText, sideText, statusText } from '../parts/words.ts';
import { blotterAddress, type Place } from '../state/address.ts';
import type { LoadState } from '../state/console-state.ts';
import {
  type BlotterView,
  type ChangeView,
  type Hiding,
  hidingFilters,
  isFiltered,
  viewOf,
} from '../state/orders/blotter-view.ts';
import { keepLayout, keptLayout } from '../state/orders/kept-layout.ts';
import { csvOf } from '../state/orders/order-csv.ts';
import { isGroup } from '../state/orders/order-groups.ts';
import { OrderList } from '../state/orders/order-list.ts';
import { keyOf } from '../state/orders/order-row.ts';
import type { OrderStore } from '../state/orders/order-store.ts';
import { amountText } from '../state/text/decimal-text.ts';
import { plural } from '../state/text/word-text.ts';
import { BlotterFilters } from './blotter-filters.tsx';
import { BlotterTable } from './blotter-table.tsx';
import { MarkedOrders } from './marked-orders.tsx';
import { OrderActions } from './order-actions.tsx';

/** Live orders, newest change first. Its filters, order and columns are in the address. */
export function Blotter({ query }: Place) {
  const state = useConsole();
  const view = useMemo(() => viewOf(query, keptLayout(state)), [query]);
  const go = useGo();
  const list = useMemo(() => new OrderList(state.orders, view), []);
  const reveal = useRef<(() => void) | undefined>(undefined);
  const [held, setHeld] = useState(false);
  const selecting = useSelecting();
  useValue(list.version);
  const { rows } = list;
  // As the list shows it: while it is paused the newest state may be another.
  const chosen = rows[list.placeOf(useValue(state.chosenOrder) ?? '')];
  const row = chosen && list.drawnOf(chosen);
  const [marks, setMarks] = useState<ReadonlySet<string>>(new Set());
  const mark = (key: string) =>
    setMarks((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  const marked = [...marks].flatMap((key) => list.orderOf(key) ?? []);
  const waiting = useValue(list.waiting);
  const load = useValue(state.openOrders);
  const others = useValue(state.otherOrders);
  const paused = held || selecting;
  useEffect(() => () => list.close(), [list]);
  useEffect(() => list.show(view), [list, view]);
  useEffect(() => list.setPaused(paused), [list, paused]);
  useEffect(() => {
    if (!view.openOnly) void state.wantOthers();
  }, [view.openOnly, others === undefined]);
  const change: ChangeView = (over) => {
    const next = { ...view, ...over };
    if (over.columns !== undefined || over.widths !== undefined) keepLayout(state, next);
    go(blotterAddress(next), { replace: true });
  };
  useKeys({
    pause: () => setHeld((before) => !before),
    filter: () => document.getElementById('search')?.focus(),
    openOnly: () => change({ openOnly: !view.openOnly }),
  });
  return (
    <section class="blotter" aria-label="Orders">
      <h1 class="unseen">Orders</h1>
      <OrderNews />
      <div class="bar">
        <BlotterFilters
          {...{ view, change, accounts: () => accountsIn(state.orders), streams: state.session.streamWords }}
        />
        <span class="bar-end">
          <span class="count">{countText(list.count, load, view.openOnly ? undefined : others)}</span>
          <button aria-pressed={paused} title="Pause (p)" onClick={() => setHeld(!held)}>
            {paused ? `Paused, ${waiting} changed` : 'Pause'}
          </button>
          <button
            onClick={() => saveCsv('orders', csvOf(list.orders()), state.ports)}
            title="Save the rows of this view"
          >
            CSV
          </button>
        </span>
      </div>
      <OrderActions
        order={row === undefined || isGroup(row) || marked.length > 0 ? undefined : row}
        reveal={() => reveal.current?.()}
      />
      <BlotterTable
        {...{ list, view, change }}
        toChosen={reveal}
        marked={new Set(marked.map(({ key }) => key))}
        mark={state.session.mayCommand() ? mark : undefined}
        // Only then: it looks at every order.
        empty={rows.length === 0 ? emptyOf(state.orders, view, load, change) : ''}
      />
      <MarkedOrders orders={marked} unmark={() => setMarks(new Set())} />
    </section>
  );
}

/** A list that moves under a selection would change the copied text. */
function useSelecting(): boolean {
  const [selecting, setSelecting] = useState(false);
  useEffect(() => {
    const changed = () => {
      const selection = getSelection();
      const table = document.querySelector('.blotter .rows');
      const within = table?.contains(selection?.anchorNode ?? null) === true;
      setSelecting(selection?.isCollapsed === false && within);
    };
    document.addEventListener('selectionchange', changed);
    return () => document.removeEventListener('selectionchange', changed);
  }, []);
  return selecting;
}

function countText(count: number, load: LoadState, others: LoadState | undefined): string {
  const orders = plural(count, 'order');
  const failed = [load, others].find((each) => each?.kind === 'failed');
  if (failed?.kind === 'failed') return `${orders}, not all: ${failed.why}`;
  if (load.kind === 'reading' || others?.kind === 'reading') return `${orders}, reading …`;
  if (load.kind === 'cut' || others?.kind === 'cut') return `${orders}, more exist`;
  return orders;
}

/** Why there is nothing to see, with a button for each filter that hides something. */
function emptyOf(orders: OrderStore, view: BlotterView, load: LoadState, change: ChangeView): VNode | string {
  if (load.kind === 'reading') return 'Reading orders …';
  if (load.kind === 'failed') return `The orders could not be read: ${load.why}.`;
  if (!view.openOnly && !isFiltered(view)) return 'There are no orders.';
  const text = isFiltered(view) ? 'Nothing matches all of these filters.' : 'There are no open orders.';
  const drop = ({ filter, hidden, without }: Hiding) => (
    <>
      <button onClick={() => change(without)}>
        Drop “{filter}”{hidden === undefined || hidden === 0 ? '' : `: ${hidden.toLocaleString('en')} to see`}
      </button>{' '}
    </>
  );
  return (
    <>
      {text} <span class="actions">{hidingFilters(view, orders.rows.values()).map(drop)}</span>
    </>
  );
}

function accountsIn({ rows }: OrderStore): string[] {
  const accounts = new Set<string>();
  for (const { accountId } of rows.values()) accounts.add(accountId);
  return [...accounts].sort().slice(0, 500);
}

/**
 * Said to readers of the screen, who do not see a row flash: what becomes of the chosen order, and
 * each order that gets in doubt. Nothing else: a market's every change would never be read to its
 * end.
 */
function OrderNews() {
  const state = useConsole();
  const [news, setNews] = useState('');
  useWhileShown(
    (signal) =>
      state.updates.add((update) => {
        const { changed, order } = update;
        const isDoubt = order.certainty !== 'certain' && changed.includes('certainty');
        // Words that stay the same are not said again.
        if (isDoubt || state.chosenOrder.peek() === keyOf(update)) setNews(newsOf(order));
      }, signal),
    [],
  );
  return (
    <p class="unseen" role="status">
      {news}
    </p>
  );
}

function newsOf(order: NormalisedOrder): string {
  const { side, instrument, status, cumQty } = order;
  return `${sideText(side)} ${instrumentText(instrument)}: ${statusText(status)}, ${amountText(cumQty)} of ${sizeText(order)} filled. ${doubtText(order)}`;
}
