import { z } from 'zod';
import { type CommandRequest, isOfSecurities } from '../../src/domain/command.ts';
import { type OrderStatus, orderWord } from '../../src/domain/order.ts';
import { trialStream } from '../../src/domain/streams.ts';
import { canonicalSymbol } from '../../src/domain/symbol.ts';
import { answerFrame, endedFrame, errorFrame, eventFrame, jsonFrames } from '../../src/venue/frames.ts';
import { keyPairOf, pairHeaders } from '../../src/venue/key-source.ts';
import { queryText } from '../../src/venue/order-address.ts';
import type { ListRequest, OrderReads } from '../../src/venue/order-reads.ts';
import { answeredError } from '../../src/venue/platform-error.ts';
import { listByCursor } from '../../src/venue/read-list-pages.ts';
import { accountsByUrl, type Dialect, orderByUrl, type ReadDeps } from '../../src/venue/read-venue.ts';
import { wordTable } from '../../src/venue/row-reader.ts';
import type { OrderDecoder, StreamProtocol, Venue } from '../../src/venue/venue.ts';
import { notSent } from '../../src/venue/write-result.ts';
import { orderWrites } from '../../src/venue/write-venue.ts';

/** Cove is made up: it shows how a venue is added (docs/venues.md). */
export const cove = trialStream('cove', { reduction: 'join', lists: 'by_change' });

const statuses = wordTable<OrderStatus>({
  ...{ wait: 'pending_new', live: 'new', halted: 'suspended', done: 'filled' },
  ...{ pulled: 'canceled', lapsed: 'expired', no: 'rejected' },
});
const words = wordTable<string>({ b: 'buy', s: 'sell', lmt: 'limit', mkt: 'market' });
/** Another word of the venue stays as it is. */
const translated = (word: string) => words.get(word) ?? word;

const knownFields: ReadonlySet<string> = new Set([
  ...['no', 'acct', 'ref', 'sym', 'dir', 'kind', 'life', 'state', 'asked', 'size', 'limit', 'done', 'mean'],
  ...['changed', 'why'],
]);

export const coveOrders: OrderDecoder = {
  names: { orderId: 'no', status: 'state', accountId: 'acct' },
  decode: (row, { accountId }) => {
    const quantity = row.quantity('size');
    const orderType = translated(row.word('kind'));
    const price = row.optionalDecimal('limit');
    const view = {
      stream: cove,
      orderId: row.id('no'),
      accountId,
      instrument: { kind: 'equity', symbol: canonicalSymbol(row.text('sym')) },
      side: translated(orderWord(row.text('dir'))),
      orderType,
      timeInForce: row.word('life'),
      ...row.standing({ status: 'state', filled: 'done', leaves: 'rest' }, statuses, quantity),
      certainty: 'certain',
      // A word of its own, beside the status.
      pendingAction: row.word('asked') === 'pull' ? 'cancel' : 'none',
      quantity,
      price,
      working: { quantity, orderType, ...(price !== undefined && { price }) },
      avgPrice: row.carriedDecimal('mean'),
      clOrdId: row.carriedText('ref'),
      rejectText: row.carriedText('why'),
      // Whole seconds since the epoch.
      updatedAt: row.epoch('changed', 1_000),
      extra: row.extra(knownFields),
    } as const;
    return { view };
  },
};

const protocol: StreamProtocol = {
  hello: (credential) => {
    const { keyId, secretKey } = keyPairOf(credential);
    return JSON.stringify({ t: 'login', key: keyId, secret: secretKey.reveal() });
  },
  read: jsonFrames('t', {
    order: ({ acct, order }) => eventFrame(cove, acct, order),
    welcome: () => ({ kind: 'signed_in' }),
    watching: ({ id }) => answerFrame('subscribed', id),
    left: ({ id }) => answerFrame('unsubscribed', id),
    no: ({ id, why }) => errorFrame('REFUSED', why, id),
    bye: ({ why }) => endedFrame(why === 'key' ? 'unauthorized' : 'restarting', why),
    beat: () => ({ kind: 'heartbeat' }),
  }),
  subscribe: (id, acct) => JSON.stringify({ t: 'watch', id, acct }),
  unsubscribe: (id, acct) => JSON.stringify({ t: 'leave', id, acct }),
  closeReasons: new Map([[4001, 'slow_consumer']]),
};

export const coveVenue: Venue = { [cove]: { orders: coveOrders, protocol } };

const refusal = z.object({ why: z.string() });
const whyOf = (body: unknown) => refusal.safeParse(body).data?.why;

const dialect: Dialect = {
  sign: pairHeaders('cove-key', 'cove-secret'),
  errorOf: (status, body, retryAfterMs) =>
    answeredError(status, { message: whyOf(body) ?? `Cove answered with status ${status}` }, retryAfterMs),
};

const pageShape = z
  .object({ rows: z.array(z.unknown()), more: z.string().optional() })
  .transform(({ rows, more }) => ({ rows, nextCursor: more }));
const accountsShape = z
  .array(z.object({ acct: z.string(), open: z.boolean() }))
  .transform((shown) => ({ accounts: shown.map(({ acct, open }) => ({ accountId: acct, isOpen: open })) }));

/** `url`: the base of Cove's REST. */
export function coveReads(deps: ReadDeps, url: string): OrderReads {
  const accountsOf = (answer: unknown) => accountsShape.safeParse(answer).data;
  return {
    listOrders: listByCursor(
      deps,
      dialect,
      (...page) => `${url}/orders${listQuery(...page)}`,
      () => pageShape,
    ),
    getOrder: orderByUrl(deps, dialect, (_stream, acct, id) => `${url}/orders/${id}${queryText({ acct })}`),
    listAccounts: (signal) => accountsByUrl(deps, dialect, { url: `${url}/accounts` }, accountsOf, signal),
  };
}

function listQuery({ accountId, state, after, reference, pageRows }: ListRequest, from?: string): string {
  const since = after === undefined ? undefined : Math.floor(Date.parse(after) / 1_000);
  const open = state === 'open' ? true : undefined;
  return queryText({ acct: accountId, open, since, ref: reference, most: pageRows, from });
}

const orderBody = z.strictObject({
  ...{ acct: z.string(), ref: z.string(), sym: z.string(), dir: z.enum(['B', 'S']), kind: z.enum(['LMT', 'MKT']) },
  ...{ life: z.string(), size: z.string(), limit: z.string().optional() },
});
const coveWords = new Map([...words].map(([theirs, ours]) => [ours, theirs.toUpperCase()]));

/** The request, or why there is none. Terms that Cove has no field for are refused by the shape. */
function prepare(request: CommandRequest, attemptId: string, id: string) {
  const acct = request.accountId;
  if (request.kind === 'cancel') return { method: 'DELETE', path: `/orders/${id}${queryText({ acct })}` } as const;
  if (request.kind !== 'place' || !isOfSecurities(request)) return notSent('INVALID_REQUEST', 'Cove does not replace');
  const { symbol, side, type, qty, timeInForce, price, ...others } = request.terms;
  const [dir, kind] = [side, type].map((word) => coveWords.get(orderWord(word)));
  const terms = { sym: symbol, dir, kind, life: timeInForce, size: qty, limit: price, ...others };
  return { method: 'POST', path: '/orders', body: orderBody.safeParse({ acct, ref: attemptId, ...terms }) } as const;
}

export const { judge: judgeCoveWrite, write: writeCoveOrder } = orderWrites({
  dialect,
  prepare,
  names: { orderId: 'no', reference: 'ref', evidence: ['no', 'state'] },
  // Its documents: 422 refuses, and 429 with this word did nothing.
  documented: ({ status, body }, reason) => {
    if (status === 422 && whyOf(body) !== undefined) return { kind: 'refused', reason };
    return status === 429 && whyOf(body) === 'BUSY' ? { kind: 'not_sent', reason, mayRepeat: true } : undefined;
  },
});
