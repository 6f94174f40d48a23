import { expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { World } from '../support/runs/service-under-test.ts';

/** A dead letter, as if the order had come in a shape that nobody could read. Its id. */
async function deadLetters(
  world: World,
  order: { stream: string; account: string | null; order: string | null },
): Promise<number> {
  const [row] = await world.query<{ id: number }>(
    `insert into dead_letters (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
     values (0, 1, $1, $2, $3, 'bad_decimal', 'price: expected a decimal string, found 1e5', '{"price":1e5}', '2026-11-21T14:30:00Z') returning id::int`,
    [order.stream, order.account, order.order],
  );
  return row?.id ?? 0;
}

it('accounts are read whole, and orders of dead letters again, by the service that runs', async () => {
  const { description } = await runningSandbox({ market: { rate: 0, openOrders: 20, knownOrders: 60 } });
  const world = await World.create({ platform: platformSettings(description) });
  const service = await world.serve();
  await service.waitLive();
  // One credential for one verb: none of them has the database.
  const env = { TIDEMARK_URL: await service.restAddress() };
  const run = async (...argv: string[]) => {
    const io = cliIo(env);
    await runProgram(io, argv);
    return { code: io.code(), out: io.out(), err: io.err() };
  };
  const [known] = await world.query<{ stream: string; account: string; order: string; orders: number }>(
    `select stream, account_id as account, min(order_id) as order, count(*)::int as orders from orders group by 1, 2 order by orders desc limit 1`,
  );
  if (known === undefined) throw new Error('the service knows no order');
  const { stream, account } = known;

  const backfill = JSON.parse((await run('backfill', account, '--stream', stream, '--json')).out);
  expect(backfill).toEqual([{ stream, result: 'done', detail: expect.stringMatching(/^\d+ orders read$/) }]);
  expect(Number.parseInt(backfill[0].detail, 10)).toBeGreaterThanOrEqual(known.orders);
  expect(await run('backfill', 'NOBODY')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('ACCOUNT_NOT_FOUND'),
  });

  const there = await deadLetters(world, known);
  const gone = await deadLetters(world, { ...known, order: '00000000-0000-4000-8000-000000000000' });
  const nameless = await deadLetters(world, { ...known, order: null });
  const retried = await run('dead-letters', 'retry', String(there), String(gone), String(nameless), '999999', '--json');
  expect(retried.code).toBe(1);
  expect(JSON.parse(retried.out)).toEqual([
    { id: String(there), result: 'done', detail: 'the order was read again and went through ingest' },
    { id: String(gone), result: 'failed', detail: 'the platform does not show the order any more' },
    {
      id: String(nameless),
      result: 'failed',
      detail: `it names no order: run \`tidemark backfill ${account}\`, and discard it`,
    },
    { id: '999999', result: 'failed', detail: 'there is no such row' },
  ]);

  const listed = await run('dead-letters', 'ls');
  expect(listed.out.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual([
    'ID',
    String(gone),
    String(nameless),
    '',
  ]);
  expect((await run('dead-letters', 'show', String(gone))).out).toMatch(
    /^id +\d+\nstream .*\n[\s\S]*\n\n\{"price":1e5\}\n$/,
  );
  expect(await run('dead-letters', 'discard', String(gone), String(nameless))).toMatchObject({
    code: 0,
    out: `${gone}: done, discarded\n${nameless}: done, discarded\n`,
  });
  expect(await run('dead-letters', 'discard', String(gone))).toMatchObject({ code: 1 });
  expect((await run('dead-letters', 'ls')).out).toBe('There are no dead letters.\n');

  // All that match, as one job of the service, asked for over REST.
  for (const order of [known, known, { ...known, order: null }, { stream, account: null, order: null }])
    await deadLetters(world, order);
  const all = ['--all', '--only', 'bad_decimal', '--reason', 'the new build reads it'];
  expect((await run('dead-letters', 'retry', ...all, '--dry-run')).out).toMatch(
    /^4 rows would be retried; 2 of them name no order/,
  );
  const job = await run('dead-letters', 'retry', ...all, '--json');
  expect([job.code, JSON.parse(job.out)]).toMatchObject([1, { job: { state: 'ended', total: 4, done: 2, failed: 2 } }]);
  const discarded = await run('dead-letters', 'discard', ...all);
  expect(discarded).toMatchObject({
    code: 0,
    out: expect.stringMatching(/: ended, 2 rows, 2 done, 0 failed, 0 withdrawn\n$/),
  });
  expect((await run('dead-letters', 'ls')).out).toBe('There are no dead letters.\n');

  // An account that no process follows: nobody answers for it.
  await world.query(
    `insert into accounts (stream, account_id, is_sim, source_epoch) values ('account', 'ELSEWHERE', true, 1)`,
  );
  const waiting = { ...cliIo(env), isTerminal: true };
  await runProgram(waiting, ['backfill', 'ELSEWHERE', '--wait', '1']);
  expect(waiting.err()).toMatch(/^\rthe service reads ELSEWHERE, 0 s/);
  expect([waiting.code(), waiting.out()]).toEqual([
    75,
    'account ELSEWHERE: waiting, no process that follows the account has read it yet; it stays asked for\n',
  ]);
  const [asked] = await world.query('select reason, asked_by from repair_requests where answered_at is null');
  expect(asked).toEqual({ reason: 'at the command line', asked_by: 'loopback' });

  expect(await service.stop()).toBe(0);
  for (const line of [['backfill', account], ['dead-letters', 'ls'], ['fleet']])
    expect(await run(...line), line.join(' ')).toMatchObject({
      code: 69,
      out: '',
      err: expect.stringContaining('tidemark serve'),
    });
}, 120_000);
