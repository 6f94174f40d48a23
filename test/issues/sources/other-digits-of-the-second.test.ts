// What a user saw: Lists told the same instants with fewer digits, and each order went to quarantine.

import { expect, it } from 'vitest';
import { sameToCoarser } from '../../../src/domain/instant.ts';
import { liveConnectors } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow, predictionRow, type Row } from '../../support/platform/platform-rows.ts';

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
