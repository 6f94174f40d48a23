import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { commandAnswer } from '../../src/contract/rest-answers.ts';
import { sampleCommand } from '../support/commands/scripted-commands.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { commandBody, problemBody, restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { ask, startRest } from '../support/rest/rest-rig.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';
import { json } from '../support/servers/http-server.ts';

describe('cancel', () => {
  it('names the account in the query, on the endpoint of its stream', async () => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody({ kind: 'cancel' })));
    await runAgainst(rest.url, ['cancel', 'o-1', '--account', 'SIM 1']);
    await runAgainst(rest.url, ['cancel', 'o-2', '--account', 'SIM-1', '--prediction', '--if-revision', '2']);
    expect(rest.received.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['DELETE', '/v1/orders/o-1?accountId=SIM+1', ''],
      ['DELETE', '/v1/predictions/orders/o-2?accountId=SIM-1', ''],
    ]);
    expect(rest.received[1]?.headers['if-match']).toBe('"2"');
  });

  it('tells that an order which the platform does not find may be a prediction order: that one stays live', async () => {
    const reason = { code: 'ORDER_NOT_FOUND', message: 'no such order' };
    const answer = commandBody({ kind: 'cancel', result: 'refused', state: 'refused', reason });
    const rest = await restServer((_request, response) => json(response, 200, answer));
    const { code, out } = await runAgainst(rest.url, ['cancel', 'o-1', '--account', 'A']);
    expect(code).toBe(1);
    expect(out).toMatch(
      /\n {2}Give the whole id, .* Cancel needs --prediction for a prediction order; only these can be replaced\.\n$/,
    );
  });

  it('asks which order, and names what a prediction order needs', async () => {
    const { code, err } = await runAgainst('http://127.0.0.1:1', ['cancel', 'o-1']);
    expect([code, err]).toEqual([64, expect.stringContaining('--prediction for a prediction order')]);
  });

  it('of one order takes no reason, which nothing would record', async () => {
    const argv = ['cancel', 'o-1', '--account', 'A', '--reason', 'stop'];
    expect(await runAgainst('http://127.0.0.1:1', argv)).toMatchObject({ code: 64 });
  });
});

describe('cancel --all', () => {
  it('needs a reason, and tells each order', async () => {
    const orders = [
      { accountId: 'A', stream: 'account', orderId: 'o-1', result: 'accepted', commandId: 'c-1' },
      { accountId: 'A', stream: 'prediction', orderId: 'o-2', code: 'ORDER_CLOSED', detail: 'closed' },
    ];
    const declined = [{ accountId: 'B', code: 'ACCOUNT_NOT_TRADED', detail: 'real' }];
    const rest = await restServer((_request, response) => json(response, 200, { orders, declined }));
    expect(await runAgainst(rest.url, ['cancel', '--all', '--account', 'A'])).toMatchObject({ code: 64 });
    expect(await runAgainst(rest.url, ['cancel', '--account', 'A'])).toMatchObject({ code: 64 });
    expect(rest.received).toEqual([]);
    const { code, out } = await runAgainst(rest.url, ['cancel', '--all', '--account', 'A', '--reason', 'stop']);
    expect(rest.received[0]).toMatchObject({
      method: 'POST',
      path: '/v1/accounts/A/cancel-all',
      body: '{"reason":"stop"}',
    });
    expect(rest.received[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
    expect(out).toMatch(/^A +prediction +o-2 +ORDER_CLOSED +-$/m);
    expect(out).toMatch(/^B +- +- +ACCOUNT_NOT_TRADED +-$/m);
    expect(code).toBe(1);
    await runAgainst(rest.url, ['cancel', '--all', '--reason', 'stop']);
    expect(rest.received[1]?.path).toBe('/v1/cancel-all');
  });

  it.each([
    [
      'an unresolved place',
      { places: [{ accountId: 'A', stream: 'account', commandId: 'c-9', result: 'unknown' }] },
      /^A +account +- +unknown +c-9$/m,
    ],
    [
      'an account that could not be read',
      { unread: [{ accountId: 'A', stream: 'prediction', code: 'NOT_LIVE', detail: 'd' }] },
      /^A +prediction +- +NOT_LIVE +-$/m,
    ],
    [
      'a cancel under way',
      { orders: [{ accountId: 'A', stream: 'account', orderId: 'o', code: 'UNDER_WAY' }] },
      /^A +account +o +UNDER_WAY +-$/m,
    ],
    [
      'an account without a process',
      { declined: [{ accountId: 'A', code: 'NOT_LEADER', detail: 'd' }] },
      /^A +- +- +NOT_LEADER +-$/m,
    ],
    [
      'an order that is to be tried again',
      { orders: [{ accountId: 'A', stream: 'account', orderId: 'o', code: 'STORE_UNAVAILABLE' }] },
      /^A +account +o +STORE_UNAVAILABLE +-$/m,
    ],
  ])('names %s, and ends with 75 while something may be open', async (_what, more, line) => {
    const answer = { open: true, inForce: true, orders: [], places: [], unread: [], declined: [], ...more };
    const rest = await restServer((_request, response) => json(response, 200, answer));
    const { code, out, err } = await runAgainst(rest.url, ['cancel', '--all', '--reason', 'stop', '--leave-landing']);
    expect(code).toBe(75);
    expect(out).toMatch(line);
    expect(err).toContain('something may still be open');
    expect(rest.received[0]?.body).toBe('{"reason":"stop","onLanding":"leave"}');
  });

  it('names an instance that gave no answer', async () => {
    const unanswered = [{ instance: 'desk-2', code: 'FORWARD_UNANSWERED' }];
    const answer = { open: true, inForce: false, orders: [], places: [], unread: [], declined: [], unanswered };
    const rest = await restServer((_request, response) => json(response, 200, answer));
    const { code, err } = await runAgainst(rest.url, ['cancel', '--all', '--reason', 'stop']);
    expect(code).toBe(75);
    expect(err).toContain('desk-2 gave no answer (FORWARD_UNANSWERED): its accounts are not shown\n');
  });

  it.each([[['--prediction']], [['--if-revision', '3']], [['--wait', '5']]])(
    'refuses %j rather than cancel more than was meant',
    async (flags) => {
      const rest = await restServer((_request, response) => json(response, 200, { orders: [], declined: [] }));
      const argv = ['cancel', '--all', '--account', 'A', '--reason', 'stop', ...flags];
      const { code, err } = await runAgainst(rest.url, argv);
      expect([code, err]).toEqual([64, expect.stringContaining(`${flags[0]} does not go with --all`)]);
      expect(rest.received).toEqual([]);
    },
  );

  it('sends what selects the orders, and says that nothing matches', async () => {
    const answer = { open: false, inForce: false, orders: [], places: [], unread: [], declined: [] };
    const rest = await restServer((_request, response) => json(response, 200, answer));
    const flags = ['--symbol', 'AAPL', '--side', 'buy', '--principal', 'robot', '--ref', 'grid-7'];
    const { code, out } = await runAgainst(rest.url, [
      'cancel',
      '--all',
      '--account',
      'A',
      '--reason',
      'stop',
      ...flags,
    ]);
    expect([code, out]).toEqual([0, 'No open order matches.\n']);
    const only = { symbol: 'AAPL', side: 'buy', principal: 'robot', reference: 'grid-7' };
    expect(JSON.parse(rest.received[0]?.body ?? '')).toEqual({ reason: 'stop', ...only });
  });

  it.each([
    [['cancel', '--all', '--reason', 'stop', '--side', 'BUY_TO_COVER'], 'Allowed choices are buy, sell'],
    [['cancel', 'o-1', '--account', 'A', '--symbol', 'AAPL'], '--symbol goes with --all only'],
  ])('refuses %j', async (argv, why) => {
    const { code, err } = await runAgainst('http://127.0.0.1:1', argv);
    expect([code, err]).toEqual([64, expect.stringContaining(why)]);
  });

  it('that is cut off ends with 75 and the line that may be given again', async () => {
    const rest = await restServer((_request, response) => void response.destroy());
    const { code, err } = await runAgainst(rest.url, [
      'cancel',
      '--all',
      '--reason',
      'stop',
      '--idempotency-key',
      'k-7',
    ]);
    expect([code, err]).toEqual([75, expect.stringContaining('--idempotency-key k-7')]);
  });

  it('waits as long as the service does, which answers after the last order', async () => {
    const clock = new VirtualClock();
    const io = { ...cliIo(), clock, fetch: () => new Promise<never>(() => {}) };
    const ended = runProgram(io, ['cancel', '--all', '--reason', 'stop', '--idempotency-key', 'k-7']);
    await clock.advance(180_000);
    expect(io.err()).toBe('');
    await clock.advance(60_000);
    await ended;
    expect([io.code(), io.err()]).toEqual([75, expect.stringContaining('--idempotency-key k-7')]);
  });

  it('that is declined as a whole has sent nothing, and may be given later', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 503, problemBody(503, 'NOT_LEADER', 'a standby')),
    );
    const { code, err } = await runAgainst(rest.url, [
      'cancel',
      '--all',
      '--reason',
      'stop',
      '--idempotency-key',
      'k-7',
    ]);
    expect([code, err]).toEqual([69, 'tidemark: a standby (NOT_LEADER)\n  The same line may succeed later.\n']);
  });
});

describe('issue: One cancel of an order never seen before made `tidemark command ls` list nothing at all.', () => {
  const unseen = {
    revision: 0,
    sourceEpoch: 0,
    status: 'unknown',
    working: { quantity: '0' },
    cumQty: '0',
    pendingAction: 'none',
  } as const;

  // Found by hand: the cancel of an order that was never seen had the baseline 0, which REST told
  // and its own schema forbade. One such command, and `tidemark command ls` showed none.
  it('a cancel of an order that was never seen is told as the schema says, and listed with the others', async () => {
    const rig = await startRest();
    const request = { kind: 'cancel', stream: 'account', accountId: 'ACC-1', orderId: 'nobody-knows' } as const;
    rig.reads.commands = [
      {
        command: sampleCommand({ request, state: 'refused', orderId: 'nobody-knows', baseline: unseen }),
        evidence: [],
      },
    ];
    const { body } = await ask(`${rig.address}/v1/commands`);
    const [told] = body['items'] as unknown[];
    expect(commandAnswer.safeParse(told)).toMatchObject({ success: true, data: { baseline: { revision: 0 } } });
    const io = cliIo({ TIDEMARK_URL: rig.address });
    await runProgram(io, ['command', 'ls']);
    await rig.server.drain(new AbortController().signal);
    expect([io.code(), io.err()]).toEqual([0, '']);
    expect(io.out()).toContain('nobody-knows');
  });
});
