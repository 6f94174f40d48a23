import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { type CommandRequest, isOfSecurities } from '../../src/domain/command.ts';
import { orderWord } from '../../src/domain/order.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { evidenceOf } from '../../src/venue/judge-write.ts';
import { KeySource } from '../../src/venue/key-source.ts';
import { addressFault, queryText } from '../../src/venue/order-address.ts';
import type { GetResult, ListRequest, OrderReads } from '../../src/venue/order-reads.ts';
import { answeredError, reasonOf } from '../../src/venue/platform-error.ts';
import { listFault, readListPages } from '../../src/venue/read-list-pages.ts';
import { type Dialect, type ReadDeps, readOrderAt, readVenue } from '../../src/venue/read-venue.ts';
import { notSent, type WriteAnswer } from '../../src/venue/write-result.ts';
import { orderWrites } from '../../src/venue/write-venue.ts';

/** The credential is `<key>:<secret>`, and a key has no colon. */
export function signatureOf(credential: Secret, text: string, atMs: number) {
  const [key = '', ...rest] = credential.reveal().split(':');
  const secret = rest.join(':');
  const time = String(Math.floor(atMs / 1_000));
  return { key, time, sign: createHmac('sha256', secret).update(`${time} ${text}`).digest('hex') };
}

export function coveKeys(clock: Clock, key: string, secret: Secret): KeySource {
  return new KeySource(clock, new Secret(`${key}:${secret.reveal()}`), 'Cove refuses the key: make a new one');
}

const refusal = z.object({ why: z.string() });

const dialect: Dialect = {
  sign: (credential, { method, url, body = '', atMs }) => {
    const { pathname, search } = new URL(url);
    const { key, time, sign } = signatureOf(credential, `${method} ${pathname}${search} ${body}`, atMs);
    return { 'cove-key': key, 'cove-time': time, 'cove-sign': sign };
  },
  errorOf: (status, body, retryAfterMs) => {
    const message = refusal.safeParse(body).data?.why ?? `Cove answered with status ${status}`;
    return answeredError(status, { message }, retryAfterMs);
  },
};

/** `url`: the base of Cove's REST. */
export function coveReads(given: ReadDeps, url: string): OrderReads {
  return {
    listOrders: (request, onPage, signal, budget) => {
      const read = (from: string | undefined) =>
        readVenue(
          { ...given, budget },
          dialect,
          { operation: 'list_orders', url: listUrl(url, request, from) },
          signal,
        );
      const pageOf = (answer: unknown) => pageShape.safeParse(answer).data;
      const nextOf = ({ more }: z.infer<typeof pageShape>, from: string | undefined) => {
        if (more === undefined) return undefined;
        return more === from ? listFault('LOOP', 'the list hands out the same cursor again') : { cursor: more };
      };
      return readListPages({ first: undefined, read, pageOf, nextOf }, onPage, signal);
    },
    getOrder: async (_stream, acct, orderId, signal, budget): Promise<GetResult> => {
      const fault = addressFault(orderId);
      if (fault !== undefined) return { kind: 'failed', error: fault };
      const address = `${url}/orders/${encodeURIComponent(orderId)}${queryText({ acct })}`;
      return readOrderAt({ ...given, budget }, dialect, address, signal);
    },
    listAccounts: async (signal) => {
      const answer = await readVenue(given, dialect, { operation: 'list_accounts', url: `${url}/accounts` }, signal);
      if (!answer.ok) return { complete: false, error: answer.error };
      const shown = accountsShape.safeParse(answer.value).data;
      if (shown === undefined) return listFault('BAD_ANSWER', 'the accounts have another shape');
      return { complete: true, accounts: shown.map(({ acct, open }) => ({ accountId: acct, isOpen: open })) };
    },
  };
}

const pageShape = z.object({ rows: z.array(z.unknown()), more: z.string().optional() });
const accountsShape = z.array(z.object({ acct: z.string(), open: z.boolean() }));

function listUrl(url: string, { accountId, state, after, reference, pageRows }: ListRequest, from?: string): string {
  const since = after === undefined ? undefined : Math.floor(Date.parse(after) / 1_000);
  const open = state === 'open' ? true : undefined;
  return `${url}/orders${queryText({ acct: accountId, open, since, ref: reference, most: pageRows, from })}`;
}

/** The request, or why there is none. */
function prepare(request: CommandRequest, attemptId: string) {
  if (request.kind === 'cancel') {
    const fault = addressFault(request.orderId);
    if (fault !== undefined) return notSent(fault.code, fault.message);
    const query = queryText({ acct: request.accountId });
    return { method: 'DELETE', path: `/orders/${encodeURIComponent(request.orderId)}${query}` } as const;
  }
  if (request.kind !== 'place' || !isOfSecurities(request)) return notSent('INVALID_REQUEST', 'Cove does not replace');
  const { symbol, side, type, qty, timeInForce, price, ...others } = request.terms;
  const [dir, kind] = [dirs.get(orderWord(side)), kinds.get(orderWord(type))];
  if (dir === undefined || kind === undefined || Object.keys(others).length > 0)
    return notSent('INVALID_REQUEST', 'Cove buys and sells, at the market or with a limit, and has no other terms');
  const order = { acct: request.accountId, ref: attemptId, sym: symbol, dir, kind, life: timeInForce, size: qty };
  return { method: 'POST', path: '/orders', body: JSON.stringify({ ...order, limit: price }) } as const;
}

const dirs: ReadonlyMap<string, string> = new Map(Object.entries({ buy: 'B', sell: 'S' }));
const kinds: ReadonlyMap<string, string> = new Map(Object.entries({ limit: 'LMT', market: 'MKT' }));

export const { judge: judgeCoveWrite, write: writeCoveOrder } = orderWrites({
  sign: dialect.sign,
  prepare,
  judge: (request, attemptId) => ({
    success: ({ body }) => accepted(body, request, attemptId),
    reason: ({ status, body }) => reasonOf({ status, message: refusal.safeParse(body).data?.why ?? 'no reason' }),
    // Its documents: 422 refuses, and 429 with this word did nothing.
    documented: ({ status, body }, reason) => {
      const why = refusal.safeParse(body).data?.why;
      if (status === 422 && why !== undefined) return { kind: 'refused', reason };
      return status === 429 && why === 'BUSY' ? { kind: 'not_sent', reason, mayRepeat: true } : undefined;
    },
  }),
});

const orderShape = z.looseObject({ no: z.number(), ref: z.string() });

/** A success has the order, and proves nothing unless it is ours. */
function accepted(body: unknown, request: CommandRequest, attemptId: string): WriteAnswer | string {
  const order = orderShape.safeParse(body).data;
  if (order === undefined) return 'the answer is not an order';
  const isOurs = request.kind === 'place' ? order.ref === attemptId : String(order.no) === request.orderId;
  if (!isOurs) return 'the answer is about another order';
  return { kind: 'accepted', answer: evidenceOf(order, ['no', 'ref', 'state', 'done']), order };
}
