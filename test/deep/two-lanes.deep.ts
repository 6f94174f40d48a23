import { expect, it } from 'vitest';
import { visibleAccounts } from '../../src/cli/proof/prove-run.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { EventReader } from '../support/event-reader.ts';
import { eventually } from '../support/poll.ts';
import { call } from '../support/rest-call.ts';
import { control, runningSandbox } from '../support/sandbox.ts';
import { nothingWrong, World } from '../support/service-under-test.ts';

const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
const word = { reason: 'drill' };

// docs/operating.md, "More than one lane".
it('two lanes, each with its own accounts, lose nothing, show all of it to a reader of the stream, and halt together', async () => {
  const { description } = await runningSandbox({ market: { rate: 200 } });
  const world = await World.create({ platform: platformSettings(description), env: { TIDEMARK_COMMANDS: 'on' } });
  const accounts = [...(await visibleAccounts(fetch, description))];
  const [zero, one] = await Promise.all(
    [0, 1].map((lane) =>
      world.serve({ TIDEMARK_LANE: String(lane), PLATFORM_ACCOUNTS: accounts.filter((_, i) => i % 2 === lane).join(',') }),
    ),
  );
  if (zero === undefined || one === undefined) throw new Error('two were started');
  await Promise.all([zero.waitLive(), one.waitLive()]);
  const reader = await EventReader.open(`${await zero.restAddress()}/v1/stream?after=0`);

  const place = (service: typeof zero, accountId: string | undefined) =>
    call(service, 'POST', '/v1/orders', { body: { accountId, ...terms }, wait: 20 });
  expect(await place(zero, accounts[0])).toMatchObject({ status: 200, body: { outcome: 'applied' } });
  expect(await place(one, accounts[1])).toMatchObject({ status: 200, body: { outcome: 'applied' } });
  expect(await place(zero, accounts[1])).toMatchObject({ status: 404, body: { code: 'ACCOUNT_NOT_FOUND' } });
  expect(await call(zero, 'POST', '/v1/halt', { body: word })).toMatchObject({ status: 200 });
  await eventually(async () => expect((await place(one, accounts[1])).body.code).toBe('PLACING_HALTED'), { everyMs: 250 });
  expect((await call(one, 'POST', '/v1/resume', { body: word })).body).toEqual({ halts: [] });
  await eventually(async () => expect((await place(zero, accounts[0])).status).toBe(200), { everyMs: 250 });

  await reader.take(500);
  await control(description, '/rate', { rate: 0 });
  expect(await world.settledProof(description)).toMatchObject(nothingWrong);
  const rows = await world.query<{ seq: string; lane: number }>(
    "select seq, lane from order_updates where stream <> 'continuity' order by seq",
  );
  expect(new Set(rows.map(({ lane }) => lane))).toEqual(new Set([0, 1]));
  await reader.take(rows.length);
  expect(reader.events.map(({ event, id }) => `${event} ${id}`)).toEqual(rows.map(({ seq }) => `update ${seq}`));
  reader.close();
  const doctor = await world.run(['doctor']);
  await doctor.exited;
  expect(doctor.lines.filter((line) => /^\S+ +(schema|lane)/.test(line))).toEqual([
    expect.stringContaining('migrated to this build'),
  ]);
  expect(await Promise.all([zero.stop(), one.stop()])).toEqual([0, 0]);
}, 300_000);
