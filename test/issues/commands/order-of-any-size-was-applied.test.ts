// What a user saw: A market order for 999999999999999999 shares was sent to the venue and applied.

import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import type { Bounds } from '../../../src/domain/limits.ts';
import {
  CommandRig,
  cancelWorking,
  placeEquity,
  placePrediction,
  replaceWorking,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';

const everything: CommandRequest = {
  kind: 'place',
  stream: 'account',
  accountId: 'acct-1',
  terms: { symbol: 'AAPL', side: 'BUY', type: 'MARKET', qty: '999999999999999999', timeInForce: 'DAY' },
};

async function limited(bounds: Bounds, options = {}): Promise<CommandRig> {
  const rig = await CommandRig.leading(options);
  const { by, reason, requestId } = word;
  await rig.journal.changeLimits({ before: {}, bounds, by, reason, requestId, atMs: rig.clock.nowMs() });
  return rig;
}

/**
 * Commands held an order to the platform's grammar and to its rate, and to nothing else: a market
 * order for 999999999999999999 shares was sent and applied.
 */
describe('a market order for more than there is', () => {
  it('is refused by a limit of quantity, with limit, value and bound, and nothing is journaled or sent', async () => {
    const rig = await limited({ maxQuantity: '1000' });
    expect(await rig.submit(everything)).toEqual({
      kind: 'declined',
      code: 'LIMIT_EXCEEDED',
      message: 'the limit maxQuantity is 1000, and with this command it would be 999999999999999999',
      breach: { limit: 'maxQuantity', bound: '1000', value: '999999999999999999' },
    });
    expect([rig.journal.commands.size, rig.entry.sent.length, rig.quotes.asked.length]).toEqual([0, 0, 0]);
    expect(rig.commands.placeBudget.allowance('acct-1').remaining).toBe(40);
  });

  it('is valued by the last quote, and refused where there is none that is fresh', async () => {
    const rig = await limited({ maxNotional: '1000000' });
    expect(await rig.declined(everything)).toBe('LIMIT_NOT_EVALUATED');
    rig.quotes.now = { price: '191.5', ageMs: 10_001 };
    expect(await rig.declined(everything)).toBe('LIMIT_NOT_EVALUATED');
    rig.quotes.now = { price: '191.5', ageMs: 300 };
    expect(await rig.submit(everything)).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      breach: { limit: 'maxNotional', value: '191499999999999999808.5' },
    });
    const small = { ...everything, terms: { ...everything.terms, qty: '5' } } as CommandRequest;
    await rig.send(small);
    expect(rig.quotes.asked).toEqual(Array(4).fill({ kind: 'equity', symbol: 'AAPL' }));
  });

  it('is refused on a real account that has no limits, and the refusal says what to run; a cancel passes', async () => {
    const rig = await CommandRig.leading({ accounts: ['acct-1'] });
    rig.probes.now = { known: true, live: true, isSim: false, certain: true, notEnrolled: false };
    rig.commit(workingOrder);
    const refused = await rig.submit(everything);
    expect(refused).toMatchObject({ kind: 'declined', code: 'LIMITS_REQUIRED' });
    expect('message' in refused && refused.message).toContain('tidemark limits set --account acct-1');
    await rig.send(cancelWorking);
  });
});

describe('limits', () => {
  it('ask for no quote where no limit needs one, and read it once where one does', async () => {
    const rig = await limited({ maxNotional: '2000' });
    await rig.send(placeEquity);
    expect(rig.quotes.asked).toEqual([]);
    await rig.send(placePrediction);
  });

  it('hold prices to the collar around the quote', async () => {
    const rig = await limited({ collarPercent: '5' });
    rig.quotes.now = { price: '200', ageMs: 0 };
    await rig.send({ ...placeEquity, terms: { ...placeEquity.terms, price: '210' } });
    const far = { ...placeEquity, terms: { ...placeEquity.terms, price: '210.01' } };
    expect(await rig.submit(far)).toMatchObject({ breach: { limit: 'collarPercent', bound: '5', value: '5.005' } });
    expect(await rig.declined(placePrediction)).toBe('LIMIT_NOT_EVALUATED');
  });

  it('value several legs by the quote of each, and refuse where one is missing', async () => {
    const rig = await limited({ maxNotional: '5000' });
    const legs = ['C00200000', 'C00220000'].map((strike) => ({
      ...{ symbol: `AAPL261218${strike}`, side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' },
    }));
    const { price: _price, ...terms } = { ...placeEquity.terms, type: 'STOP', qty: '50', stopPrice: '0.01', legs };
    const stop: CommandRequest = { ...placeEquity, terms };
    expect(await rig.declined(stop)).toBe('LIMIT_NOT_EVALUATED');
    rig.quotes.now = { price: '16', ask: '16.29', ageMs: 300 };
    expect(await rig.submit(stop)).toMatchObject({ code: 'LIMIT_EXCEEDED', breach: { value: '162900' } });
    expect(rig.quotes.asked).toEqual([...legs, ...legs].map(({ symbol }) => ({ kind: 'option', symbol })));
    expect(rig.entry.sent).toEqual([]);
    await rig.send({ ...stop, terms: { ...terms, qty: '1' } });
  });

  it('hold a replace to its new total, and one that raises nothing to none', async () => {
    const rig = await limited({ maxQuantity: '10', maxNotional: '4' });
    rig.commit(workingOrder);
    expect(await rig.submit({ ...replaceWorking, terms: { quantity: '11' } })).toMatchObject({
      breach: { limit: 'maxQuantity' },
    });
    expect(await rig.submit(replaceWorking)).toMatchObject({ breach: { limit: 'maxNotional', value: '5' } });
    await rig.send({ ...replaceWorking, terms: { quantity: '9' } });
  });
});
