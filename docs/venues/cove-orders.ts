import { type OrderStatus, type OrderView, orderWord, statusWord } from '../../src/domain/order.ts';
import { trialStream } from '../../src/domain/streams.ts';
import { canonicalSymbol } from '../../src/domain/symbol.ts';
import type { RowReader } from '../../src/venue/row-reader.ts';
import type { OrderDecoder } from '../../src/venue/venue.ts';

/** Cove is made up: it shows how a venue is added (docs/venues.md). */
export const cove = trialStream('cove', {
  reduction: 'join',
  market: 'securities',
  pendingHidesStatus: false,
  replaces: 'no',
  orderId: 'any',
  enrolls: false,
  extendedHours: false,
  lists: 'by_change',
  namesAccount: true,
  reference: 'clOrdId',
});

/** `live` is partially filled once a part is done. */
const statuses: ReadonlyMap<string, OrderStatus> = new Map([
  ['wait', 'pending_new'],
  ['live', 'new'],
  ['halted', 'suspended'],
  ['done', 'filled'],
  ['pulled', 'canceled'],
  ['lapsed', 'expired'],
  ['no', 'rejected'],
]);
const words: ReadonlyMap<string, string> = new Map(
  Object.entries({ b: 'buy', s: 'sell', lmt: 'limit', mkt: 'market' }),
);

const knownFields: ReadonlySet<string> = new Set([
  ...['no', 'acct', 'ref', 'sym', 'dir', 'kind', 'life', 'state', 'asked', 'size', 'limit', 'done', 'mean'],
  ...['changed', 'why'],
]);

export const coveOrders: OrderDecoder = {
  names: { orderId: 'no', status: 'state', accountId: 'acct' },
  decode: (row, { accountId }) => ({ view: readView(row, accountId) }),
};

function readView(row: RowReader, accountId: string): OrderView {
  const word = statusWord(row.text('state'));
  const known = statuses.get(word) ?? 'unknown';
  const quantity = row.quantity('size');
  const cumQty = row.filled('done', 'rest', quantity, known);
  const status = known === 'new' && cumQty !== '0' ? 'partially_filled' : known;
  const orderType = translated(row.word('kind'));
  const price = row.optionalDecimal('limit');
  return {
    stream: cove,
    orderId: row.id('no'),
    accountId,
    instrument: { kind: 'equity', symbol: canonicalSymbol(row.text('sym')) },
    side: translated(orderWord(row.text('dir'))),
    orderType,
    timeInForce: row.word('life'),
    status,
    statusRaw: word,
    certainty: 'certain',
    // A word of its own, beside the status.
    pendingAction: row.word('asked') === 'pull' ? 'cancel' : 'none',
    quantity,
    price,
    working: { quantity, orderType, ...(price !== undefined && { price }) },
    cumQty,
    leavesQty: row.leaves('rest', quantity, cumQty, status),
    avgPrice: row.carriedDecimal('mean'),
    clOrdId: row.carriedText('ref'),
    rejectText: row.carriedText('why'),
    // Whole seconds since the epoch.
    updatedAt: row.epoch('changed', 1_000),
    extra: row.extra(knownFields),
  };
}

/** Another word of the venue stays as it is. */
function translated(word: string): string {
  return words.get(word) ?? word;
}
