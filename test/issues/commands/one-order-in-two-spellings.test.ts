// What a user saw: An unknown order that was placed again in another spelling (`usd`) was sent a second time.

import { describe, expect, it } from 'vitest';
import { parsePlaceAccount, parsePlacePrediction } from '../../../src/contract/command-bodies.ts';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { orderRequest, predictionOrderRequest } from '../../../src/venue/platform/wire/order-writes.ts';
import { CommandRig, unknown, word } from '../../support/commands/command-rig.ts';

const equity = {
  accountId: 'acct-1',
  symbol: 'AAPL',
  side: 'BUY',
  type: 'LIMIT',
  qty: '3',
  price: '1.5',
  timeInForce: 'GTC',
};
const prediction = {
  ...{ accountId: 'acct-1', symbol: 'FED-CUT-DEC26', outcome: 'YES', side: 'buy', orderType: 'limit', quantity: '10' },
  ...{ price: '0.11', timeInForce: 'gtd', expireTime: '2026-12-20T00:00:00Z' },
};
const [call200, call220] = ['C00200000', 'C00220000'].map((strike) => ({
  ...{ symbol: `AAPL261218${strike}`, side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' },
}));
const options = { ...equity, legs: [call200, call220] };

function placeOf(body: object): CommandRequest {
  const isEquity = 'qty' in body;
  const parsed = isEquity ? parsePlaceAccount(body) : parsePlacePrediction(body);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  const { accountId, terms } = parsed;
  return { kind: 'place', stream: isEquity ? 'account' : 'prediction', accountId, terms } as CommandRequest;
}

/** As the writer orders the fields. */
function orderedOf(request: CommandRequest): object {
  const shape = request.stream === 'account' ? orderRequest : predictionOrderRequest;
  const terms = request.kind === 'place' ? request.terms : {};
  return shape.parse({ ...terms, accountId: request.accountId });
}

const spellings: readonly (readonly [string, object, object])[] = [
  ['the currency of the platform', equity, { currency: 'USD' }],
  ['it in small letters', equity, { currency: 'usd' }],
  ['an empty currency', equity, { currency: '' }],
  ['no currency, as null', equity, { currency: null }],
  ['an empty destination', equity, { exDestination: '' }],
  ['no destination, as null', equity, { exDestination: null }],
  ['a destination in small letters', { ...equity, exDestination: 'SMART' }, { exDestination: 'smart' }],
  ['zeros behind the point', equity, { qty: '3.000', price: '1.50' }],
  ['a symbol in small letters', equity, { symbol: ' aapl ' }],
  ['no legs, as an empty list', equity, { legs: [] }],
  ['no legs, as null', equity, { legs: null }],
  ['a padded option', options, { legs: [{ ...call200, symbol: 'AAPL  261218C00200000' }, call220] }],
  ['an option of the quotes', options, { legs: [{ ...call200, symbol: 'O:aapl261218c00200000' }, call220] }],
  ['legs in another order', options, { legs: [call220, { ...call200, ratioQty: '1.0' }] }],
  ['an expiry with a fraction', prediction, { expireTime: '2026-12-20T00:00:00.000Z' }],
  ['an expiry of another zone', prediction, { expireTime: '2026-12-20T01:00:00+01:00' }],
  ['an expiry without a minute of difference', prediction, { expireTime: '2026-12-19T19:00:00.0-05:00' }],
];

/**
 * While the first try was unknown, `currency` "usd" after none was sent as a second order; a gtd
 * order passed the window of duplicates by each spelling of its expiry.
 */
describe('an order that is spelled in another way', () => {
  it.each(spellings)('is not placed while the outcome of the first is unknown: %s', async (_what, base, over) => {
    const rig = await CommandRig.leading({});
    rig.entry.scripts.push({ result: unknown });
    expect((await rig.send(placeOf(base))).state).toBe('unknown');
    expect(await rig.declined(placeOf({ ...base, ...over }))).toBe('UNRESOLVED_PRIOR_COMMAND');
    expect(rig.entry.sent).toHaveLength(1);
  });

  // Which spelling of a share class the platform takes, a caller may find out by trying.
  it.each(['BRK.B', 'brk-b', 'BRKB'])(
    'is not placed while the outcome of the first is unknown: the class BRK/B as %s',
    async (symbol) => {
      const rig = await CommandRig.leading({});
      rig.entry.scripts.push({ result: unknown });
      await rig.send(placeOf({ ...equity, symbol: 'BRK/B' }));
      expect(await rig.declined(placeOf({ ...equity, symbol }))).toBe('UNRESOLVED_PRIOR_COMMAND');
      const market = { ...prediction, symbol: 'TEMP-B70.5' };
      rig.entry.scripts.push({ result: unknown });
      await rig.send(placeOf(market));
      expect((await rig.send(placeOf({ ...market, symbol: 'TEMP-B705' }))).state, 'another market').toBe('accepted');
    },
  );

  it.each(spellings)('is the same request under its key, with the same bytes: %s', async (_what, base, over) => {
    const rig = await CommandRig.leading({});
    const first = placeOf(base);
    const again = placeOf({ ...base, ...over });
    const { commandId } = await rig.send(first, { idempotencyKey: 'k-1' });
    expect(await rig.submit(again, { idempotencyKey: 'k-1' })).toMatchObject({
      replayed: true,
      command: { commandId },
    });
    expect(JSON.stringify(orderedOf(again))).toBe(JSON.stringify(orderedOf(first)));
  });

  it('is refused within the window of duplicates', async () => {
    const rig = await CommandRig.leading({});
    const { by, reason, requestId } = word;
    await rig.journal.changeLimits({
      before: {},
      bounds: { duplicateWindowMs: 60_000 },
      by,
      reason,
      requestId,
      atMs: rig.clock.nowMs(),
    });
    await rig.send(placeOf(prediction));
    for (const [, base, over] of spellings.filter(([, each]) => each === prediction))
      expect(await rig.submit(placeOf({ ...base, ...over }))).toMatchObject({ breach: { limit: 'duplicateWindowMs' } });
    expect(rig.entry.sent).toHaveLength(1);
  });
});
