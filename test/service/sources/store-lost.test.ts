import { describe, expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { predictionRow, type Row } from '../../support/platform/platform-rows.ts';

const lost: Row = { ...predictionRow, certainty: 'unknown_store_lost', updatedAt: '2026-01-05T14:29:00Z' };
const restored: Row = { ...lost, orderId: 'restored-1', certainty: 'certain' };

async function live() {
  const rig = connectorsRig();
  rig.platform.rows.set('prediction:acct-1', [{ ...predictionRow, version: '100', updatedAt: '2026-01-05T14:00:00Z' }]);
  await rig.begin();
  await rig.until('prediction', 'live');
  await rig.until('account', 'live');
  return rig;
}

describe('a lost store', () => {
  it('freezes the account, reads the whole list on a new connection, and goes on in the next source epoch', async () => {
    const rig = await live();
    const before = rig.socket('prediction');
    rig.platform.rows.set('prediction:acct-1', [
      { ...lost, version: '1' },
      { ...restored, version: '2' },
    ]);
    const offered = rig.sink.observations.length;
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    expect(rig.state('prediction')).toBe('frozen');
    expect(rig.sink.observations).toHaveLength(offered);
    await rig.until('prediction', 'live');
    expect(before.state).toBe('ended');
    const after = rig.sink.observations.slice(offered);
    expect(after.map(({ sourceEpoch, sourceVersion, view }) => [sourceEpoch, sourceVersion, view.orderId])).toEqual([
      [1, 1n, predictionRow['orderId']],
      [1, 2n, 'restored-1'],
    ]);
    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
  });

  it('makes the next epoch durable before a row is given it', async () => {
    const rig = await live();
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    await rig.clock.advanceUntil(() => rig.sink.observations.some(({ sourceEpoch }) => sourceEpoch === 1), 60_000);
    expect(rig.registry.saves.some(({ sourceEpoch, readUpTo }) => sourceEpoch === 1 && readUpTo === undefined)).toBe(
      true,
    );
  });

  it('has its epoch before the list can be read, so that a process which ends meanwhile leaves it to the next one', async () => {
    const rig = await live();
    rig.platform.listError = () => ({ status: 503, message: 'restoring', retryable: true, sent: 'yes' });
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    await rig.clock.advance(120_000);
    expect([rig.state('prediction'), rig.registry.get('prediction', 'acct-1')?.sourceEpoch]).toEqual(['frozen', 1]);
    await rig.connectors.end();
    rig.platform.listError = undefined;
    rig.platform.rows.set('prediction:acct-1', [{ ...restored, version: '3' }]);
    await rig.connectors.begin();
    await rig.until('prediction', 'live');
    expect(rig.sink.observations.at(-1)).toMatchObject({ sourceEpoch: 1, sourceVersion: 3n });
  });

  it('lets frames of the new connection wait, and drops those of the old one', async () => {
    const rig = await live();
    const frame = (version: bigint) =>
      rig.platform.emit('prediction', 'acct-1', { ...restored, updatedAt: '2026-01-05T14:29:30Z' }, version);
    const offered = rig.sink.observations.length;
    rig.platform.rows.set('prediction:acct-1', []);
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    frame(900n);
    let during = false;
    rig.platform.beforeList = async ({ stream }) => {
      if (stream !== 'prediction' || during) return;
      during = true;
      frame(3n);
    };
    await rig.until('prediction', 'live');
    const after = rig.sink.observations.slice(offered);
    expect(after.map(({ sourceEpoch, sourceVersion }) => [sourceEpoch, sourceVersion])).toEqual([[1, 3n]]);
  });

  it('is dealt with once, though orders go on saying so', async () => {
    const rig = await live();
    rig.platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    await rig.until('prediction', 'live');
    rig.platform.emit('prediction', 'acct-1', lost, 2n);
    await rig.clock.advance(600_000);
    expect(rig.state('prediction')).toBe('live');
    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
    await rig.connectors.end();
    await rig.connectors.begin();
    await rig.until('prediction', 'live');
    await rig.clock.advance(600_000);
    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
  });

  it('is dealt with on a first start too: part of the old store may be here already, from before a crash', async () => {
    const rig = connectorsRig();
    rig.platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'live');
    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
    expect(rig.sink.observations.at(-1)?.sourceEpoch).toBe(1);
  });

  it('reads again when more frames came than may wait', async () => {
    const rig = await live();
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    let flooded = false;
    rig.platform.beforeList = async ({ stream }) => {
      if (stream !== 'prediction' || flooded) return;
      flooded = true;
      for (let i = 1; i <= 1_500; i += 1) rig.platform.emit('prediction', 'acct-1', restored, BigInt(i));
    };
    const lists = rig.platform.lists.length;
    await rig.until('prediction', 'live');
    const reads = rig.platform.lists.slice(lists).filter(({ stream }) => stream === 'prediction');
    // The trial, the complete list, and one more for what was dropped.
    expect(reads).toHaveLength(3);
    expect(
      rig.sink.observations.filter(({ cause, sourceEpoch }) => cause === 'stream' && sourceEpoch === 1),
    ).toHaveLength(1_000);
  });
});

describe('a store that was lost for several accounts', () => {
  it('is met by one new connection, however late each of them notices', async () => {
    const rig = connectorsRig();
    rig.platform.accounts.push({ accountId: 'acct-2', isOpen: true, isSim: true });
    for (const accountId of ['acct-1', 'acct-2']) {
      rig.platform.rows.set(`prediction:${accountId}`, [
        { ...predictionRow, accountId, version: '100', updatedAt: '2026-01-05T14:00:00Z' },
      ]);
    }
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'live', 'acct-1');
    await rig.until('prediction', 'live', 'acct-2');
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    await rig.until('prediction', 'live', 'acct-1');
    rig.platform.emit('prediction', 'acct-2', { ...lost, accountId: 'acct-2' }, 1n);
    expect(rig.state('prediction', 'acct-2')).toBe('frozen');
    await rig.until('prediction', 'live', 'acct-2');
    expect(rig.state('prediction', 'acct-1')).toBe('live');
    expect(rig.platform.sockets.filter(({ url }) => url === 'ws://prediction')).toHaveLength(2);
    expect(rig.registry.get('prediction', 'acct-2')?.sourceEpoch).toBe(1);
  });
});

describe('a gap that the platform reports', () => {
  it('makes the account read again, once for many frames, on the same connection', async () => {
    const rig = await live();
    const lists = rig.platform.lists.length;
    for (let i = 0; i < 20; i += 1) {
      rig.platform.emit('prediction', 'acct-1', { ...predictionRow, certainty: 'unknown_gap' }, BigInt(200 + i));
    }
    expect(rig.state('prediction')).toBe('resyncing');
    await rig.until('prediction', 'live');
    expect(rig.platform.lists.slice(lists).filter(({ stream }) => stream === 'prediction')).toHaveLength(1);
    expect(rig.platform.sockets.filter(({ url }) => url === 'ws://prediction')).toHaveLength(1);
    expect(
      rig.sink
        .marks('acct-1')
        .filter((event) => event !== 'heartbeat')
        .slice(-3),
    ).toEqual(['lost', 'resynchronised', 'live']);
  });
});
