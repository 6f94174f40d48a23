import { randomUUID } from 'node:crypto';
import { systemClock } from '../../src/runtime/clock.ts';
import type { Fleet } from './running-fleet.ts';

/**
 * Of the callers, and of the two whose answer is 504: a fault meets the next write of its account.
 */
const accountId = 'SIM-1001';
const uncertainAccount = 'SIM-1002';
const settleMs = 10_000;

/**
 * Some minutes of an installation, so that each panel has something to show: a second process joins
 * and gets its shards, callers place and cancel, two answers are 504, messages can't be read,
 * connections break. At the end all is well again, but for the dead letters.
 */
export async function tellStory(fleet: Fleet): Promise<void> {
  const over = new AbortController();
  await fleet.first.start();
  const readers = [followStream(fleet.first.rest, over.signal)];
  const callers = keepCalling([fleet.first.rest], over.signal);
  await systemClock.sleep(45_000);
  await fleet.second.start();
  await systemClock.sleep(75_000);
  const forwarded = keepCalling([fleet.second.rest], over.signal);
  await ask(fleet.control, { now: ['missing_field', 'bad_decimal'].map((kind) => ({ action: 'garbage', kind })) });
  await uncertain(fleet, 'yes');
  await uncertain(fleet, 'no');
  await systemClock.sleep(20_000);
  await ask(fleet.control, { now: [{ action: 'cut', how: 'rst' }] });
  await systemClock.sleep(20_000);
  await ask(fleet.control, { rules: [{ on: 'event', fault: 'silent_loss', times: 5 }] });
  await systemClock.sleep(100_000);
  over.abort();
  await Promise.all([callers, forwarded, ...readers]);
}

/**
 * A place whose answer is 504. One that had not landed is resolved by a
 * person, since nothing else can resolve it.
 */
async function uncertain({ first, control }: Fleet, applied: 'yes' | 'no'): Promise<void> {
  await ask(control, {
    rules: [{ on: 'write', fault: 'outcome_unknown', write: 'place', accountId: uncertainAccount, applied }],
  });
  const { commandId } = await place(first.rest, uncertainAccount, 'MSFT');
  if (commandId === undefined) throw new Error('a place was declined');
  if (applied === 'yes') return;
  await systemClock.sleep(settleMs);
  await call(first.rest, 'POST', `/v1/commands/${commandId}/resolution`, {
    result: 'rejected',
    reason: "not in the platform's ledger",
  });
}

/** Places far below the market, cancels again, and reads: a round a second, until it is over. */
async function keepCalling(addresses: readonly string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const rest of addresses) {
      const { orderId } = await place(rest, accountId, 'AAPL');
      await call(rest, 'GET', '/v1/orders?limit=50');
      await systemClock.sleep(1_000);
      if (orderId !== undefined) await call(rest, 'DELETE', `/v1/orders/${orderId}?accountId=${accountId}`);
    }
  }
}

function place(rest: string, account: string, symbol: string): Promise<Answer> {
  const body = { accountId: account, symbol, side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
  return call(rest, 'POST', '/v1/orders', body);
}

interface Answer {
  readonly commandId?: string;
  readonly orderId?: string;
}

async function call(rest: string, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${rest}${path}`, {
    method,
    headers: {
      'idempotency-key': randomUUID(),
      prefer: 'wait=2',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Answer;
}

async function ask(control: string, faults: object): Promise<void> {
  const response = await call(control, 'POST', '/faults', faults);
  if ('code' in response) throw new Error(`the sandbox refused ${JSON.stringify(faults)}: ${JSON.stringify(response)}`);
}

/** A reader of the stream of updates. */
async function followStream(rest: string, signal: AbortSignal): Promise<void> {
  const { body } = await fetch(`${rest}/v1/stream`, { signal });
  await body?.pipeTo(new WritableStream()).catch(() => undefined);
}
