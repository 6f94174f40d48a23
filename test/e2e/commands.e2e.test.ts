import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { commandResultRecord } from '../../src/contract/command-result.ts';
import type { SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { runAgainst } from '../support/rest/rest-answers.ts';
import { call, type RestAnswer } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { readAll } from '../support/servers/kafka-fixture.ts';

const accountId = 'SIM-1001';
/** Far below every market: it rests. */
const resting = { accountId, symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };

/** A place of one share, in the words of the command line. */
function placeIn(id: string): string[] {
  return ['place', '--account', id, ...'--symbol F --side buy --type limit --qty 1 --price 1'.split(' ')];
}

async function started(env: Record<string, string> = {}) {
  const { description } = await runningSandbox({ market: { rate: 20 } });
  const world = await World.create({
    platform: platformSettings(description),
    env: { TIDEMARK_COMMANDS: 'on', ...env },
  });
  const service = await world.serve();
  await service.waitLive();
  return { sandbox: description, world, service };
}

function nextPlace(sandbox: SandboxDescription, rule: object) {
  return control(sandbox, '/faults', { rules: [{ on: 'write', fault: 'outcome_unknown', write: 'place', ...rule }] });
}

/**
 * How often the platform accepted an order under one of the command's references, by its ledger.
 */
async function acceptances(
  sandbox: SandboxDescription,
  command: { attempts: { attemptId: string }[] },
): Promise<number> {
  const ours = new Set(command.attempts.map(({ attemptId }) => attemptId));
  const decisions = await controlLines(sandbox, '/ledger?kind=decision');
  return decisions.filter(({ decision, reference }) => decision === 'accepted' && ours.has(reference)).length;
}

function resolvedAs(service: RunningService, commandId: string, result: string): Promise<RestAnswer['body']> {
  return eventually(
    async () => {
      const { body } = await call(service, 'GET', `/v1/commands/${commandId}`);
      expect(body.result, JSON.stringify(body)).toBe(result);
      return body;
    },
    { deadlineMs: 120_000, everyMs: 100 },
  );
}

describe('commands, from REST to the platform and back', () => {
  it('places and replaces, tells every step on Kafka, and marks the updates of the order', async () => {
    const { sandbox, world, service } = await started();
    const [symbol] = sandbox.predictionSymbols;
    const terms = { accountId, symbol, outcome: 'YES', side: 'buy', orderType: 'limit', timeInForce: 'gtc' };
    const body = { ...terms, quantity: '10', price: '0.01', clientOrderRef: 'mine-1' };
    const placed = await call(service, 'POST', '/v1/predictions/orders', { body, key: 'place-1', wait: 20 });
    expect([placed.status, placed.body.result]).toEqual([200, 'applied']);
    const again = await call(service, 'POST', '/v1/predictions/orders', { body, key: 'place-1' });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.commandId).toBe(placed.body.commandId);

    const { orderId, commandId } = placed.body;
    const changed = { accountId, quantity: '12', price: '0.02' };
    const replaced = await call(service, 'PATCH', `/v1/predictions/orders/${orderId}`, { body: changed, wait: 20 });
    expect([replaced.status, replaced.body.result]).toEqual([200, 'applied']);

    const order = await call(service, 'GET', `/v1/orders/prediction/${orderId}`);
    expect(order.body.order).toMatchObject({
      origin: 'tidemark',
      commandId,
      callerRef: 'mine-1',
      working: { quantity: '12', price: '0.02' },
    });
    const updates = await call(service, 'GET', `/v1/orders/prediction/${orderId}/updates`);
    for (const update of updates.body.items) expect(update.order).toMatchObject({ commandId, callerRef: 'mine-1' });

    const steps = await eventually(async () => {
      const records = (await readAll(world.brokers, world.topics.results)).filter(({ key }) => key === commandId);
      const read = records.map(({ value = '' }) => commandResultRecord.parse(JSON.parse(value)));
      expect(read.at(-1)?.state).toBe('applied');
      return read;
    });
    expect(steps.map(({ version }) => version)).toEqual(steps.map((_, index) => index + 1));
    expect(await acceptances(sandbox, placed.body)).toBe(1);
    await control(sandbox, '/rate', { rate: 0 });
    expect(await world.resolvedProof(sandbox)).toMatchObject(nothingWrong);
    expect(await service.stop()).toBe(0);
  }, 180_000);

  it('resolves a 504 that had landed, keeps one unknown that had not, and sends neither again over a restart', async () => {
    const { sandbox, world, service } = await started();
    await nextPlace(sandbox, { applied: 'yes' });
    const landed = await call(service, 'POST', '/v1/orders', { body: { ...resting, clientId: 'landed' } });
    const applied = await resolvedAs(service, landed.body.commandId, 'applied');
    expect(applied.evidence.map(({ code }: { code: string }) => code)).toContain('landed');
    expect(applied.orderId).toBeTypeOf('string');

    await nextPlace(sandbox, { applied: 'no' });
    const lost = await call(service, 'POST', '/v1/orders', { body: { ...resting, symbol: 'MSFT' }, key: 'lost-1' });
    expect([lost.status, lost.body.result]).toEqual([202, 'unknown']);
    expect(lost.headers.get('location')).toBe(`/v1/commands/${lost.body.commandId}`);
    expect(lost.headers.get('retry-after')).toMatch(/^\d+$/);
    await nextPlace(sandbox, { applied: 'late', delayMs: 6000 });
    const late = await call(service, 'POST', '/v1/orders', { body: { ...resting, symbol: 'KO' } });
    expect(late.body.result).toBe('unknown');
    const same = await call(service, 'POST', '/v1/orders', { body: { ...resting, symbol: 'MSFT' } });
    expect([same.status, same.body.code]).toEqual([409, 'UNRESOLVED_PRIOR_COMMAND']);

    await service.kill9();
    const next = await world.serve();
    await next.waitLive();
    await resolvedAs(next, late.body.commandId, 'applied');
    const still = await eventually(async () => {
      const { body } = await call(next, 'GET', `/v1/commands/${lost.body.commandId}`);
      expect(body.misses).toBeGreaterThan(0);
      return body;
    });
    expect(still).toMatchObject({ result: 'unknown', presumedAbsent: false });
    const replayed = await call(next, 'POST', '/v1/orders', { body: { ...resting, symbol: 'MSFT' }, key: 'lost-1' });
    expect(replayed.body.commandId).toBe(lost.body.commandId);
    const exposure = await call(next, 'GET', `/v1/exposure?accountId=${accountId}`);
    expect(exposure.body.items.find((row: { symbol: string }) => row.symbol === 'MSFT')).toMatchObject({
      unresolvedQuantity: '5',
    });

    await theOnCallResolves(next, lost.body.commandId);
    const counts = await Promise.all([landed, lost, late].map(({ body }) => acceptances(sandbox, body)));
    expect(counts).toEqual([1, 0, 1]);
    expect(await next.stop()).toBe(0);
  }, 240_000);

  it('lets nobody in without a token where one is asked for, and nobody to an account that the token does not name', async () => {
    const { description: sandbox } = await runningSandbox();
    const env = { TIDEMARK_COMMANDS: 'on', TIDEMARK_AUTH_PRINCIPALS: 'on' };
    const world = await World.create({ platform: platformSettings(sandbox), env });
    const io = cliIo({ DATABASE_URL: world.databaseUrl });
    const scopes = 'orders:read,orders:write';
    await runProgram(io, ['token', 'add', 'desk', '--scopes', scopes, '--accounts', accountId]);
    const service = await world.serve();
    await service.waitLive();
    const url = await service.restAddress();
    const mine = [...placeIn(accountId), '--wait', '10'];
    const foreign = [...placeIn('SIM-1002'), '--wait', '10'];
    const signedIn = { TIDEMARK_TOKEN: io.out().trim() };
    expect(await runAgainst(url, mine)).toMatchObject({ code: 77, err: expect.stringContaining('(UNAUTHENTICATED)') });
    expect(await runAgainst(url, mine, { TIDEMARK_TOKEN: 'guessed' })).toMatchObject({ code: 77 });
    const placed = await runAgainst(url, mine, signedIn);
    expect([placed.code, placed.out], placed.err).toEqual([0, expect.stringMatching(/^applied {2}command /)]);
    const refused = await runAgainst(url, foreign, signedIn);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('there is no such account (ACCOUNT_NOT_FOUND)'),
    ]);
    const halt = await runAgainst(url, ['halt', '--account', accountId, '--reason', 'x'], signedIn);
    expect([halt.code, halt.err]).toEqual([77, expect.stringContaining('(INSUFFICIENT_SCOPE)')]);
    expect(await world.query('select principal, account_id from commands')).toEqual([
      { principal: 'desk', account_id: accountId },
    ]);
    expect(service.process.lines.join('\n'), 'the log holds no token').not.toContain(signedIn.TIDEMARK_TOKEN);
    expect(await service.stop()).toBe(0);
  }, 180_000);

  it('places nothing where commands are off, and reads all the same', async () => {
    const { service } = await started({ TIDEMARK_COMMANDS: 'off' });
    const refused = await call(service, 'POST', '/v1/orders', { body: resting });
    expect([refused.status, refused.body.code]).toEqual([403, 'COMMANDS_OFF']);
    const orders = await call(service, 'GET', '/v1/orders?limit=2');
    expect(orders.body.items).toHaveLength(2);
    expect(await service.stop()).toBe(0);
  }, 180_000);
});

/**
 * By the command line alone, against the real service: what it shows is what somebody on call sees.
 */
async function theOnCallResolves(service: RunningService, commandId: string): Promise<void> {
  const url = await service.restAddress();
  const listed = await runAgainst(url, ['command', 'ls', '--unresolved']);
  expect([listed.code, listed.err]).toEqual([0, '']);
  expect(listed.out).toContain(`tidemark command resolve ${commandId} --result applied|rejected`);
  const shown = await runAgainst(url, ['command', 'show', commandId]);
  expect(shown.out).toMatch(/^evidence +computed again: unknown, since no answer says what became of it/m);
  const resolved = await runAgainst(url, [
    'command',
    'resolve',
    commandId,
    '--result',
    'rejected',
    '--reason',
    'not in the ledger',
  ]);
  expect(resolved).toMatchObject({ code: 0, out: `rejected  command ${commandId}\n` });
  expect((await runAgainst(url, ['command', 'ls', '--unresolved'])).out).toBe('No command is unresolved.\n');
  expect((await runAgainst(url, ['command', 'show', commandId])).out).toMatch(
    /^evidence +computed again: rejected, since a person resolved it$/m,
  );
  const halted = await runAgainst(url, ['halt', '--account', accountId, '--reason', 'a drill']);
  expect(halted.out).toContain('a drill');
  expect((await service.status()).halts).toMatchObject([{ scope: accountId, cause: 'operator', reason: 'a drill' }]);
  const ready = await (await fetch(`${await service.adminAddress()}/readyz?verbose`)).json();
  expect(ready).toMatchObject({ status: 'degraded' });
  const refused = await runAgainst(url, placeIn(accountId));
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('PLACING_HALTED')]);
  expect((await runAgainst(url, ['resume', '--account', accountId, '--reason', 'over'])).out).toMatch(
    /^Resumed account .*: a drill\nNo halt is in force\.\n$/,
  );
  const placed = await runAgainst(url, [...placeIn(accountId), '--wait', '10']);
  expect([placed.code, placed.out], placed.err).toEqual([0, expect.stringMatching(/^applied {2}command /)]);
  const swept = await runAgainst(url, ['cancel', '--all', '--account', accountId, '--reason', 'the drill ends']);
  expect(swept.err + swept.out).toContain('account');
}
