import { expect, it } from 'vitest';
import type { SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { call, callAt } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { proxyTo, through } from '../support/servers/network.ts';

const order = {
  accountId: 'SIM-1001',
  symbol: 'AAPL',
  side: 'BUY',
  type: 'LIMIT',
  qty: '5',
  price: '1.00',
  timeInForce: 'GTC',
};

async function started() {
  const { description } = await runningSandbox({ market: { rate: 20 } });
  const network = await proxyTo(description.platform);
  const platform = { ...platformSettings(description), PLATFORM_URL: through(network, description.platform) };
  const world = await World.create({ platform, env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  await service.waitLive();
  return { sandbox: description, network, world, service };
}

/**
 * The references under which the platform has accepted orders,
 * by its ledger, each as often as it did.
 */
async function accepted(sandbox: SandboxDescription): Promise<string[]> {
  const decisions = await controlLines(sandbox, '/ledger?kind=decision');
  return decisions.filter(({ decision }) => decision === 'accepted').map(({ reference }) => reference);
}

function untilAccepted(sandbox: SandboxDescription, count: number): Promise<string[]> {
  return eventually(async () => {
    const references = await accepted(sandbox);
    expect(references).toHaveLength(count);
    return references;
  });
}

function resolved(service: RunningService, commandId: string, result: string) {
  return eventually(
    async () => {
      const { body } = await call(service, 'GET', `/v1/commands/${commandId}`);
      expect(body.result, JSON.stringify(body)).toBe(result);
      return body;
    },
    { deadlineMs: 120_000, everyMs: 100 },
  );
}

const references = ({ attempts }: { attempts: { attemptId: string }[] }) => attempts.map(({ attemptId }) => attemptId);

it('SIGTERM waits for the answer to a command in flight, tells its caller, and takes no other meanwhile', async () => {
  const { sandbox, network, world, service } = await started();
  const rest = await service.restAddress();
  network.behave({ kind: 'hold' }, 'toClient');
  const inFlight = call(service, 'POST', '/v1/orders', { body: order, key: 'in-flight' });
  await untilAccepted(sandbox, 1);
  service.process.signal('SIGTERM');
  await eventually(async () => expect((await service.ready()).body.status).toBe('unready'));
  // Until here it looks for another process that takes its shards, and still answers for them.
  await service.awaitLog('no shard to give', ({ msg, part }) => msg === 'drain step' && part === 'fleet');
  const late = await callAt(rest, 'POST', '/v1/orders', { body: { ...order, symbol: 'MSFT' } });
  expect(late.body.code).toBe('DRAINING');
  expect([late.status, late.body.retryable, late.headers.get('retry-after')]).toEqual([503, true, '2']);
  network.behave({ kind: 'pass' }, 'toClient');
  const told = await inFlight;
  expect(told.status, JSON.stringify(told.body)).toBe(200);
  expect(['accepted', 'applied']).toContain(told.body.result);
  expect(await service.process.exited).toBe(0);
  await service.awaitLog(
    'a clean end',
    ({ msg, unclean }) => msg === 'drained' && Array.isArray(unclean) && unclean.length === 0,
  );

  const next = await world.serve();
  await next.waitLive();
  const command = await resolved(next, told.body.commandId, 'applied');
  expect(await accepted(sandbox)).toEqual(references(command));
  const again = await call(next, 'POST', '/v1/orders', { body: order, key: 'in-flight' });
  expect([again.headers.get('idempotent-replayed'), again.body.commandId]).toEqual(['true', told.body.commandId]);
  expect(await world.query('select from commands'), 'the one that came too late is nowhere').toHaveLength(1);
  expect(await next.stop()).toBe(0);
}, 240_000);

it('SIGTERM with answers that never come: their callers are told what is known or that nothing is, and the next start finds what the ledger says', async () => {
  const { sandbox, world, service } = await started();
  const rules = [
    { on: 'write', fault: 'hang', write: 'place', applied: 'yes' },
    { on: 'write', fault: 'hang', write: 'place', applied: 'no' },
  ];
  await control(sandbox, '/faults', { rules: [rules[0]] });
  const landed = call(service, 'POST', '/v1/orders', { body: order, key: 'landed' });
  await untilAccepted(sandbox, 1);
  await control(sandbox, '/faults', { rules: [rules[1]] });
  const lost = call(service, 'POST', '/v1/orders', { body: { ...order, symbol: 'MSFT' }, key: 'lost' });
  await eventually(async () =>
    expect(await world.query(`select from attempts where state = 'sending'`)).toHaveLength(2),
  );
  service.process.signal('SIGTERM');
  const told = await Promise.all([landed, lost]);
  // The stream may have shown the one that landed before its answer was
  // given up: then the caller has the verdict.
  expect([
    [200, 'applied'],
    [202, 'unknown'],
  ]).toContainEqual([told[0]?.status, told[0]?.body.result]);
  expect([told[1]?.status, told[1]?.body.result]).toEqual([202, 'unknown']);
  for (const { body, headers } of told) expect(headers.get('location')).toBe(`/v1/commands/${body.commandId}`);
  expect(await service.process.exited).toBe(0);

  const next = await world.serve();
  await next.waitLive();
  const [first, second] = told.map(({ body }) => body.commandId as string);
  const command = await resolved(next, first ?? '', 'applied');
  const open = await eventually(async () => {
    const { body } = await call(next, 'GET', `/v1/commands/${second}`);
    expect(body.misses, JSON.stringify(body)).toBeGreaterThan(0);
    return body;
  });
  expect(open.result, 'looked for, not found, and not guessed').toBe('unknown');
  expect(await accepted(sandbox), 'sent once').toEqual(references(command));
  expect(await next.stop()).toBe(0);
}, 240_000);

it('a second SIGTERM ends it with the command in flight, whose verdict is the ledger’s all the same', async () => {
  const { sandbox, network, world, service } = await started();
  // Nor may the stream show the order: its caller would be answered by that.
  await control(sandbox, '/faults', { stream: { silent_loss: 1 } });
  network.behave({ kind: 'hold' }, 'toClient');
  const inFlight = call(service, 'POST', '/v1/orders', { body: order, key: 'cut-off' }).catch(
    (error: unknown) => error,
  );
  await untilAccepted(sandbox, 1);
  service.process.signal('SIGTERM');
  service.process.signal('SIGINT');
  expect([128 + 2, 128 + 15]).toContain(await service.process.exited);
  expect(await inFlight, 'the caller knows nothing, and has its key').toBeInstanceOf(Error);
  network.behave({ kind: 'pass' }, 'toClient');
  await control(sandbox, '/faults', { stream: { silent_loss: 0 } });

  const next = await world.serve();
  await next.waitLive();
  const again = await call(next, 'POST', '/v1/orders', { body: order, key: 'cut-off', wait: 30 });
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const command = await resolved(next, again.body.commandId, 'applied');
  expect(await accepted(sandbox)).toEqual(references(command));
  expect(await next.stop()).toBe(0);
}, 240_000);
