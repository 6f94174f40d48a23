import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Head, Reduction } from '../../../src/domain/head.ts';
import { sameToCoarser } from '../../../src/domain/instant.ts';
import type { Cause, Observation } from '../../../src/domain/observation.ts';
import { reduce } from '../../../src/domain/reduce.ts';
import { bindOrder } from '../../../src/service/orders/load-known.ts';
import { decodeOrder } from '../../../src/service/sources/decode-order.ts';
import { accountRow, predictionRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import type { accountOrderItem } from '../../../src/venue/platform/wire/account-order.ts';
import type { predictionOrder } from '../../../src/venue/platform/wire/prediction-order.ts';
import { connectorsRig, liveConnectors } from '../../support/orders/connectors-rig.ts';
import { throughStorage } from '../../support/orders/observe.ts';
import { ReducingSink, storeBehind } from '../../support/orders/reducing-sink.ts';

describe('issue: An order whose price was "+187.5", or its time without a colon, became a dead letter.', () => {
  function decoded(stream: 'account' | 'prediction', row: object) {
    const origin = { venue: platformVenue, stream, cause: 'snapshot', accountId: 'acct-1', sourceEpoch: 0 } as const;
    return decodeOrder(row, { ...origin, observedAtMs: 0, receivedMs: 0, bytes: 1 }, () => '');
  }
  const viewOf = (stream: 'account' | 'prediction', row: object) => {
    const item = decoded(stream, row);
    if (item.kind !== 'order') throw new Error(`${item.kind} ${'detail' in item ? item.detail : ''}`);
    return item.view;
  };

  describe('an order is read in each spelling that leaves no doubt', () => {
    it.each([
      ['+187.5', '187.5'],
      ['1.875e2', '187.5'],
      ['1875E-1', '187.5'],
      ['0187.50', '187.5'],
      ['.55', '0.55'],
      ['187.', '187'],
      [' 187.5 ', '187.5'],
      ['-0.00', '0'],
      ['1e-7', '0.0000001'],
      [`1${'0'.repeat(39)}`, `1${'0'.repeat(39)}`],
    ])('a number %s', (text, price) => {
      expect(viewOf('account', { ...accountRow, price })).toMatchObject({ price });
      expect(viewOf('account', { ...accountRow, price: text })).toMatchObject({ price });
      expect(viewOf('account', { ...accountRow, qty: '1e2', cumQty: '+0' })).toMatchObject({
        quantity: '100',
        cumQty: '0',
      });
    });

    it.each(['187,5', '1,000', '0x10', '1e3e', '--1', '1 2', 'NaN', 'Infinity', '187.5 USD', '1e999', '١'])(
      'and not where the number %s does',
      (price) => {
        expect(decoded('account', { ...accountRow, price })).toMatchObject({
          kind: 'unreadable',
          reason: 'bad_decimal',
        });
      },
    );

    it.each([
      ['2026-11-21T14:30:00.5+0000', '2026-11-21T14:30:00.5+00:00'],
      ['2026-11-21T14:30:00-05', '2026-11-21T14:30:00-05:00'],
      ['2026-11-21t14:30:00z', '2026-11-21T14:30:00Z'],
      ['2026-11-21 14:30:00Z', '2026-11-21T14:30:00Z'],
      ['2026-11-21T14:30Z', '2026-11-21T14:30:00Z'],
      ['2026-11-21T14:30:00,25Z', '2026-11-21T14:30:00.25Z'],
      ['2026-11-21T14:30:00.123456789999Z', '2026-11-21T14:30:00.123456789Z'],
    ])('a time %s', (text, updatedAt) => {
      expect(viewOf('account', { ...accountRow, updatedAt: text, createdAt: text })).toMatchObject({
        updatedAt,
        createdAt: updatedAt,
      });
    });

    it.each(['2026-11-21T14:30:00', '2026-02-30T00:00:00+0000', '2026-11-21T24:00Z', '21.11.2026', '1795271400000'])(
      'and not where the time %s does, or has no zone',
      (updatedAt) => {
        expect(decoded('account', { ...accountRow, updatedAt })).toMatchObject({ reason: 'bad_instant' });
      },
    );

    it.each([
      ['new', 'new', 'NEW'],
      ['Partially_Filled', 'partially_filled', 'PARTIALLY_FILLED'],
      ['partially filled', 'partially_filled', 'PARTIALLY_FILLED'],
      ['Done-for-day', 'done_for_day', 'DONE_FOR_DAY'],
      ['CANCELLED', 'canceled', 'CANCELED'],
      [' Expired ', 'expired', 'EXPIRED'],
      ['pending_cancel', 'new', 'PENDING_CANCEL'],
      ['held by desk', 'unknown', 'HELD_BY_DESK'],
    ])('a status %s', (ordStatus, status, statusRaw) => {
      expect(viewOf('account', { ...accountRow, ordStatus })).toMatchObject({ status, statusRaw });
    });

    it('and the words of a prediction order', () => {
      const words = { state: 'CANCELLED', certainty: 'CERTAIN', pendingAction: 'NONE', side: ' Buy ', outcome: 'yes' };
      expect(viewOf('prediction', { ...predictionRow, ...words, version: '7' })).toMatchObject({
        ...{ status: 'canceled', statusRaw: 'canceled', certainty: 'certain', pendingAction: 'none', side: 'buy' },
        instrument: { outcome: 'YES' },
      });
    });
  });
});

describe('issue: Lists told the same instants with fewer digits, and each order became a dead letter.', () => {
  const fine = { createdAt: '2026-11-21T14:30:00.000120Z', updatedAt: '2026-11-21T14:30:01.123456Z' };
  const cut = { createdAt: '2026-11-21T14:30:00Z', updatedAt: '2026-11-21T14:30:01.123Z' };

  it.each([
    [cut.updatedAt, fine.updatedAt, true],
    ['2026-11-21T14:30:01.124Z', fine.updatedAt, true],
    ['2026-11-21T14:30:01Z', fine.updatedAt, true],
    ['2026-11-21T14:30:02Z', fine.updatedAt, true],
    ['2026-11-21T14:30:03Z', fine.updatedAt, false],
    ['2026-11-21T14:30:01.125Z', fine.updatedAt, false],
    ['2026-11-21T14:30:01.123457Z', fine.updatedAt, false],
    ['2026-11-21T15:30:01.123456+01:00', fine.updatedAt, true],
  ])('%s and %s may be one instant: %s', (a, b, same) => {
    expect([sameToCoarser(a, b), sameToCoarser(b, a)]).toEqual([same, same]);
  });

  async function told(stream: 'account' | 'prediction', byStream: Row, byList: Row) {
    const rig = await liveConnectors();
    const store = storeBehind(rig);
    rig.platform.emit(stream, 'acct-1', byStream, stream === 'prediction' ? '7' : undefined);
    await rig.clock.advance(1_000);
    rig.platform.rows.set(`${stream}:acct-1`, [byList]);
    const found = () => rig.account(stream, 'acct-1')?.lastAuditFound;
    await rig.clock.advanceUntil(() => found()?.orders === 1, 180_000);
    await rig.clock.advance(6_000);
    return { conflicts: store.conflicts, silentLosses: found()?.silentLosses };
  }

  it.each([
    ['fewer', fine, cut],
    ['more', cut, fine],
  ])('an order that a list shows with %s digits is neither a conflict nor a loss', async (_, stream, list) => {
    const none = { conflicts: [], silentLosses: 0 };
    expect(await told('account', { ...accountRow, ...stream }, { ...accountRow, ...list })).toEqual(none);
    const shown = { ...predictionRow, ...list, version: '7' };
    expect(await told('prediction', { ...predictionRow, ...stream }, shown)).toEqual(none);
  });
});

describe('issue: An order of several legs was in deadLetters: its own symbol and side were empty texts.', () => {
  const leg = (symbol: string, side: string) => ({ symbol, side, ratioQty: '1', positionEffect: 'OPEN' });
  const spread = [leg('AAPL  261218C00200000', 'BUY'), leg('AAPL  261218C00210000', 'SELL')];
  const row = (more: object) => ({ ...accountRow, securityType: 'MLEG', category: 'option', legs: spread, ...more });
  const decoded = (more: object) =>
    decodeOrder(
      row(more),
      { venue: platformVenue, stream: 'account', accountId: 'acct-1', cause: 'snapshot', sourceEpoch: 0 } as never,
      () => '',
    );

  describe('an order of several legs', () => {
    it.each(['', null, undefined])(
      'has the underlying of its legs, and no side of its own, where both are %j',
      (none) => {
        expect(decoded({ symbol: none, side: none })).toMatchObject({
          kind: 'order',
          view: {
            instrument: { kind: 'option', symbol: 'AAPL', legs: [{ side: 'buy' }, { side: 'sell' }] },
            side: 'unknown',
          },
        });
      },
    );

    it('has the symbol and the side that it is given', () => {
      expect(decoded({ symbol: 'SPX', side: 'SELL' })).toMatchObject({
        kind: 'order',
        view: { instrument: { symbol: 'SPX' }, side: 'sell' },
      });
    });

    it('is ours by its reference and account, where it has no side', () => {
      const item = decoded({ symbol: '', side: '' });
      if (item.kind !== 'order') throw new Error('it can not be read');
      const binding = { commandId: 'command-1', stream: 'account', accountId: 'acct-1', side: 'BUY' } as const;
      const bound = (side: string) => bindOrder({ ...item.view, side }, 'tm-1', binding as never)?.own.origin;
      expect(bound(item.view.side)).toBe('tidemark');
      expect(bound('sell')).not.toBe('tidemark');
    });

    it.each([{ symbol: '' }, { side: null }])('of one leg or none is kept aside as before: %j', (none) => {
      expect(decoded({ ...none, legs: [] })).toMatchObject({ kind: 'unreadable', reason: 'missing_field' });
      expect(decoded({ ...none, legs: spread.slice(0, 1) })).toMatchObject({
        kind: 'unreadable',
        reason: 'missing_field',
      });
    });
  });
});

describe('issue: A padded symbol in a frame or a list made a revision, a record and a row each time.', () => {
  type Spellings = (value: unknown) => readonly unknown[];

  const blanks = (value: unknown) => [value, ` ${value}`, `${value} `];
  const word: Spellings = (value) => {
    const text = String(value);
    return [
      ...blanks(text),
      text.toLowerCase(),
      text.toUpperCase(),
      ...[' ', '-'].map((gap) => text.replaceAll('_', gap)),
    ];
  };
  const status: Spellings = (value) =>
    word(value).flatMap((text) => [text, String(text).replace(/(CANCEL)ED/, '$1LED')]);
  const number: Spellings = (value) => {
    const text = String(value);
    const long = `${text}${text.includes('.') ? '' : '.'}000`;
    return [text, Number(text), `+${text}`, `0${text}`, ` ${text} `, `${long}0`, `${text}e0`, Number(`${text}e0`)];
  };
  const time: Spellings = (value) => {
    const text = String(value);
    const zoned = new Date(Date.parse(text) + 3_600_000).toISOString().replace('Z', '+01:00');
    const bare = text.replace('.000Z', 'Z');
    return [
      text,
      bare,
      text.toLowerCase(),
      text.replace('T', ' '),
      zoned,
      zoned.replace('+01:00', '+0100'),
      `${bare.slice(0, -1)}.0000000000Z`,
    ];
  };
  const contract = /^([A-Z0-9.]+?)(\d{6}[CP]\d{8})$/;
  const symbol: Spellings = (value) => {
    const text = String(value);
    const [, root, rest] = contract.exec(text) ?? [];
    const padded = root === undefined ? [] : [`${root.padEnd(6)}${rest}`, `${root} ${rest}`, `O:${text}`];
    const signs = ['BRK/B', 'BRK.B', 'BRK-B', 'BRK B', 'BRKB'].map((each) => text.replace(/^BRK.?B(?!\d)/, each));
    return [...blanks(text), text.toLowerCase(), ...padded, ...signs];
  };
  /** An id is part of a key or of a reference: it has one spelling. */
  const exact: Spellings = (value) => [value];
  const text: Spellings = (value) => (value === undefined ? [undefined, null, '', ' '] : blanks(value));
  /** What an order of its type has none of. */
  const noPrice: Spellings = () => [undefined, null, '', '0', 0, '0.00'];
  const legs: Spellings = (value) =>
    (value as readonly Row[]).length === 0
      ? [undefined, null, '', []]
      : spelledRows(value as readonly Row[]).flatMap((each) => [each, each.toReversed()]);

  const legFields: Readonly<Record<string, Spellings>> = {
    symbol,
    side: word,
    ratioQty: (value) => (value === '1' ? [...number(value), undefined, null] : number(value)),
    positionEffect: word,
  };

  /** All fields of each leg in their n-th spelling. */
  function spelledRows(rows: readonly Row[]): readonly Row[][] {
    return Array.from({ length: 10 }, (_, at) =>
      rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([field, value]) => {
            const all = legFields[field]?.(value) ?? [value];
            return [field, all[at % all.length]];
          }),
        ),
      ),
    );
  }

  /** A field without an entry does not compile. */
  const accountFields: Readonly<Record<keyof typeof accountOrderItem.shape, Spellings>> = {
    ...{ ordId: exact, accountId: exact, clOrdId: text, symbol, side: word, type: word, timeInForce: word },
    ...{ qty: number, price: number, stopPrice: noPrice, ordStatus: status, cumQty: number, leavesQty: number },
    ...{ avgPrice: number, securityType: word, category: word, createdAt: time, updatedAt: time, legs },
    ...{ text, ordRejReason: text },
  };
  const predictionFields: Readonly<Record<keyof typeof predictionOrder.shape, Spellings>> = {
    ...{ orderId: exact, accountId: exact, symbol, outcome: word, side: word, orderType: word, timeInForce: word },
    ...{ quantity: number, workingQuantity: number, state: status, cumQty: number, leavesQty: number, avgPx: number },
    ...{
      createdAt: time,
      updatedAt: time,
      certainty: word,
      certaintyReason: text,
      clOrdId: text,
      clientOrderRef: text,
    },
    ...{ closedAt: text, expireTime: time, firstAckAt: time, pendingAction: word, price: number, stopPx: noPrice },
    ...{
      rejectReason: text,
      rejectText: text,
      sentAt: time,
      venueOrderId: text,
      version: (value) => [value, Number(value)],
    },
    ...{ workingOrderType: word, workingPrice: number, placedBy: text },
  };

  const leg = (contractSymbol: string, side: string): Row => ({
    ...{ symbol: contractSymbol, side, ratioQty: '1', positionEffect: 'OPEN' },
  });
  const at = '2026-11-21T14:30:01.000Z';
  const bare: Row = { ...accountRow, stopPrice: undefined, legs: [], text: 'rests', ordRejReason: undefined };
  const filled = { ordStatus: 'PARTIALLY_FILLED', cumQty: '40', leavesQty: '60', avgPrice: '191.5' };
  const spread = [leg('AAPL261218C00200000', 'BUY'), leg('BRKB261218C00460000', 'SELL_SHORT')];

  const accountRows: readonly Row[] = [
    bare,
    { ...bare, ...filled, symbol: 'BRK.B', timeInForce: 'GTC' },
    { ...bare, symbol: 'AAPL261218C00200000', securityType: 'OPT', category: 'option' },
    { ...bare, ...filled, type: 'STOP_LIMIT', securityType: 'MLEG', category: 'option', legs: spread },
    { ...bare, symbol: 'AAPL', securityType: 'OPT', category: 'option', legs: [leg('AAPL261218C00200000', 'BUY')] },
    { ...bare, ordStatus: 'PENDING_CANCEL' },
    { ...bare, ...filled, ordStatus: 'CANCELED', leavesQty: '0' },
    { ...bare, ordStatus: 'REJECTED', leavesQty: '0', ordRejReason: 'NO_FUNDS', text: 'no funds' },
    { ...bare, ordStatus: 'HELD_BY_DESK' },
  ];
  const fullPrediction: Row = {
    ...predictionRow,
    ...{ symbol: 'TEMP-B70.5', orderType: 'stop_limit', workingOrderType: 'stop_limit', timeInForce: 'gtd' },
    ...{ certainty: 'unknown_gap', certaintyReason: 'a gap', pendingAction: 'replace', version: '7' },
    ...{ clOrdId: 'client-1', clientOrderRef: 'ref-1', venueOrderId: 'v-1', placedBy: 'alice', avgPx: '0.4' },
    ...{ expireTime: '2026-12-21T14:30:01.000Z', sentAt: at, firstAckAt: at, rejectReason: 'NO', rejectText: 'no' },
  };
  const predictionRows: readonly Row[] = [
    fullPrediction,
    { ...fullPrediction, state: 'partially_filled', cumQty: '4', leavesQty: '6', certainty: 'certain' },
    { ...fullPrediction, state: 'canceled', leavesQty: '0', pendingAction: 'none' },
  ];

  function observationOf(stream: 'account' | 'prediction', row: Row, cause: Cause): Observation {
    const origin = {
      venue: platformVenue,
      stream,
      cause,
      accountId: 'acct-1',
      sourceEpoch: 0,
      observedAtMs: 0,
      receivedMs: 0,
      bytes: 1,
    };
    const version = row['version'];
    // The parser of JSON gives a version as the digits that it has in the text.
    const item = decodeOrder({ ...row, ...(version !== undefined && { version: String(version) }) }, origin, () => '');
    if (item.kind !== 'order') throw new Error(JSON.stringify(item));
    return item;
  }

  function spelled(fields: Readonly<Record<string, Spellings>>, row: Row): fc.Arbitrary<Row> {
    return fc.record(
      Object.fromEntries(
        Object.entries(row).map(([field, value]) => [field, fc.constantFrom(...(fields[field]?.(value) ?? [value]))]),
      ),
    );
  }

  const inWords = (reduction: Reduction) => [reduction.result, 'doubt' in reduction ? reduction.doubt : undefined];
  function headOf(reduction: Reduction): Head {
    if (reduction.result !== 'applied') throw new Error(`expected a first revision, got ${reduction.result}`);
    return reduction.head;
  }

  const causes = fc.constantFrom<Cause>('stream', 'snapshot', 'reply', 'probe');
  const cases = [
    ...accountRows.map((row, n) => ['account', n, row, accountFields] as const),
    ...predictionRows.map((row, n) => ['prediction', n, row, predictionFields] as const),
  ];

  describe('a view that says the same in other spellings changes nothing', () => {
    it.each(cases)('%s order %i', (stream, _n, row, fields) => {
      fc.assert(
        fc.property(spelled(fields, row), spelled(fields, row), causes, (first, again, cause) => {
          const { head, ...made } = { ...reduce(undefined, observationOf(stream, first, 'stream')) } as { head: Head };
          expect(made).toMatchObject({ result: 'applied' });
          const reduction = reduce(throughStorage(head), observationOf(stream, again, cause));
          expect(inWords(reduction)).toEqual(['duplicate', undefined]);
        }),
        { numRuns: 300 },
      );
    });

    it.each(cases.filter(([stream]) => stream === 'account'))(
      'and a newer one changes its time alone: %s order %i',
      (stream, _n, row, fields) => {
        fc.assert(
          fc.property(spelled(fields, row), spelled(fields, row), (first, again) => {
            const head = headOf(reduce(undefined, observationOf(stream, first, 'stream')));
            const newer = { ...again, updatedAt: '2026-11-21T14:30:02Z', legs: spelledAlike(first, again) };
            const reduction = reduce(throughStorage(head), observationOf(stream, newer, 'stream'));
            expect(reduction).toMatchObject({ result: 'applied', changed: ['updatedAt'] });
            expect(reduction).not.toHaveProperty('doubt');
          }),
          { numRuns: 200 },
        );
      },
    );
  });

  /** Another order of legs in a newer view is a change: the first leg gives an order its side. */
  function spelledAlike(first: Row, again: Row): unknown {
    const [ours, theirs] = [first, again].map(({ legs: told }) => (Array.isArray(told) ? (told as Row[]) : []));
    const root = (row: Row | undefined) => String(row?.['symbol']).trim().replace(/^O:/i, '').slice(0, 3).toUpperCase();
    return ours !== undefined && theirs !== undefined && root(ours[0]) !== root(theirs[0])
      ? theirs.toReversed()
      : again['legs'];
  }

  it.each([
    ['an option', { symbol: 'AAPL261218C00200000', category: 'option' }, { symbol: 'AAPL  261218C00200000' }],
    ['a share class', { symbol: 'BRK.B' }, { symbol: 'BRK/B' }],
    ['a status', { ordStatus: 'NEW' }, { ordStatus: 'New' }],
  ])(
    '%s that the stream spells so, and lists and reads otherwise, is one revision and never looked at',
    async (_what, so, otherwise) => {
      const rig = connectorsRig();
      const store = new ReducingSink(rig.clock);
      const results: string[] = [];
      rig.sink.offer = (item) => {
        store.offer(item);
        if (item.kind === 'order') results.push(item.cause);
      };
      rig.platform.rows.set('account:acct-1', [{ ...accountRow, ...so, ...otherwise }]);
      await rig.begin();
      await rig.until('account', 'live');
      for (let minute = 0; minute < 5; minute += 1) {
        rig.platform.emit('account', 'acct-1', { ...accountRow, ...so });
        rig.platform.emit('account', 'acct-1', { ...accountRow, ...so, ...otherwise });
        await rig.clock.advance(61_000);
      }
      expect(results.filter((cause) => cause === 'stream')).toHaveLength(10);
      expect(results.filter((cause) => cause === 'snapshot').length).toBeGreaterThan(1);
      expect(store.heads.get('account:ord-1')?.revision).toBe(1);
      expect(rig.platform.gets).toEqual([]);
    },
  );
});
