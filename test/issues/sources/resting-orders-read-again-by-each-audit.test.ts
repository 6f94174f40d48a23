// What a user saw: With 20,000 resting orders, the platform had to send 20,000 rows a minute.

import { expect, it } from 'vitest';
import { liveConnectors } from '../../support/orders/connectors-rig.ts';
import { accountRow, type Row } from '../../support/platform/platform-rows.ts';

const key = 'account:acct-1';
const minute = 60_000;

/**
 * An account with orders that rest: its lists show one only where they are asked for all that are
 * open. Every row of an audit is known.
 */
async function resting(count: number) {
  const rig = await liveConnectors();
  const rows: Row[] = Array.from({ length: count }, (_, i) => ({
    ...accountRow,
    ordId: `rests-${String(i).padStart(5, '0')}`,
  }));
  const stored = () => (rig.platform.rows.get(key) ?? []).map((row) => String(row['ordId']));
  rig.platform.rows.set(key, rows);
  rig.platform.shows = (_, { state }) => state === 'open';
  rig.registry.open.set(
    key,
    stored().map((orderId) => ({
      orderId,
      status: 'new',
      sourceVersion: undefined,
      updatedAt: '2026-01-01T00:00:00Z',
    })),
  );
  rig.sink.outcome = () => 'duplicate';
  const taken = () => rig.sink.observations.length;
  const audits = () => rig.platform.lists.filter(({ stream, state }) => stream === 'account' && state === 'all').length;
  return { ...rig, rows, taken, audits };
}

it('are read by the first audit, and then at growing intervals up to an hour', async () => {
  const { clock, taken, audits } = await resting(200);
  const before = audits();
  await clock.advance(10 * minute);
  expect(audits() - before).toBeGreaterThanOrEqual(8);
  // Read again by each audit they were some 2,000.
  expect(taken()).toBe(600);
  await clock.advance(50 * minute);
  expect(taken()).toBeLessThanOrEqual(1_200);
  const first = taken();
  await clock.advance(3 * 60 * minute);
  expect(taken() - first).toBeGreaterThanOrEqual(400);
  expect(taken() - first).toBeLessThanOrEqual(800);
});

it('are not asked for one by one at each audit where they are few', async () => {
  const { clock, platform } = await resting(8);
  await clock.advance(10 * minute);
  expect(platform.gets).toHaveLength(24);
});

it('are read by the next audit after a change that the stream has lost', async () => {
  const { clock, taken, platform, sink, audits } = await resting(20);
  await clock.advance(20 * minute);
  const before = audits();
  await clock.advanceUntil(() => audits() > before, 2 * minute);
  await clock.advance(5_000);
  const rested = taken();
  // The one order that the lists of audits show has a change that the stream never brings.
  platform.shows = (row, { state }) => state === 'open' || row['ordId'] === 'rests-00007';
  sink.outcome = ({ view }) => (view.orderId === 'rests-00007' ? 'applied' : 'duplicate');
  await clock.advanceUntil(() => taken() > rested, 2 * minute);
  expect(taken()).toBe(rested + 1);
  await clock.advance(10_000);
  await clock.advance(80_000);
  expect(taken()).toBeGreaterThanOrEqual(rested + 20);
});

it('count as lost changes, and are read again soon, where one of them ended and no list with changes shows it', async () => {
  const { clock, platform, metrics, sink } = await resting(8);
  sink.outcome = ({ view }) => (view.status === 'canceled' ? 'applied' : 'duplicate');
  const losses = async () => (await metrics.silentLosses.get()).values.reduce((sum, { value }) => sum + value, 0);
  platform.rows.set(
    key,
    (platform.rows.get(key) ?? []).map((row) =>
      row['ordId'] === 'rests-00003' ? { ...row, ordStatus: 'CANCELED' } : row,
    ),
  );
  await clock.advance(80_000);
  expect(platform.gets).toHaveLength(8);
  expect(await losses()).toBe(1);
  await clock.advance(70_000);
  expect(platform.gets).toHaveLength(16);
});

it('are read by each audit while a frame of no known order is missing', async () => {
  const { clock, platform, socket } = await resting(8);
  await clock.advance(20 * minute);
  platform.gets.length = 0;
  socket('account').deliver('{"type":"event"');
  await clock.advance(80_000);
  expect(platform.gets.length).toBeGreaterThanOrEqual(8);
});

it('are read by the first audit after each reconnect', async () => {
  const { clock, platform, socket, until } = await resting(8);
  await clock.advance(20 * minute);
  socket('account').end({ kind: 'closed', code: 1001, reason: 'restart' });
  await until('account', 'resyncing');
  await until('account', 'live');
  platform.gets.length = 0;
  await clock.advance(80_000);
  expect(platform.gets).toHaveLength(8);
});
