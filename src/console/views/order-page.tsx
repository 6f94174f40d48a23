import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Stream } from '../../../types/records.d.ts';
import { useConsole } from '../parts/console.ts';
import { type Fact, Facts } from '../parts/facts.tsx';
import { commandLink, Link, orderLink } from '../parts/link.tsx';
import { followedNote, staleNote } from '../parts/notes.tsx';
import { fillBar, instrumentText, sideMark, sizeText } from '../parts/order-text.tsx';
import { Time } from '../parts/time-text.tsx';
import { useCommandList } from '../parts/use-command-list.ts';
import { useValue } from '../parts/use-value.ts';
import { useWhileShown } from '../parts/use-while-shown.ts';
import { doubtText, statusText, statusTone } from '../parts/words.ts';
import { blotterAddress, type Place } from '../state/address.ts';
import { OrderHistory } from '../state/orders/order-history.ts';
import type { ListedOrder } from '../state/orders/order-row.ts';
import { ladderOf } from '../state/orders/version-ladder.ts';
import { amountText } from '../state/text/decimal-text.ts';
import { joined } from '../state/text/word-text.ts';
import { CommandTable } from './command-table.tsx';
import { OrderActions } from './order-actions.tsx';
import { VersionLadder } from './version-ladder.tsx';

/** One order: its newest state, and every revision behind it. */
export function OrderPage({ params: { stream, orderId = '' } }: Place) {
  const state = useConsole();
  const history = useMemo(() => new OrderHistory(state, { stream: stream as Stream, orderId }), [stream, orderId]);
  const shown = useValue(history.state);
  const beginning = useValue(state.beginnings);
  useWhileShown(
    (signal) => {
      state.updates.add((update) => history.takeUpdate(update), signal);
      return history.load(signal);
    },
    [history, beginning],
  );
  if (shown.kind !== 'shown') return followedNote(shown, 'order', home);
  return (
    <article class="order">
      {headOf(shown.order)}
      {staleNote({ value: shown, fault: shown.stale })}
      <OrderActions order={shown.order} />
      {termsOf(shown.order)}
      <OrderCommands {...shown.order} />
      <h2>Versions</h2>
      <VersionLadder steps={ladderOf(shown.updates, shown.recordedAt)} cut={shown.cut} />
    </article>
  );
}

const home = blotterAddress();

function headOf({ order, accountId, stream, orderId, revision }: ListedOrder): VNode {
  const doubt = doubtText(order);
  return (
    <header class="order-head">
      <p class="crumb">
        <Link to={home}>Orders</Link> /{' '}
        <span class="id">
          {stream}:{orderId}
        </span>
      </p>
      <h1>
        {sideMark(order.side)}
        <span>
          {sizeText(order)} {instrumentText(order.instrument)}
        </span>
        <span class={`status ${statusTone(order.status)}`}>{statusText(order.status)}</span>
        {doubt !== '' && <span class="doubt">{doubt}</span>}
      </h1>
      <p class="soft">
        Account {accountId}, revision {revision}
      </p>
      {order.conflict !== undefined && (
        <p class="note" role="alert">
          The sources contradict each other: {order.conflict}
        </p>
      )}
    </header>
  );
}

function termsOf({ stream, order, sourceVersion }: ListedOrder): VNode {
  const { working } = order;
  const differs = working.quantity !== order.quantity || working.price !== order.price;
  const amount = (text: string | undefined) => text && amountText(text);
  const otherOrder = (orderId: string | undefined) => orderId && orderLink({ stream, orderId });
  const facts: readonly Fact[] = [
    ['Filled', fillBar(order)],
    ['Left', amount(order.leavesQty)],
    ['Average price', amount(order.avgPrice)],
    ['Type', `${order.orderType.replaceAll('_', ' ')}, ${order.timeInForce}`],
    ['Quantity', amount(order.quantity)],
    ['Amount', order.notional && sizeText(order)],
    ['Price', amount(order.price)],
    ['Stop price', amount(order.stopPrice)],
    ['Working at the venue', differs ? joined([working.quantity, working.price].map(amount), ' @ ') : 'as submitted'],
    ['Reject', joined([order.rejectReason, order.rejectText], ': ') || undefined],
    ['Placed by', order.origin === 'tidemark' ? 'Tidemark' : (order.placedBy ?? 'elsewhere')],
    ['Command', order.commandId && commandLink(order.commandId)],
    ['Reference of the caller', order.callerRef],
    ['Reference at the platform', order.clientOrderRef ?? order.clOrdId],
    ['Id at the venue', order.venueOrderId],
    ['Replaces', otherOrder(order.replaces)],
    ['Replaced by', otherOrder(order.replacedBy)],
    ['Source version', sourceVersion],
    ['Created', order.createdAt && <Time at={order.createdAt} />],
    ['Changed', <Time at={order.updatedAt} />],
    ['Closed', order.closedAt && <Time at={order.closedAt} />],
  ];
  return <Facts facts={facts} />;
}

/** The commands about one order, if there are any. */
function OrderCommands({ orderId }: ListedOrder) {
  const { shown, again, more } = useCommandList({ order: orderId });
  if (shown.kind === 'failed')
    return (
      <p class="fault" role="alert">
        The commands about this order could not be read. {shown.why} <button onClick={again}>Read again</button>
      </p>
    );
  if (shown.kind === 'loading' || shown.rows.length === 0) return undefined;
  return (
    <>
      <h2>Commands</h2>
      <div class="panel commands">
        <CommandTable rows={shown.rows} ofOneOrder />
      </div>
      {shown.next !== undefined && <button onClick={more}>Show older commands</button>}
    </>
  );
}
