// What a user saw: Orders of the next day came under ids of the day before, and stayed mixed up with those.

import { describe, expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow, predictionRow, type Row } from '../../support/platform/platform-rows.ts';

type Stream = 'account' | 'prediction';
const idOf = { account: 'ordId', prediction: 'orderId' } as const;
const referenceOf = { account: 'clOrdId', prediction: 'clientOrderRef' } as const;
const rows = { account: accountRow, prediction: predictionRow } as const;
const ends = {
  account: { ordStatus: 'FILLED', cumQty: '100', leavesQty: '0', avgPrice: '190' },
  prediction: { state: 'filled', cumQty: '10', leavesQty: '0', avgPx: '0.40' },
} as const;

async function followed(stream: Stream) {
  const rig = connectorsRig();
  const store = storeBehind(rig);
  await rig.begin();
  await rig.until(stream, 'live');
  const now = () => new Date(rig.clock.nowMs()).toISOString();
  const row = (of: Row): Row => ({ ...rows[stream], createdAt: now(), updatedAt: now(), ...of });
  let version = 40n;
  const shows = (...shown: Row[]) => {
    rig.platform.rows.set(
      `${stream}:acct-1`,
      shown.map((each) => (stream === 'prediction' ? { ...each, version: String(version) } : each)),
    );
  };
  const emits = (of: Row) => rig.platform.emit(stream, 'acct-1', of, stream === 'prediction' ? version : undefined);
  const order = (id: string) => store.heads.get(`${stream}:${id}`)?.order;
  return { ...rig, store, row, shows, emits, order, setVersion: (to: bigint) => (version = to) };
}

describe.each(['account', 'prediction'] as const)('an id of the %s stream', (stream) => {
  const [id, reference] = [idOf[stream], referenceOf[stream]];

  it('given to another order: two reads decide, whichever saw it first, and later events are of that one', async () => {
    const { clock, row, shows, emits, order, setVersion, store, connectors } = await followed(stream);
    const old = row({ [id]: rows[stream][id], [reference]: 'old', ...ends[stream] });
    shows(old);
    emits(old);
    await clock.advance(60_000);
    setVersion(1n);
    const next = row({ [reference]: 'new' });
    const name = String(next[id]);
    shows(next);
    emits(next);
    await clock.advance(500);
    expect(order(name)).toMatchObject({ status: 'filled', [reference]: 'old' });
    await clock.advance(10_000);
    expect(order(name)).toMatchObject({ status: 'new', [reference]: 'new', cumQty: '0', incarnation: 2 });
    setVersion(2n);
    const later = { ...next, ...ends[stream], updatedAt: new Date(clock.nowMs()).toISOString() };
    shows(later);
    emits(later);
    await clock.advance(1_000);
    expect(order(name)).toMatchObject({ status: 'filled', incarnation: 2 });
    expect(store.conflicts).toEqual([]);
    await connectors.end();
  });

  it('is nobody’s before the acknowledgement, where all orders are shown under one', async () => {
    const { clock, row, emits, order, store, connectors } = await followed(stream);
    const pending = stream === 'account' ? { ordStatus: 'PENDING_NEW' } : { state: 'pending_new' };
    for (const temporary of ['0', '', 'pending', 'PENDING', 'null', '000', '-'])
      for (const name of ['a', 'b']) emits(row({ ...pending, [id]: temporary, [reference]: name }));
    await clock.advance(1_000);
    expect([...store.heads.keys()]).toEqual([]);
    expect(store.unreadable).toEqual([]);
    emits(row({ [id]: 'real-1', [reference]: 'a' }));
    // A platform may count its orders from 0.
    emits(row({ [id]: '0', [reference]: 'b' }));
    await clock.advance(1_000);
    expect(order('real-1')).toMatchObject({ status: 'new', [reference]: 'a' });
    expect(order('0')).toMatchObject({ status: 'new', [reference]: 'b' });
    await connectors.end();
  });
});

describe('one id', () => {
  it('on both streams is two orders', async () => {
    const { clock, platform, store, until, row, connectors } = await followed('account');
    await until('prediction', 'live');
    platform.emit('account', 'acct-1', row({ ordId: 'same' }));
    platform.emit('prediction', 'acct-1', { ...predictionRow, orderId: 'same' }, 1n);
    await clock.advance(1_000);
    expect(store.heads.get('account:same')?.order).toMatchObject({ stream: 'account', quantity: '100' });
    expect(store.heads.get('prediction:same')?.order).toMatchObject({ stream: 'prediction', quantity: '10' });
    await connectors.end();
  });
});
