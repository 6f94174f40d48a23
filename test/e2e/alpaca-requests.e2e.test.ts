import { expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { alpacaSettings } from '../../src/sandbox/alpaca/describe-alpaca.ts';
import { alpacaClient } from '../support/platform/alpaca.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { World } from '../support/runs/service-under-test.ts';

it("cancels at Alpaca while the user's other programs use up its requests, and leaves no command in doubt", async () => {
  const client = await alpacaClient({ alpaca: { requestsPerMinute: 60 } });
  const world = await World.create({ platform: alpacaSettings(client.at), env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  await service.waitLive();
  const env = { TIDEMARK_URL: await service.restAddress() };
  const run = async (...argv: string[]) => {
    const io = cliIo(env);
    await runProgram(io, [...argv, '--account', client.accountNumber, '--stream', 'alpaca_paper', '--json']);
    return JSON.parse(io.out());
  };
  const place = (price: string) =>
    run(
      'place',
      '--symbol',
      'AAPL',
      '--side',
      'buy',
      '--type',
      'limit',
      '--qty',
      '10',
      '--price',
      price,
      '--wait',
      '9',
    );
  const left = async () => {
    const { headers } = await client.get('/v2/clock');
    const endsInMs = Number(headers.get('x-ratelimit-reset')) * 1000 - Date.now();
    return { left: Number(headers.get('x-ratelimit-remaining')), endsInMs };
  };

  // All of it happens within one minute of the venue.
  for (let told = await left(); told.endsInMs < 30_000 || told.left < 20; told = await left())
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  while ((await left()).left > 12);
  const first = await place('187.11');
  expect(first).toMatchObject({ result: 'applied', orderStatus: 'new' });
  const second = await place('187.12');
  expect(second).toMatchObject({ result: 'not_sent', reason: { code: 'REQUESTS_USED_UP' } });
  expect(second.reason.message).toMatch(/^not sent: of the venue's 60 requests the last \d+ are kept for more urgent/);
  expect(await run('cancel', first.orderId, '--wait', '9')).toMatchObject({ result: 'applied' });
  expect((await client.order(first.orderId)).status).toBe('canceled');
  const { halts } = await service.status();
  expect(halts).toEqual([]);
  expect(await world.query("select 1 from commands where state = 'unknown'")).toEqual([]);
  await service.waitMetric('tidemark_platform_requests_held_total', { purpose: 'place' }, 1);
});
