import { expect, it } from 'vitest';
import { accountRow, predictionRow, type Row } from '../../src/venue/platform/fixtures/rows.ts';
import { nowText, ScriptedPlatformServer } from '../support/platform/scripted-platform-server.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';

/**
 * Harmless by the contract: a strange order of the keys, unknown
 * fields, white space wherever JSON allows it.
 */
function strangely(text: string): string {
  return text.replaceAll('{"', '{\n\t"x_region" : "eu-1", "').replaceAll('","', '" ,\r\n "').replaceAll('":', '"  :  ');
}

function reversed(row: Row): Row {
  return Object.fromEntries(Object.entries({ ...row, xShard: { of: [1, 2, null] }, xNote: 'ours' }).reverse());
}

it('a platform that nobody here wrote, and that differs in all that the contract leaves open, is followed to live', async () => {
  const platform = await ScriptedPlatformServer.start({
    accounts: ['ACC.77-a', 'ACC.78-b', 'ACC.79-c'],
    ackDelayMs: 700,
    pageSize: 3,
    write: strangely,
  });
  const rows: { stream: 'account' | 'prediction'; id: string; row: Row }[] = [];
  for (let i = 0; i < 10; i += 1) {
    const accountId = `ACC.7${7 + (i % 3)}-${'abc'[i % 3]}`;
    const at = { createdAt: nowText(-60_000), updatedAt: nowText(-30_000 + i) };
    rows.push({ stream: 'account', id: `E/${i}`, row: reversed({ ...accountRow, ...at, ordId: `E/${i}`, accountId }) });
    rows.push({
      stream: 'prediction',
      id: `P${i}`,
      row: reversed({ ...predictionRow, ...at, orderId: `P${i}`, accountId: 'ACC.77-a' }),
    });
  }
  for (const { stream, row } of rows)
    platform.put(stream, row, stream === 'prediction' ? '9007199254740993' : undefined);

  const world = await World.create({ platform: platform.settings });
  const service = await world.serve();
  await service.waitLive();
  const stored = async () =>
    world.query<{ order_id: string; status: string; source_version: string | null; state: { extra?: object } }>(
      'select order_id, status, source_version::text, state from current_orders order by order_id',
    );
  expect((await stored()).map(({ order_id: id }) => id)).toEqual(rows.map(({ id }) => id).sort());
  expect((await stored()).find(({ order_id: id }) => id === 'P0')).toMatchObject({
    source_version: '9007199254740993',
    state: { extra: { xNote: 'ours', xShard: { of: [1, 2, null] } } },
  });

  const filled = {
    ...accountRow,
    ordId: 'E/0',
    accountId: 'ACC.77-a',
    ordStatus: 'FILLED',
    cumQty: '100',
    leavesQty: '0',
  };
  platform.emit('account', reversed({ ...filled, avgPrice: '191.50', updatedAt: nowText() }));
  const next = {
    ...predictionRow,
    orderId: 'P0',
    accountId: 'ACC.77-a',
    state: 'canceled',
    leavesQty: '0',
    updatedAt: nowText(),
  };
  platform.emit('prediction', reversed(next), '9007199254740994');
  await eventually(async () => {
    const now = await stored();
    expect(now.find(({ order_id: id }) => id === 'E/0')).toMatchObject({ status: 'filled' });
    expect(now.find(({ order_id: id }) => id === 'P0')).toMatchObject({
      status: 'canceled',
      source_version: '9007199254740994',
    });
  });
  expect(await world.query('select from dead_letters')).toEqual([]);

  const { accounts } = await service.status();
  const states = accounts.map(
    (row: { stream: string; account: string; state: string }) => `${row.stream} ${row.account} ${row.state}`,
  );
  expect(states.sort()).toEqual([
    'account ACC.77-a live',
    'account ACC.78-b live',
    'account ACC.79-c live',
    'prediction ACC.77-a live',
    'prediction ACC.78-b not_enrolled',
    'prediction ACC.79-c not_enrolled',
  ]);
  expect(await service.stop()).toBe(0);
});
