import { describe, expect, it } from 'vitest';
import type { AccountMemory } from '../../../src/domain/account-memory.ts';
import { accountRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { connectorsRig, liveConnectors } from '../../support/orders/connectors-rig.ts';
import { ReducingSink, storeBehind } from '../../support/orders/reducing-sink.ts';

describe("issue: An order kept its old price for an hour after the platform's clock was set back.", () => {
  const hourMs = 3_600_000;

  async function live() {
    const rig = connectorsRig();
    const store = storeBehind(rig);
    await rig.begin();
    await rig.until('account', 'live');
    /** A row whose change the platform's clock puts so far from now. */
    const row = (over: Row, fromNowMs = 0): Row => ({
      ...accountRow,
      updatedAt: new Date(rig.clock.nowMs() + fromNowMs).toISOString(),
      ...over,
    });
    const shows = (...rows: Row[]) => rig.platform.rows.set('account:acct-1', rows);
    const brings = async (event: Row) => {
      rig.platform.emit('account', 'acct-1', event);
      await rig.clock.advance(1_000);
    };
    const head = () => store.heads.get('account:ord-1');
    const corrections = () => (head()?.join as AccountMemory | undefined)?.correction?.epoch ?? 0;
    return { ...rig, row, shows, brings, head, corrections, order: () => head()?.order };
  }

  function fills(cumQty: string, over: Row = {}): Row {
    const leaves = 100 - Number(cumQty);
    const ordStatus = leaves === 0 ? 'FILLED' : 'PARTIALLY_FILLED';
    return { ordStatus, cumQty, leavesQty: String(leaves), avgPrice: '191.5', ...over };
  }

  const leg = (symbol: string) => [{ symbol, side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' }];
  const option = { securityType: 'OPT', category: 'option' };

  const changes: readonly (readonly [string, Row, Row])[] = [
    ['a price', { price: '0.60' }, { price: '0.55' }],
    ['a quantity', { qty: '90', leavesQty: '90' }, { qty: '80', leavesQty: '80' }],
    ['a symbol', { symbol: 'FB' }, { symbol: 'META' }],
    ['a leg', { ...option, legs: leg('AAPL261218C00200000') }, { ...option, legs: leg('AAPL1261218C00200000') }],
    ['a cancel that was refused', { ordStatus: 'PENDING_CANCEL' }, {}],
    ['a suspension that was lifted', { ordStatus: 'SUSPENDED' }, {}],
    ['an average price', fills('40'), fills('40', { avgPrice: '191.4' })],
    ['a fill that was taken back', fills('40'), fills('10')],
    ['a whole fill that was taken back', fills('100'), fills('40')],
    ['an end that was taken back', { ordStatus: 'EXPIRED', leavesQty: '0' }, {}],
    ['an end in place of another', { ordStatus: 'EXPIRED', leavesQty: '0' }, { ordStatus: 'CANCELED', leavesQty: '0' }],
    ['an end behind a fill', { ordStatus: 'CANCELED', leavesQty: '0' }, fills('40')],
  ];

  describe.each([
    ['was ahead', hourMs, 0],
    ['is behind since', 0, -hourMs],
  ])('a platform whose clock %s', (_clock, beforeMs, afterMs) => {
    it.each(changes)('shows %s at an earlier instant than the state before: two reads decide', async (_what, a, b) => {
      for (const told of [true, false]) {
        const { row, shows, brings, order, corrections, clock, connectors } = await live();
        const before = row(a, beforeMs);
        shows(before);
        await brings(before);
        await clock.advance(120_000);
        const after = row(b, afterMs);
        shows(after);
        if (told) await brings(after);
        await clock.advance(300_000);
        const alone = await live();
        alone.shows(after);
        await alone.brings(after);
        expect(order(), told ? 'with its event' : 'found by the audit').toEqual(alone.order());
        expect(corrections()).toBeLessThanOrEqual(1);
        await connectors.end();
        await alone.connectors.end();
      }
    });
  });

  it('goes on from there: later changes are followed, and the event of before is no news', async () => {
    const { row, shows, brings, order, corrections, clock } = await live();
    const before = row({ price: '1' }, hourMs);
    shows(before);
    await brings(before);
    shows(row({ price: '2' }));
    await clock.advance(300_000);
    expect(order()?.price).toBe('2');
    await brings(before);
    expect(order()?.price).toBe('2');
    const next = row({ price: '3' });
    shows(next);
    await brings(next);
    expect(order()?.price).toBe('3');
    const filled = row(fills('40'));
    shows(filled);
    await brings(filled);
    expect([order()?.cumQty, corrections()]).toEqual(['40', 1]);
  });

  it('is found in lists that show only what changed since the mark of the clock before', async () => {
    const { row, shows, brings, order, clock, platform } = await live();
    platform.shows = (shown, { after }) =>
      after === undefined || Date.parse(String(shown['updatedAt'])) > Date.parse(after);
    const before = row(fills('100'));
    shows(before);
    await brings(before);
    await clock.advance(300_000);
    const after = row(fills('40', { ordStatus: 'CANCELED', leavesQty: '0' }), -hourMs);
    shows(after);
    await brings(after);
    await clock.advance(300_000);
    expect(order()).toMatchObject({ status: 'canceled', cumQty: '40' });
  });

  describe('a read that only lags', () => {
    it('takes nothing back, and asks for nothing', async () => {
      const { row, shows, brings, order, corrections, clock, platform } = await live();
      let met = 0;
      for (let change = 0; change < 20; change += 1) {
        const [before, after] = [row({ price: '1' }), row({ price: `${change + 2}` }, 500)];
        shows(before);
        await brings(before);
        await brings(after);
        const lists = platform.lists.length;
        await clock.advance(40_000);
        met += platform.lists.length - lists;
        shows(after);
        await clock.advance(30_000);
      }
      expect(met, 'audits that met a state of before').toBeGreaterThan(8);
      expect([order()?.price, corrections(), platform.gets]).toEqual(['21', 0, []]);
    });

    it('decides nothing about an order that an event has put in doubt', async () => {
      const { row, shows, brings, order, corrections, clock } = await live();
      const [before, newest, other] = [row({ price: '1' }), row({ price: '3' }, 500), row({ price: '2' }, 500)];
      shows(before);
      for (const event of [before, newest, other]) await brings(event);
      await clock.advance(30_000);
      expect([order()?.price, corrections()]).toEqual(['3', 0]);
    });

    it('does not reopen an order that has ended since', async () => {
      const { row, shows, brings, order, corrections, clock } = await live();
      const [before, busted] = [row(fills('40')), row(fills('10'), 500)];
      const ended = row({ ordStatus: 'CANCELED', cumQty: '10', leavesQty: '0', avgPrice: '191.5' }, 900);
      shows(busted);
      for (const event of [before, ended]) await brings(event);
      await clock.advance(10_000);
      expect([order()?.status, corrections()]).toEqual(['canceled', 0]);
      shows(ended);
      await clock.advance(300_000);
      expect(order()).toMatchObject({ status: 'canceled', cumQty: '10' });
      expect(order()?.conflict).toBeUndefined();
    });

    it('does not take back what was filled while it was asked', async () => {
      const { row, shows, brings, order, corrections, clock, platform } = await live();
      const [before, busted, filled] = [row(fills('40')), row(fills('10'), 500), row(fills('60'), 900)];
      shows(busted);
      platform.beforeGet = async () => {
        if (platform.gets.length === 1) platform.emit('account', 'acct-1', filled);
      };
      await brings(before);
      await brings(busted);
      await clock.advance(30_000);
      expect([order()?.cumQty, corrections()]).toEqual(['60', 0]);
    });

    it('does not undo what changed while it was asked', async () => {
      const { row, shows, brings, order, clock, platform } = await live();
      const before = row({ price: '1' }, hourMs);
      shows(before);
      await brings(before);
      shows(row({ price: '2' }));
      let asked = 0;
      const newest = row({ price: '3' }, hourMs + 1);
      // Between the two looks the order changes, and the platform still shows the row of before.
      platform.beforeGet = async () => {
        asked += 1;
        if (asked === 2) platform.emit('account', 'acct-1', newest);
      };
      await clock.advanceUntil(() => asked === 2, 600_000);
      await clock.advance(5_000);
      expect(order()?.price).toBe('3');
    });
  });
});

describe('issue: An order was shown as expired for ever although it worked again; its cancel was refused.', () => {
  async function live() {
    const rig = connectorsRig();
    const store = storeBehind(rig);
    await rig.begin();
    await rig.until('account', 'live');
    const row = (ordStatus: string, over: Row = {}): Row => ({
      ...accountRow,
      ordStatus,
      updatedAt: new Date(rig.clock.nowMs()).toISOString(),
      ...over,
    });
    const shows = (shown: Row) => rig.platform.rows.set('account:acct-1', [shown]);
    const brings = async (event: Row, shown = event) => {
      shows(shown);
      rig.platform.emit('account', 'acct-1', event);
      await rig.clock.advance(1_000);
    };
    const order = () => store.heads.get('account:ord-1')?.order;
    return { ...rig, row, shows, brings, order };
  }

  it.each([
    ['EXPIRED', 'NEW', 'new', {}],
    ['CANCELED', 'PARTIALLY_FILLED', 'partially_filled', { cumQty: '40', leavesQty: '60' }],
    ['REJECTED', 'SUSPENDED', 'suspended', {}],
    ['FILLED', 'CANCELED', 'canceled', { cumQty: '100', leavesQty: '0' }],
  ] as const)('%s that becomes %s is corrected once two reads show it', async (end, word, status, filled) => {
    const { brings, row, order, clock, platform } = await live();
    await brings(row('NEW'));
    await brings(row(end, end === 'FILLED' ? { ...filled, avgPrice: '10' } : { leavesQty: '0' }));
    await brings(row(word, filled));
    expect(order()?.status, 'an event alone takes no end back').toBe(end.toLowerCase());
    await clock.advance(10_000);
    expect(order()).toMatchObject({ status });
    expect(order()?.conflict).toBeUndefined();
    expect(platform.gets).toEqual(['ord-1', 'ord-1']);
  });

  it('is found by the audit where the stream said nothing of it', async () => {
    const { brings, row, shows, order, clock } = await live();
    await brings(row('EXPIRED', { leavesQty: '0' }));
    shows(row('NEW'));
    await clock.advance(300_000);
    expect(order()).toMatchObject({ status: 'new', leavesQty: '100' });
  });

  it('is not taken back by an event that no read confirms, by an older read, or by a word that we do not know', async () => {
    const { brings, row, order, clock } = await live();
    const [before, expired] = [row('NEW'), row('EXPIRED', { leavesQty: '0', updatedAt: '2026-11-23T00:00:00Z' })];
    await brings(expired);
    await brings(row('NEW', { updatedAt: '2026-11-23T00:00:01Z' }), expired);
    await clock.advance(60_000);
    expect(order()?.status).toBe('expired');
    await brings(before);
    await brings(row('LIMBO', { updatedAt: '2026-11-23T00:00:02Z' }));
    await clock.advance(60_000);
    expect(order()?.status).toBe('expired');
  });
});

describe('issue: Of 200 orders whose fills were taken back, 136 went on showing too many fills.', () => {
  /**
   * Filled orders of one account, in a platform that filters its lists as
   * asked, and a store that reduces what comes.
   */
  async function filled(count: number) {
    const rig = connectorsRig();
    const store = storeBehind(rig);
    rig.platform.shows = (row, { after }) =>
      after === undefined || Date.parse(String(row['updatedAt'])) > Date.parse(after);
    const rows = (cumQty: string, ordStatus: string): Row[] =>
      Array.from({ length: count }, (_, i) => {
        const updatedAt = new Date(rig.clock.nowMs()).toISOString();
        return { ...accountRow, ordId: `o-${i}`, ordStatus, cumQty, leavesQty: '0', avgPrice: '10', updatedAt };
      });
    const put = (shown: Row[]) => rig.platform.rows.set('account:acct-1', shown);
    put(rows('100', 'FILLED'));
    await rig.begin();
    await rig.until('account', 'live');
    await rig.clock.advance(600_000);
    const withCumQty = (cumQty: string) =>
      [...store.heads.values()].filter(({ order }) => order.cumQty === cumQty).length;
    expect(withCumQty('100')).toBe(count);
    rig.platform.gets.length = 0;
    return { ...rig, store, rows, put, withCumQty };
  }

  describe.each(['CANCELED', 'PARTIALLY_FILLED'])(
    'a thousand orders whose fills are taken back at once, now %s,',
    (status) => {
      it('are right within ten minutes, by two reads each, while the market goes on', async () => {
        const { platform, clock, put, rows, withCumQty, account } = await filled(1_000);
        const busted = rows('50', status);
        put(busted);
        for (const row of busted) platform.emit('account', 'acct-1', row);
        expect(account('account', 'acct-1')?.inDoubt).toBe(1_000);
        for (let minute = 0; minute < 10; minute += 1) {
          const mover: Row = { ...accountRow, ordId: 'mover', updatedAt: new Date(clock.nowMs()).toISOString() };
          put([...busted, mover]);
          platform.emit('account', 'acct-1', mover);
          await clock.advance(60_000);
        }
        expect([withCumQty('50'), withCumQty('100')]).toEqual([1_000, 0]);
        expect(platform.gets.length).toBeLessThan(2_100);
        expect(account('account', 'acct-1')?.inDoubt).toBe(0);
      });
    },
  );

  it('are read no faster than ten a second, whatever the number of accounts', async () => {
    const { platform, clock, put, rows } = await filled(300);
    const busted = rows('50', 'CANCELED');
    put(busted);
    for (const row of busted) platform.emit('account', 'acct-1', row);
    await clock.advance(10_000);
    expect(platform.gets.length).toBeGreaterThan(80);
    expect(platform.gets.length).toBeLessThanOrEqual(101);
  });

  it('are found by the audit, when the stream said nothing of it', async () => {
    const { clock, put, rows, withCumQty } = await filled(200);
    put(rows('50', 'PARTIALLY_FILLED'));
    await clock.advance(300_000);
    expect(withCumQty('50')).toBe(200);
  });

  it('are kept while the platform does not answer, and no complete read is remembered past them', async () => {
    const { platform, clock, put, rows, withCumQty, registry, account } = await filled(30);
    const bustedMs = clock.nowMs();
    const busted = rows('50', 'PARTIALLY_FILLED');
    put(busted);
    platform.getError = () => ({ status: 503, message: 'down', retryable: true, sent: 'yes' });
    for (let minute = 0; minute < 30; minute += 1) {
      put([...busted, { ...accountRow, ordId: 'mover', updatedAt: new Date(clock.nowMs()).toISOString() }]);
      await clock.advance(60_000);
    }
    expect([withCumQty('50'), account('account', 'acct-1')?.inDoubt]).toEqual([0, 30]);
    expect(Date.parse(registry.get('account', 'acct-1')?.readUpTo ?? '')).toBeLessThanOrEqual(bustedMs);
    platform.getError = undefined;
    await clock.advance(60_000);
    expect([withCumQty('50'), account('account', 'acct-1')?.inDoubt]).toEqual([30, 0]);
  });

  it('are found by the look at an order that no read shows', async () => {
    const { platform, clock, put, rows, store } = await filled(1);
    const open = {
      ...accountRow,
      ordId: 'open',
      ordStatus: 'PARTIALLY_FILLED',
      cumQty: '60',
      leavesQty: '40',
      avgPrice: '10',
    };
    platform.emit('account', 'acct-1', { ...open, updatedAt: new Date(clock.nowMs()).toISOString() });
    await clock.advance(1_000);
    const updatedAt = new Date(clock.nowMs()).toISOString();
    put([...rows('100', 'FILLED'), { ...open, cumQty: '20', leavesQty: '80', updatedAt }]);
    const { shows } = platform;
    platform.shows = (row, request) => row['ordId'] !== 'open' && shows(row, request);
    await clock.advance(120_000);
    expect(store.heads.get('account:open')?.order).toMatchObject({ cumQty: '20', status: 'partially_filled' });
  });
});

describe('issue: Each order that REST told more of than the stream was called lost by the stream.', () => {
  /** The stream has told of the order, and REST shows it to the next audit as `row`. */
  async function audited(row: Row, before: Row = accountRow) {
    const rig = await liveConnectors();
    const store = storeBehind(rig);
    rig.platform.emit('account', 'acct-1', before);
    await rig.clock.advance(1_000);
    rig.platform.rows.set('account:acct-1', [row]);
    const found = () => rig.account('account', 'acct-1')?.lastAuditFound;
    await rig.clock.advanceUntil(() => found()?.changes === 1, 180_000);
    return { ...rig, found, order: () => store.heads.get('account:ord-1')?.order };
  }

  it('a row that adds a fact at the same instant is a change, and no loss', async () => {
    const before = { ...accountRow, ordStatus: 'PARTIALLY_FILLED', cumQty: '40', leavesQty: '60' };
    const { clock, found, order } = await audited({ ...before, avgPrice: '191.50' }, before);
    await clock.advance(6_000);
    expect(found()).toEqual({ orders: 1, changes: 1, silentLosses: 0 });
    expect(order()).toMatchObject({ avgPrice: '191.5' });
  });

  it.each([
    ['at the same instant', accountRow['updatedAt']],
    ['later', '2026-11-21T14:30:02.000Z'],
  ])('a row that shows a fill %s is a loss', async (_, updatedAt) => {
    const { clock, found } = await audited({
      ...accountRow,
      ordStatus: 'PARTIALLY_FILLED',
      cumQty: '40',
      leavesQty: '60',
      avgPrice: '191.50',
      updatedAt,
    });
    await clock.advance(6_000);
    expect(found()).toMatchObject({ changes: 1, silentLosses: 1 });
  });

  it('a change is not called lost in silence where its connection ended meanwhile', async () => {
    const { clock, socket, metrics, until } = await audited({
      ...accountRow,
      ordStatus: 'PARTIALLY_FILLED',
      cumQty: '40',
      leavesQty: '60',
      avgPrice: '191.50',
      updatedAt: '2026-11-21T14:30:02.000Z',
    });
    socket('account').end({ kind: 'closed', code: 1006, reason: '' });
    await clock.advance(6_000);
    await until('account', 'live');
    const { values } = await metrics.silentLosses.get();
    expect(values.reduce((sum, { value }) => sum + value, 0)).toBe(0);
  });
});

describe('issue: An order kept a wrong price for ever after two changes within one second.', () => {
  async function live() {
    const rig = connectorsRig();
    const store = new ReducingSink(rig.clock);
    rig.sink.offer = (item) => store.offer(item);
    await rig.begin();
    await rig.until('account', 'live');
    const brings = (...rows: Row[]) => {
      for (const row of rows) rig.platform.emit('account', 'acct-1', row);
    };
    const shows = (row: Row) => rig.platform.rows.set('account:acct-1', [row]);
    const order = () => store.heads.get('account:ord-1')?.order;
    return { ...rig, brings, shows, order };
  }

  const at = (over: Row): Row => ({ ...accountRow, updatedAt: '2026-11-21T14:40:00Z', ...over });

  function spread(root: string, side = 'BUY'): Row {
    const leg = (strike: string) => ({
      symbol: `${root}261218C00${strike}000`,
      side,
      ratioQty: '1',
      positionEffect: 'OPEN',
    });
    return at({ securityType: 'MLEG', category: 'option', legs: [leg('200'), leg('210')] });
  }

  function fills(cumQty: string, over: Row = {}): Row {
    const leaves = 100 - Number(cumQty);
    const ordStatus = leaves === 0 ? 'FILLED' : 'PARTIALLY_FILLED';
    return at({ ordStatus, cumQty, leavesQty: String(leaves), avgPrice: '191.5', ...over });
  }

  // A platform whose clock has whole seconds: the greater content won for ever, and the right price
  // was stale without a doubt.
  it.each<[string, Row, Row]>([
    ['a price', at({ price: '0.60' }), at({ price: '0.55' })],
    ['a quantity', at({ qty: '90', leavesQty: '90' }), at({ qty: '80', leavesQty: '80' })],
    ['a symbol', at({ symbol: 'META' }), at({ symbol: 'FB' })],
    ['a leg that was adjusted', spread('AAPL1'), spread('AAPL')],
    ['the side of a leg', spread('AAPL', 'SELL'), spread('AAPL', 'BUY')],
    ['a cancel that was refused', at({ ordStatus: 'PENDING_CANCEL' }), at({})],
    ['a suspension that was lifted', at({ ordStatus: 'SUSPENDED' }), at({})],
    ['an end that was taken back', at({ ordStatus: 'EXPIRED', leavesQty: '0' }), at({})],
    ['a fill that was taken back', fills('40'), fills('10')],
    ['a first fill that was taken back', fills('40'), at({})],
    ['an order that was filled, less of it now', fills('100'), fills('40')],
    ['an end with less filled', fills('40'), fills('10', { ordStatus: 'CANCELED', leavesQty: '0' })],
  ])('%s that changed twice within one instant is what REST shows twice, whichever came first', async (_what, a, b) => {
    for (const truth of [a, b])
      for (const arrival of [
        [a, b],
        [b, a],
      ]) {
        const { brings, shows, clock, order, connectors } = await live();
        shows(truth);
        brings(...arrival);
        await clock.advance(130_000);
        const alone = await live();
        alone.shows(truth);
        alone.brings(truth);
        await alone.clock.advance(10_000);
        expect(order()).toEqual(alone.order());
        await connectors.end();
      }
  });

  // The join takes nothing more of an instant that a correction has decided about: the fill was not
  // seen until another instant came.
  it.each([
    ['fills', fills('40'), '40'],
    ['ends', fills('10', { ordStatus: 'CANCELED', leavesQty: '0' }), '10'],
  ] as const)(
    'an order that %s after its correction, still within the instant of that, is followed',
    async (_how, last, cumQty) => {
      const { brings, shows, clock, order } = await live();
      shows(fills('10'));
      brings(fills('30'));
      await clock.advance(130_000);
      expect(order()).toMatchObject({ cumQty: '10', status: 'partially_filled' });
      shows(last);
      await clock.advance(130_000);
      expect(order()).toMatchObject({ cumQty, status: String(last['ordStatus']).toLowerCase() });
    },
  );

  it('an event between two reads that agree may be newer than both: they decide nothing', async () => {
    const { brings, shows, clock, platform, order } = await live();
    shows(at({ price: '4' }));
    brings(at({ price: '5' }), at({ price: '4' }));
    await clock.advanceUntil(() => platform.gets.length === 1, 10_000);
    await clock.advance(1_000);
    brings(at({ price: '3' }));
    await clock.advance(2_000);
    expect([platform.gets.length, order()?.price]).toEqual([2, '5']);
    shows(at({ price: '3' }));
    await clock.advance(10_000);
    expect(order()?.price).toBe('3');
  });

  it('fills of one instant that come in the wrong order are read once, and nothing is taken back', async () => {
    const { brings, shows, clock, platform, order } = await live();
    shows(fills('40'));
    brings(fills('40'), fills('10'), at({}));
    await clock.advance(60_000);
    expect(order()?.cumQty).toBe('40');
    expect(platform.gets).toEqual(['ord-1']);
  });

  it('what the platform only writes otherwise is read once at most, and never corrected', async () => {
    const { brings, shows, clock, platform, order } = await live();
    shows(at({ symbol: 'BRK.B' }));
    brings(at({ symbol: 'BRK/B' }));
    for (let second = 1; second < 30; second += 1) {
      const updatedAt = new Date(Date.parse('2026-11-21T14:40:00Z') + second * 1_000).toISOString();
      shows(at({ symbol: 'BRK.B', updatedAt }));
      brings(at({ symbol: 'BRK/B', updatedAt }));
      await clock.advance(5_000);
    }
    expect(platform.gets.length).toBeLessThanOrEqual(2);
    expect(order()?.instrument.symbol).toMatch(/^BRK.B$/);
  });

  it('an order that goes on within one instant is not looked at', async () => {
    const { brings, shows, clock, platform } = await live();
    const steps = [
      at({ ordStatus: 'PENDING_NEW' }),
      at({}),
      at({ ordStatus: 'PARTIALLY_FILLED', cumQty: '1', leavesQty: '99' }),
    ];
    const last = at({ ordStatus: 'CANCELED', cumQty: '1', leavesQty: '0' });
    shows(last);
    brings(...steps, last);
    await clock.advance(60_000);
    expect(platform.gets).toEqual([]);
  });
});
