import type { VNode } from 'preact';
import { fillBar } from '../parts/fill-bar.tsx';
import { instrumentParts, instrumentText } from '../parts/instrument-text.ts';
import { Link } from '../parts/link.tsx';
import { timeText } from '../parts/time-text.tsx';
import { doubtText, sideText, statusText, statusTone } from '../parts/words.ts';
import { orderAddress } from '../state/address.ts';
import type { BlotterView, ColumnName } from '../state/orders/blotter-view.ts';
import { directionOf, type OrderRow, priceText, priceTitle, workingText } from '../state/orders/order-row.ts';

interface Column {
  readonly label: string;
  /** Track of the grid. */
  readonly width: string;
  readonly number?: boolean;
  /** A change in one of these lets the cell flash. */
  readonly fields: readonly string[];
  readonly cell: (row: OrderRow, nowMs: number) => VNode | string;
}

export const columnsByName: Readonly<Record<ColumnName, Column>> = {
  updated: {
    label: 'Changed',
    width: 'minmax(7.2rem, 0.7fr)',
    fields: [],
    cell: ({ order }, nowMs) => timeText(order.updatedAt, nowMs),
  },
  account: {
    label: 'Account',
    width: 'minmax(5.5rem, 0.7fr)',
    fields: [],
    cell: ({ accountId }) => <span title={accountId}>{accountId}</span>,
  },
  instrument: {
    label: 'Instrument',
    width: 'minmax(10rem, 1.6fr)',
    fields: ['instrument'],
    cell: ({ stream, orderId, order }) => {
      const { start, end } = instrumentParts(order.instrument);
      return (
        <Link to={orderAddress({ stream, orderId })} tabIndex={-1}>
          <span class="instrument" title={instrumentText(order.instrument)}>
            <span class="instrument-start">{start}</span>
            <span class="instrument-end">{end}</span>
          </span>
        </Link>
      );
    },
  },
  side: {
    label: 'Side',
    width: 'minmax(7.4rem, 0.5fr)',
    fields: ['side'],
    cell: ({ order }) => <span class={`side ${directionOf(order.side)}`}>{sideText(order.side)}</span>,
  },
  status: {
    label: 'Status',
    width: 'minmax(6.6rem, 0.8fr)',
    fields: ['status', 'statusRaw'],
    cell: ({ order }) => (
      <span class={`status ${statusTone(order.status)}`} title={`${order.statusRaw} by the platform`}>
        {statusText(order.status)}
      </span>
    ),
  },
  quantity: {
    label: 'Quantity',
    width: 'minmax(4.6rem, 0.6fr)',
    number: true,
    fields: ['quantity'],
    cell: ({ order }) => <span title={order.quantity}>{order.quantity}</span>,
  },
  price: {
    label: 'Price',
    width: 'minmax(9rem, 0.8fr)',
    number: true,
    fields: ['price', 'stopPrice'],
    cell: ({ order }) => <span title={priceTitle(order)}>{priceText(order)}</span>,
  },
  working: {
    label: 'Working',
    width: 'minmax(7.8rem, 0.9fr)',
    number: true,
    fields: ['working'],
    cell: ({ order }) => workingCell(order),
  },
  fill: {
    label: 'Filled',
    width: 'minmax(6.6rem, 1.1fr)',
    number: true,
    fields: ['cumQty'],
    cell: ({ order }) => fillBar(order),
  },
  average: {
    label: 'Average',
    width: 'minmax(5.3rem, 0.6fr)',
    number: true,
    fields: ['avgPrice'],
    cell: ({ order }) => <span title={order.avgPrice}>{order.avgPrice ?? '–'}</span>,
  },
  certainty: {
    label: 'In doubt',
    width: 'minmax(8.2rem, 1fr)',
    fields: ['certainty', 'pendingAction', 'conflict'],
    cell: ({ order }) => {
      const text = [doubtText(order), order.conflict === undefined ? '' : 'contradiction']
        .filter((word) => word !== '')
        .join(', ');
      return (
        <span class="doubt" title={order.conflict ?? order.certaintyReason ?? text}>
          {text}
        </span>
      );
    },
  },
  origin: {
    label: 'Origin',
    width: 'minmax(5.9rem, 0.6fr)',
    fields: ['origin', 'callerRef'],
    cell: ({ order }) => (
      <span title={order.callerRef ?? ''}>{order.origin === 'tidemark' ? 'Tidemark' : 'elsewhere'}</span>
    ),
  },
  order: {
    label: 'Order',
    width: 'minmax(6rem, 1fr)',
    fields: [],
    cell: ({ orderId }) => (
      <span class="id" title={orderId}>
        {orderId}
      </span>
    ),
  },
};

/** Tracks of the grid. Columns with their usual width share the remaining room. */
export function tracksOf(columns: readonly ColumnName[], widths: BlotterView['widths']): string {
  return columns
    .map((name) => {
      const width = widths[name];
      return width === undefined ? columnsByName[name].width : `${width}px`;
    })
    .join(' ');
}

/** Quantity at price as the venue works on them; quiet if they are the submitted terms. */
function workingCell(order: OrderRow['order']): VNode {
  const { text, same } = workingText(order);
  return (
    <span
      class={same ? 'soft' : 'differs'}
      title={`${text}, ${same ? 'as submitted' : 'differs from the submitted terms'}`}
    >
      {text}
    </span>
  );
}
