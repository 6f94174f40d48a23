import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parsePlacePrediction } from '../../../src/contract/command-bodies.ts';
import type { AccountPlaceTerms } from '../../../src/domain/command.ts';
import type { Bounds, LimitBreach, LimitScope } from '../../../src/domain/limits.ts';
import { measurePlace, measureReplace, type Quote } from '../../../src/domain/measure-command.ts';
import type { Order } from '../../../src/domain/order.ts';
import type { CommandJournal, NewCommand } from '../../../src/store/commands/command-journal.ts';
import { equityView, predictionView } from '../orders/arbitrary-orders.ts';
import {
  answered,
  atMs,
  fence,
  type JournalUnderTest,
  newCancel,
  newPlace,
  newReplace,
  sending,
} from './journal-fixtures.ts';

const ofAccount: LimitScope = { accountId: 'acct-1' };
const fresh: Quote = { price: '200', ageMs: 0 };

/** Sets the bounds of a scope, whatever they are. */
async function limit(journal: CommandJournal, bounds: Bounds, scope: LimitScope = ofAccount): Promise<void> {
  const rows = await journal.limits();
  const row = rows.find((each) => each.principal === scope.principal && each.accountId === scope.accountId);
  const word = { by: 'olga', reason: 'the desk asks for it', requestId: 'request-1', atMs };
  expect(await journal.changeLimits({ ...scope, before: row?.bounds ?? {}, bounds, ...word })).toBe(true);
}

/** A place of an equity, 10 AAPL at 187.5 unless it says otherwise, measured as a command is. */
function place(terms: Partial<AccountPlaceTerms> = {}, over: Partial<NewCommand> = {}, quote?: Quote): NewCommand {
  const base: AccountPlaceTerms = {
    symbol: 'AAPL',
    side: 'BUY',
    type: 'LIMIT',
    qty: '10',
    timeInForce: 'DAY',
    price: '187.5',
  };
  const { price, ...rest } = { ...base, ...terms };
  const request = {
    kind: 'place',
    stream: 'account',
    accountId: 'acct-1',
    terms: { ...rest, ...(price !== undefined && rest.type.endsWith('LIMIT') && { price }) },
  } as const;
  return newPlace({ request, measure: measurePlace(request, quote && legsOf(rest).map(() => quote)), ...over });
}

/** An order without legs has one quote. */
function legsOf({ legs = [] }: Partial<AccountPlaceTerms>): readonly unknown[] {
  return legs.length === 0 ? [undefined] : legs;
}

const leg = (symbol: string, side = 'BUY', ratioQty = '1') => ({ symbol, side, ratioQty, positionEffect: 'OPEN' });
const [call200, call220, tesla] = [
  leg('AAPL261218C00200000'),
  leg('AAPL261218C00220000', 'SELL'),
  leg('TSLA261218C00200000'),
];
/** 50 lots that become a market order at the first trade. */
const stopOfTwo = (quote?: Quote) =>
  place({ type: 'STOP', qty: '50', stopPrice: '0.01', legs: [call200, leg('AAPL261218C00220000')] }, {}, quote);
const ofTwo = (terms: Partial<AccountPlaceTerms>, quote?: Quote) =>
  place({ legs: [call200, call220], ...terms }, {}, quote);

const market = (qty: string, quote?: Quote) => place({ type: 'MARKET', qty }, {}, quote);

const predictionBody = {
  ...{ accountId: 'acct-1', symbol: 'FED-CUT', outcome: 'YES', side: 'buy', orderType: 'limit', timeInForce: 'gtd' },
  ...{ quantity: '10', price: '0.11' },
};

/**
 * Asserts of each command that its preview says the same first, but of one that we refuse
 * ourselves, which is not judged.
 */
async function breachOf(journal: CommandJournal, asked: NewCommand): Promise<LimitBreach | 'passes'> {
  const preview = await journal.preview(asked);
  const result = await journal.open(asked, fence);
  const breach = result.kind === 'limited' ? result.breach : 'passes';
  const { broken: _broken, ...first } = preview.limits.find(({ broken }) => broken) ?? { broken: false };
  if (asked.attemptId !== undefined) expect('limit' in first ? first : 'passes').toEqual(breach);
  if (breach === 'passes') expect(result.kind).toBe('opened');
  return breach;
}

export function limitContract(make: () => Promise<JournalUnderTest>): void {
  describe('limits', () => {
    it('are kept by scope, with the line of the audit trail, and only over the bounds that they were decided on', async () => {
      await using rig = await make();
      await limit(rig.journal, { maxQuantity: '5', allowedSymbols: ['AAPL'] });
      const word = { by: 'olga', reason: 'more', requestId: 'request-2', atMs };
      const stale = { ...ofAccount, before: { maxQuantity: '4' }, bounds: { maxQuantity: '9' }, ...word };
      expect(await rig.journal.changeLimits(stale)).toBe(false);
      expect(await rig.journal.changeLimits({ before: { maxQuantity: '4' }, bounds: {}, ...word })).toBe(false);
      await limit(rig.journal, { maxQuantity: '7' }, { principal: 'desk' });
      expect(await rig.journal.limits()).toEqual([
        {
          ...ofAccount,
          bounds: { maxQuantity: '5', allowedSymbols: ['AAPL'] },
          changedBy: 'olga',
          reason: 'the desk asks for it',
          changedAtMs: atMs,
        },
        {
          principal: 'desk',
          bounds: { maxQuantity: '7' },
          changedBy: 'olga',
          reason: 'the desk asks for it',
          changedAtMs: atMs,
        },
      ]);
      await limit(rig.journal, {});
      expect(await rig.journal.limits()).toHaveLength(1);
    });

    it.each<[string, Bounds, NewCommand, Partial<LimitBreach>]>([
      ['maxQuantity', { maxQuantity: '9.5' }, place(), { bound: '9.5', value: '10' }],
      ['maxNotional', { maxNotional: '1874' }, place(), { bound: '1874', value: '1875' }],
      ['maxNotional', { maxNotional: '1999' }, market('10', fresh), { bound: '1999', value: '2000' }],
      ['maxNotional', { maxNotional: '1999' }, place({ side: 'SELL', price: '0.01' }, {}, fresh), { value: '2000' }],
      ['maxNotional', { maxNotional: '1' }, market('1'), { why: 'there is no quote', needsQuote: true }],
      ['maxNotional', { maxNotional: '1' }, market('1', { price: '1', ageMs: 10_001 }), { needsQuote: true }],
      ['collarPercent', { collarPercent: '6' }, place({}, {}, fresh), { bound: '6', value: '6.25' }],
      ['collarPercent', { collarPercent: '6' }, place(), { why: 'there is no quote', needsQuote: true }],
      [
        'collarPercent',
        { collarPercent: '9', maxQuoteAgeMs: 50 },
        place({}, {}, { ...fresh, ageMs: 51 }),
        { needsQuote: true },
      ],
      ['allowedSymbols', { allowedSymbols: ['MSFT'] }, place(), { value: 'AAPL' }],
      ['forbiddenSymbols', { forbiddenSymbols: ['AAPL'] }, place(), { bound: '["AAPL"]' }],
      ['instruments', { instruments: ['option'] }, place(), { bound: '["option"]', value: 'equity' }],
      ['maxOpenOrders', { maxOpenOrders: 0 }, place(), { bound: '0', value: '1' }],
      ['maxSymbolExposure', { maxSymbolExposure: '1874' }, place(), { value: '1875' }],
      ['maxAccountExposure', { maxAccountExposure: '1874' }, place(), { value: '1875' }],
      ['maxAccountExposure', { maxAccountExposure: '9' }, market('1'), { needsQuote: true }],
      ['ordersPerMinute', { ordersPerMinute: 0 }, place(), { bound: '0', value: '1' }],
      ['maxNotional', { maxNotional: '5000' }, stopOfTwo(), { why: 'there is no quote', needsQuote: true }],
      ['maxNotional', { maxNotional: '5000' }, stopOfTwo({ price: '16', ageMs: 0 }), { value: '160000' }],
      ['maxNotional', { maxNotional: '5000' }, stopOfTwo({ price: '16', ageMs: 10_001 }), { needsQuote: true }],
      ['maxNotional', { maxNotional: '5000' }, ofTwo({ qty: '50', price: '0' }), { why: 'there is no quote' }],
      [
        'maxNotional',
        { maxNotional: '5000' },
        ofTwo({ qty: '50', price: '-1' }, { price: '16', ageMs: 0 }),
        { value: '160000' },
      ],
      ['maxNotional', { maxNotional: '5000' }, ofTwo({ side: 'SELL', price: '0.01' }), { why: 'there is no quote' }],
      [
        'maxNotional',
        { maxNotional: '5000' },
        place({ currency: 'EUR' }),
        { why: expect.stringContaining('EUR') as string },
      ],
      [
        'maxAccountExposure',
        { maxAccountExposure: '9' },
        place({ currency: 'BTC' }),
        { why: expect.stringContaining('BTC') as string },
      ],
      [
        'collarPercent',
        { collarPercent: '9' },
        place({ currency: 'EUR' }, {}, fresh),
        { why: expect.stringContaining('EUR') as string },
      ],
      [
        'collarPercent',
        { collarPercent: '9' },
        ofTwo({}, fresh),
        { why: 'an order of several legs has no quote of its own' },
      ],
      [
        'collarPercent',
        { collarPercent: '9' },
        place({}, {}, { ask: '200', ageMs: 0 }),
        { why: 'a side of the quote is missing' },
      ],
      [
        'maxQuantity',
        { maxQuantity: '100' },
        place({ qty: '1000', legs: [leg('X', 'BUY', '0.001')] }),
        { value: '1000' },
      ],
      ['maxNotional', { maxNotional: '5000' }, place({ qty: '0.5', price: '60', legs: [call200] }), { value: '6000' }],
      [
        'maxNotional',
        { maxNotional: '99' },
        place({ symbol: 'AAPL  261218C00200000', qty: '1', price: '1' }),
        { value: '100' },
      ],
      ['allowedSymbols', { allowedSymbols: ['AAPL'] }, place({ legs: [call200, tesla] }), { value: 'TSLA' }],
      [
        'allowedSymbols',
        { allowedSymbols: ['AAPL'] },
        place({ legs: [leg('NOT-A-CONTRACT')] }),
        { value: 'NOT-A-CONTRACT' },
      ],
      ['forbiddenSymbols', { forbiddenSymbols: ['TSLA'] }, place({ legs: [tesla] }), { bound: '["TSLA"]' }],
      [
        'forbiddenSymbols',
        { forbiddenSymbols: ['BRK.B'] },
        place({ legs: [leg('BRKB261218C00200000')] }),
        { bound: '["BRK.B"]' },
      ],
      ['instruments', { instruments: ['equity'] }, place({ symbol: 'AAPL261218C00200000' }), { value: 'option' }],
      [
        'maxSymbolExposure',
        { maxSymbolExposure: '9' },
        place({ legs: [call200, tesla] }),
        { why: expect.stringContaining('TSLA') as string },
      ],
    ])('refuses what breaks %s, with value and bound, and journals nothing', async (name, bounds, asked, breach) => {
      await using rig = await make();
      await limit(rig.journal, bounds);
      expect(await breachOf(rig.journal, asked)).toMatchObject({ limit: name, ...breach });
      expect(await rig.journal.find(asked.commandId)).toBeUndefined();
      expect(await rig.events()).toEqual([]);
    });

    it.each<[string, Bounds, NewCommand]>([
      [
        'at its bounds',
        { maxQuantity: '10', maxNotional: '1875', maxOpenOrders: 1, maxAccountExposure: '1875' },
        place(),
      ],
      ['a net price that bounds what is paid', { maxNotional: '2000', maxQuantity: '20' }, ofTwo({ price: '2' })],
      [
        'on legs of the allowed',
        { allowedSymbols: ['BRK.B'] },
        place({ symbol: 'BRK.B', legs: [leg('BRKB1261218C00200000')] }),
      ],
      [
        'in another currency, under no limit of money',
        { maxQuantity: '10', allowedSymbols: ['AAPL'] },
        place({ currency: 'EUR' }),
      ],
      ['within the collar', { collarPercent: '6.25' }, place({}, {}, fresh)],
      [
        'on what the lists name',
        { allowedSymbols: ['AAPL'], forbiddenSymbols: ['MSFT'], instruments: ['equity'] },
        place(),
      ],
      [
        'of another account',
        { maxQuantity: '1' },
        newPlace({ request: { ...place().request, accountId: 'acct-2' } as never }),
      ],
      ['that is a cancel', { maxQuantity: '0', ordersPerMinute: 0 }, newCancel('p-1')],
      [
        'that we refuse ourselves',
        { maxQuantity: '0' },
        place({}, { refusal: { code: 'NO', message: 'no' }, attemptId: undefined as never }),
      ],
    ])('let through what is %s', async (_what, bounds, asked) => {
      await using rig = await make();
      await limit(rig.journal, bounds);
      expect(await breachOf(rig.journal, asked)).toBe('passes');
    });

    it('are previewed all at once, in the order in which they are judged, each with its bound and its value', async () => {
      await using rig = await make();
      await limit(
        rig.journal,
        { maxQuantity: '9', maxNotional: '2000', ordersPerMinute: 1, duplicateWindowMs: 5_000 },
        {},
      );
      await limit(rig.journal, { allowedSymbols: ['AAPL', 'MSFT'], collarPercent: '6', maxOpenOrders: 4 });
      await limit(rig.journal, { maxAccountExposure: '1000', ordersPerMinute: 5 }, { principal: 'desk' });
      const asked = place({}, {}, fresh);
      const readings = [
        { limit: 'allowedSymbols', bound: '["AAPL", "MSFT"]', broken: false, value: '["AAPL"]' },
        { limit: 'maxQuantity', bound: '9', broken: true, value: '10' },
        { limit: 'collarPercent', bound: '6', broken: true, value: '6.25' },
        { limit: 'maxNotional', bound: '2000', broken: false, value: '1875' },
        { limit: 'ordersPerMinute', bound: '1', broken: false, value: '1' },
        { limit: 'ordersPerMinute', bound: '5', broken: false, value: '1' },
        { limit: 'duplicateWindowMs', bound: '5000', broken: false },
        { limit: 'maxOpenOrders', bound: '4', broken: false, value: '1' },
        { limit: 'maxAccountExposure', bound: '1000', broken: true, value: '1875' },
      ];
      expect(await rig.journal.preview(asked)).toEqual({
        callerRefReused: false,
        notSuperseded: false,
        limits: readings,
      });
      expect(await rig.journal.find(asked.commandId)).toBeUndefined();
      expect(await rig.events()).toEqual([]);
      const real = await rig.journal.preview({ ...place({ symbol: 'X' }, { principal: 'bot' }), limitsRequired: true });
      const broken = real.limits.filter((each) => each.broken).map((each) => each.limit);
      expect(broken).toEqual(['allowedSymbols', 'maxQuantity', 'collarPercent']);
      const without = place(
        {},
        { request: { ...place().request, accountId: 'acct-3' } as never, limitsRequired: true },
      );
      expect((await rig.journal.preview(without)).limits[0]).toMatchObject({ limit: 'maxQuantity', broken: true });
    });

    it('of an account that has none are missing in its preview, beside what is compared all the same', async () => {
      await using rig = await make();
      const bare = place({}, { limitsRequired: true });
      const bound = 'maxQuantity, maxNotional, ordersPerMinute';
      expect((await rig.journal.preview(bare)).limits).toEqual([{ limit: 'required', bound, broken: true }]);
      await limit(rig.journal, { maxQuantity: '9' });
      const { limits } = await rig.journal.preview(bare);
      expect(limits.map(({ limit: name, broken }) => [name, broken])).toEqual([
        ['required', true],
        ['maxQuantity', true],
      ]);
    });

    it('do not hide from a preview that a reference was used, or a command can not be superseded', async () => {
      await using rig = await make();
      await limit(rig.journal, { maxQuantity: '1' });
      const first = await sending(rig.journal, place({ qty: '1' }, { callerRef: 'ref-1', callerRefOnce: true }));
      const again = place({}, { callerRef: 'ref-1', callerRefOnce: true, supersedes: first.commandId });
      const preview = await rig.journal.preview(again);
      expect(preview).toMatchObject({ callerRefReused: true, notSuperseded: true, limits: [{ limit: 'maxQuantity' }] });
      expect((await rig.journal.open(again, fence)).kind).toBe('caller_ref_reused');
    });

    it('of every row that matches hold together, so that a narrower one lifts nothing', async () => {
      await using rig = await make();
      await limit(rig.journal, { maxQuantity: '5' }, {});
      await limit(rig.journal, { maxQuantity: '50' }, ofAccount);
      await limit(rig.journal, { maxQuantity: '500' }, { principal: 'desk' });
      await limit(rig.journal, { maxQuantity: '1' }, { principal: 'bot', accountId: 'acct-1' });
      expect(await breachOf(rig.journal, place({ qty: '6' }))).toMatchObject({ bound: '5' });
      expect(await breachOf(rig.journal, place({ qty: '5' }))).toBe('passes');
      expect(await breachOf(rig.journal, place({ qty: '5' }, { principal: 'bot' }))).toMatchObject({ bound: '1' });
    });

    it.each<[string, Bounds, number]>([
      ['10 s where the row of everyone does not say so', {}, 10_000],
      ['what the row of everyone says, where that is more', { maxQuoteAgeMs: 60_000 }, 60_000],
      ['what the row of everyone says, where that is less', { maxQuoteAgeMs: 2_000 }, 2_000],
    ])('take a quote of at most %s, and a narrower row can only lower it', async (_what, everyone, most) => {
      await using rig = await make();
      const sized = (ageMs: number) => market('1', { price: '1', ageMs });
      const refusal = (bound: number) => ({ why: `the quote is ${bound + 1} ms old, and may be ${bound}` });
      await limit(rig.journal, { maxNotional: '1000', ...everyone }, {});
      await limit(rig.journal, { maxQuoteAgeMs: 86_400_000 });
      await limit(rig.journal, { maxQuoteAgeMs: 86_400_000 }, { principal: 'desk' });
      expect(await breachOf(rig.journal, sized(most))).toBe('passes');
      expect(await breachOf(rig.journal, sized(most + 1))).toMatchObject(refusal(most));
      await limit(rig.journal, { maxQuoteAgeMs: 1_000 });
      expect(await breachOf(rig.journal, sized(1_001))).toMatchObject(refusal(1_000));
    });

    it('are required where the account is a real one', async () => {
      await using rig = await make();
      const real = () => place({ qty: '1' }, { limitsRequired: true });
      const all = 'maxQuantity, maxNotional, ordersPerMinute';
      expect(await breachOf(rig.journal, real())).toEqual({ limit: 'required', bound: all });
      await limit(rig.journal, { maxQuantity: '9', maxNotional: '9000' }, {});
      expect(await breachOf(rig.journal, real())).toEqual({ limit: 'required', bound: 'ordersPerMinute' });
      await limit(rig.journal, { ordersPerMinute: 9 });
      expect(await breachOf(rig.journal, real())).toBe('passes');
      expect(await breachOf(rig.journal, newCancel('p-1', { limitsRequired: true }))).toBe('passes');
    });

    it('answer a known key before they are asked', async () => {
      await using rig = await make();
      const asked = place();
      await rig.journal.open(asked, fence);
      await limit(rig.journal, { maxQuantity: '0' });
      expect(await rig.journal.open(asked, fence)).toMatchObject({ kind: 'replayed' });
    });

    it('count what anyone sent within a minute, and for a row that names a principal what it sent itself', async () => {
      await using rig = await make();
      await limit(rig.journal, { ordersPerMinute: 3 });
      await limit(rig.journal, { ordersPerMinute: 1 }, { principal: 'bot' });
      expect(await breachOf(rig.journal, place())).toBe('passes');
      expect(await breachOf(rig.journal, place({}, { principal: 'bot' }))).toBe('passes');
      expect(await breachOf(rig.journal, place({}, { principal: 'bot' }))).toMatchObject({ bound: '1', value: '2' });
      expect(await breachOf(rig.journal, place())).toBe('passes');
      expect(await breachOf(rig.journal, place())).toMatchObject({ bound: '3', value: '4' });
      expect(await breachOf(rig.journal, place({}, { atMs: atMs + 60_001 }))).toBe('passes');
    });

    it('refuse the same terms within the window, unless nothing came of the first', async () => {
      await using rig = await make();
      await limit(rig.journal, { duplicateWindowMs: 5_000 });
      const first = await sending(rig.journal, place());
      const same = { limit: 'duplicateWindowMs', bound: '5000', value: `the same as command ${first.commandId}` };
      expect(await breachOf(rig.journal, place({}, { atMs: atMs + 4_999 }))).toEqual(same);
      expect(await breachOf(rig.journal, place({ qty: '11' }, { atMs: atMs + 4_999 }))).toBe('passes');
      expect(await breachOf(rig.journal, place({}, { atMs: atMs + 5_001 }))).toBe('passes');
      await limit(rig.journal, { duplicateWindowMs: 60_000 });
      const other = await sending(rig.journal, place({ symbol: 'MSFT' }));
      await rig.journal.step(answered(other, 'not_sent'), fence);
      expect(await breachOf(rig.journal, place({ symbol: 'MSFT' }))).toBe('passes');
    });

    it('know a share class in each spelling, by the window and by what is at work, and a market in one', async () => {
      await using rig = await make();
      await limit(rig.journal, { duplicateWindowMs: 5_000, maxSymbolExposure: '3750' });
      const first = place({ symbol: 'BRK/B' });
      await rig.journal.step(answered(await sending(rig.journal, first), 'accepted'), fence);
      for (const symbol of ['BRK.B', 'BRK-B', 'BRKB'])
        expect(await breachOf(rig.journal, place({ symbol }))).toMatchObject({ limit: 'duplicateWindowMs' });
      const later = { atMs: atMs + 5_001 };
      // The venue shows it under its own name.
      const instrument = { kind: 'equity', symbol: 'BRK.B' } as const;
      await rig.show(
        { ...equityView, orderId: 'o-2', price: '187.5', working: { quantity: '10', price: '187.5' }, instrument },
        first,
      );
      for (const symbol of ['BRK/B', 'BRK.B', 'BRKB'])
        expect(await breachOf(rig.journal, place({ symbol, qty: '11' }, later))).toMatchObject({
          ...{ limit: 'maxSymbolExposure', value: '3937.5' },
        });
      const market = (symbol: string): NewCommand => {
        const parsed = parsePlacePrediction({ ...predictionBody, symbol, expireTime: '2026-12-20T00:00:00Z' });
        if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
        const { accountId, terms } = parsed;
        const request = { kind: 'place', stream: 'prediction', accountId, terms } as const;
        return newPlace({ request, measure: measurePlace(request) });
      };
      expect(await breachOf(rig.journal, market('TEMP-B70.5'))).toBe('passes');
      expect(await breachOf(rig.journal, market('TEMP-B705'))).toBe('passes');
    });

    it('refuse each spelling of an expiry within the window, as the door makes one of them', async () => {
      await using rig = await make();
      await limit(rig.journal, { duplicateWindowMs: 5_000 });
      const until = (expireTime: string): NewCommand => {
        const body = { ...predictionBody, expireTime };
        const parsed = parsePlacePrediction(body);
        if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
        const request = {
          kind: 'place',
          stream: 'prediction',
          accountId: parsed.accountId,
          terms: parsed.terms,
        } as const;
        return newPlace({ request, measure: measurePlace(request) });
      };
      expect(await breachOf(rig.journal, until('2026-12-20T00:00:00Z'))).toBe('passes');
      for (const expireTime of ['2026-12-20T00:00:00.000Z', '2026-12-20T01:00:00+01:00', '2026-12-20T00:00:00.0Z'])
        expect(await breachOf(rig.journal, until(expireTime))).toMatchObject({ limit: 'duplicateWindowMs' });
      expect(await breachOf(rig.journal, until('2026-12-20T00:00:01Z'))).toBe('passes');
    });

    it('count as open and at work what was accepted or may have been placed, and an order once with its command', async () => {
      await using rig = await make();
      await limit(rig.journal, { maxOpenOrders: 2, maxSymbolExposure: '3750' });
      const first = await sending(rig.journal, place());
      await rig.journal.step(answered(first, 'unknown'), fence);
      const second = place();
      await rig.journal.step(answered(await sending(rig.journal, second), 'accepted'), fence);
      expect(await breachOf(rig.journal, place())).toMatchObject({ limit: 'maxOpenOrders', value: '3' });
      await rig.show(
        { ...equityView, orderId: 'o-2', price: '187.5', working: { quantity: '10', price: '187.5' } },
        second,
      );
      expect(await breachOf(rig.journal, place())).toMatchObject({ limit: 'maxOpenOrders', value: '3' });
      await limit(rig.journal, { maxSymbolExposure: '3750' });
      expect(await breachOf(rig.journal, place({ qty: '1' }))).toMatchObject({ bound: '3750', value: '3937.5' });
      expect(await breachOf(rig.journal, place({ qty: '1', symbol: 'MSFT' }))).toBe('passes');
      await rig.show({ ...equityView, orderId: 'o-2', status: 'canceled', leavesQty: '0' });
      expect(await breachOf(rig.journal, place())).toBe('passes');
    });

    it('count a place whose reference stands on the order of another account', async () => {
      await using rig = await make();
      await limit(rig.journal, { maxOpenOrders: 1, maxSymbolExposure: '3750' });
      const first = place();
      await rig.journal.step(answered(await sending(rig.journal, first), 'unknown'), fence);
      await rig.show({ ...equityView, orderId: 'o-2', accountId: 'acct-9' }, first, false);
      expect(await breachOf(rig.journal, place())).toMatchObject({ limit: 'maxOpenOrders', value: '2' });
      await limit(rig.journal, { maxSymbolExposure: '3749' });
      expect(await breachOf(rig.journal, place())).toMatchObject({ limit: 'maxSymbolExposure', value: '3750' });
    });

    it.each<[string, Partial<Order>, string]>([
      ['an equity at its price', { leavesQty: '4' }, '2641'],
      ['a stop at its higher price', { orderType: 'stop_limit', stopPrice: '300', leavesQty: '4' }, '3075'],
      [
        'an option by a hundred shares',
        {
          instrument: { kind: 'option', symbol: 'AAPL', legs: [{ symbol: 'X', side: 'buy', ratioQty: '2' }] },
          price: '1',
          working: { quantity: '10', price: '1' },
        },
        '3875',
      ],
      [
        'a part of a contract as a whole one',
        {
          instrument: { kind: 'option', symbol: 'AAPL', legs: [{ symbol: 'X', side: 'buy', ratioQty: '0.01' }] },
          price: '1',
          working: { quantity: '10', price: '1' },
        },
        '2875',
      ],
      ['a prediction that is bought at its price', { ...predictionView, leavesQty: '5' }, '1877'],
      [
        'a prediction that is sold at what it can be worth',
        { ...predictionView, side: 'sell', leavesQty: '5' },
        '1880',
      ],
    ])('value %s that others placed', async (_what, over, total) => {
      await using rig = await make();
      await limit(rig.journal, { maxAccountExposure: '1876' });
      await rig.show({ ...equityView, orderId: 'o-9', ...over } as Order);
      expect(await breachOf(rig.journal, place())).toMatchObject({ limit: 'maxAccountExposure', value: total });
    });

    it('know an open order by each spelling of its symbol, and no value of several legs that were sold', async () => {
      await using rig = await make();
      await limit(rig.journal, { maxSymbolExposure: '1876' });
      const option = { kind: 'option', symbol: 'aapl  261218C00200000' } as const;
      const one = { price: '1', working: { quantity: '10', price: '1' } };
      await rig.show({ ...equityView, orderId: 'o-7', instrument: option, ...one } as Order);
      expect(await breachOf(rig.journal, place())).toMatchObject({ limit: 'maxSymbolExposure', value: '2875' });
      const legs = [call200, call220].map(({ symbol }) => ({ symbol, side: 'sell', ratioQty: '1' }));
      const sold: Partial<Order> = {
        ...equityView,
        orderId: 'o-8',
        side: 'sell',
        instrument: { kind: 'option', symbol: 'AAPL', legs },
        ...one,
      };
      await rig.show({ ...sold, origin: 'external' } as Order);
      expect(await breachOf(rig.journal, place())).toMatchObject({ why: 'the value of order o-8 is not known' });
    });

    it.each<[string, Order['instrument']]>([
      ['a package whose legs are not shown', { kind: 'option', symbol: 'AAPL' }],
      [
        'a package that sells more contracts than it buys',
        { kind: 'option', symbol: 'AAPL', legs: [leg(call200.symbol, 'buy'), leg(call220.symbol, 'sell', '2')] },
      ],
      [
        'a package of a leg without its side',
        { kind: 'option', symbol: 'AAPL', legs: [leg(call200.symbol, 'buy'), leg(call220.symbol, 'unknown', '2')] },
      ],
    ])('know no value of %s, whatever its net price is, unless it was placed here', async (_what, instrument) => {
      await using rig = await make();
      await limit(rig.journal, { maxAccountExposure: '100000' });
      const package_ = { ...equityView, instrument, price: '1', working: { quantity: '10', price: '1' } };
      const ours = ofTwo({ price: '2' });
      await rig.journal.open(ours, fence);
      await rig.show({ ...package_, orderId: 'o-1' } as Order, ours);
      expect(await breachOf(rig.journal, place())).toBe('passes');
      await rig.show({ ...package_, orderId: 'o-2' } as Order);
      const why = 'the value of order o-2 is not known';
      expect(await breachOf(rig.journal, place())).toMatchObject({ limit: 'maxAccountExposure', why });
    });

    it('refuse under a limit of exposure while an open order has no value, and know ours by what it was placed at', async () => {
      await using rig = await make();
      const { price: _none, ...terms } = { ...equityView, orderType: 'market', working: { quantity: '10' } };
      const ours = market('10', fresh);
      await rig.journal.open(ours, fence);
      await rig.show({ ...terms, orderId: 'o-1', leavesQty: '3' }, ours);
      await limit(rig.journal, { maxAccountExposure: '2000' });
      expect(await breachOf(rig.journal, place())).toMatchObject({ value: '2475' });
      await rig.show({ ...terms, orderId: 'o-2' });
      const why = 'the value of order o-2 is not known';
      expect(await breachOf(rig.journal, place())).toEqual({ limit: 'maxAccountExposure', bound: '2000', why });
    });

    it('count an order for an amount of money as what its fills left of it', async () => {
      await using rig = await make();
      const { price: _none, quantity: _no, leavesQty: _left, ...terms } = equityView;
      const ours = { ...terms, orderType: 'market', working: { orderType: 'market' }, notional: '500' } as const;
      await rig.show({ ...ours, orderId: 'o-1', cumQty: '2', avgPrice: '100.25', status: 'partially_filled' });
      await rig.show({ ...ours, orderId: 'o-2' });
      await limit(rig.journal, { maxAccountExposure: '799.5' });
      const own = await breachOf(rig.journal, place());
      expect(own).toMatchObject({ limit: 'maxAccountExposure' });
      expect(Number((own as { value: string }).value) - Number(place().measure?.exposure)).toBe(799.5);
    });

    it('count the larger of an order and the one that takes its place', async () => {
      await using rig = await make();
      const stream = 'alpaca_paper' as const;
      const at = (price: string) => ({ ...equityView, stream, price, working: { quantity: '10', price } });
      await rig.show({ ...at('100'), orderId: 'o-1', pendingAction: 'replace' });
      await rig.show({ ...at('110'), orderId: 'o-2', replaces: 'o-1' });
      await rig.show({ ...at('90'), orderId: 'o-3', pendingAction: 'replace' });
      await rig.show({ ...at('80'), orderId: 'o-4', replaces: 'o-3' });
      await limit(rig.journal, { maxAccountExposure: '1' });
      const breach = (await breachOf(rig.journal, place())) as { value: string };
      expect(Number(breach.value) - Number(place().measure?.exposure)).toBe(1100 + 900);
    });

    it('hold a replace to the new total and price, and only where it raises them', async () => {
      await using rig = await make();
      const order: Order = { ...predictionView, orderId: 'p-1', origin: 'external' };
      await rig.show(order);
      const replace = (terms: { quantity?: string; price?: string; stopPx?: string }) => {
        const request = { kind: 'replace', stream: 'prediction', accountId: 'acct-1', orderId: 'p-1', terms } as const;
        return newReplace('p-1', { request, measure: measureReplace(request, order) });
      };
      await limit(rig.journal, { maxQuantity: '9', maxNotional: '3', maxAccountExposure: '3' });
      expect(await breachOf(rig.journal, replace({ quantity: '11' }))).toMatchObject({
        limit: 'maxQuantity',
        value: '11',
      });
      expect(await breachOf(rig.journal, replace({ price: '0.41' }))).toMatchObject({
        limit: 'maxNotional',
        value: '4.1',
      });
      await limit(rig.journal, { maxAccountExposure: '4' });
      expect(await breachOf(rig.journal, replace({ price: '0.41' }))).toMatchObject({ value: '4.1' });
      await limit(rig.journal, { collarPercent: '50' });
      expect(await breachOf(rig.journal, replace({ price: '0.3' }))).toMatchObject({ limit: 'collarPercent' });
      await limit(rig.journal, { maxQuantity: '5', maxNotional: '1', maxOpenOrders: 0, maxAccountExposure: '1' });
      expect(await breachOf(rig.journal, replace({ quantity: '9', price: '0.4' }))).toBe('passes');
    });

    it.each<[string, Bounds, number]>([
      ['open orders', { maxOpenOrders: 7 }, 7],
      ['exposure of a symbol', { maxSymbolExposure: '9375' }, 5],
      ['exposure of an account', { maxAccountExposure: '9375.5' }, 5],
      ['orders a minute', { ordersPerMinute: 3 }, 3],
      ['a window for duplicates', { duplicateWindowMs: 1_000 }, 1],
    ])('of %s let no more through of fifty at once', async (_what, bounds, most) => {
      await using rig = await make();
      await limit(rig.journal, bounds);
      const results = await Promise.all(
        Array.from({ length: 50 }, () => rig.journal.open(place({}, { idempotencyKey: randomUUID() }), fence)),
      );
      expect(results.filter(({ kind }) => kind === 'opened')).toHaveLength(most);
      expect(results.filter(({ kind }) => kind === 'limited')).toHaveLength(50 - most);
    });

    it('refuse the mark of an attempt that was judged before they were changed', async () => {
      await using rig = await make();
      const measure = {
        symbols: ['AAPL'],
        underlyings: ['AAPL'],
        instrument: 'equity',
        quantity: '10',
        exposure: '1875',
        valuedByQuote: false,
      } as const;
      const [before, held, anew] = [newPlace({ measure }), newPlace({ measure }), newPlace({ measure })];
      await rig.journal.open(before, fence);
      const change = { by: 'ann', reason: 'less', requestId: 'r-1', atMs, before: {}, bounds: { maxQuantity: '100' } };
      await rig.journal.changeLimits({ ...change, accountId: 'acct-2' });
      await rig.journal.changeLimits({ ...change, principal: 'another' });
      const mark = ({ attemptId: id = '' }: typeof before) => rig.journal.markSending(id, atMs + 5, fence);
      expect(await mark(before), 'limits of others').toBe(true);
      await rig.journal.open(held, fence);
      await rig.journal.changeLimits({ ...change, accountId: 'acct-1' });
      expect(await mark(held)).toMatchObject({ code: 'LIMITS_CHANGED' });
      await rig.journal.open(anew, fence);
      expect(await mark(anew)).toBe(true);
    });
  });
}
