import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { problemAnswer } from '../../../src/contract/rest-answers.ts';
import { type ProblemCode, statusOf } from '../../../src/service/rest/problem-codes.ts';
import type { Route } from '../../../src/service/rest/route.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import { sampleCommand } from '../../support/commands/scripted-commands.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';
import { sampleRequest } from '../../support/rest/route-samples.ts';

let rig: Awaited<ReturnType<typeof startRest>>;

const reason = { code: 'TIMEOUT', message: 'the platform did not answer', status: 504 };
const full = sampleCommand({
  state: 'unknown',
  reason,
  callerRef: 'mine',
  supersedes: '11111111-1111-4111-8111-111111111111',
  orderId: 'ord-1',
  resolvedAtMs: 1_700_000_001_000,
  seenPendingAt: { revision: 4, sourceVersion: 9_007_199_254_740_993n },
  baseline: {
    revision: 3,
    sourceEpoch: 0,
    sourceVersion: 12n,
    status: 'new',
    working: { quantity: '10', price: '187.5' },
    cumQty: '0',
    pendingAction: 'none',
  },
});

beforeAll(async () => {
  rig = await startRest();
  rig.reads.addUpdate();
  rig.reads.commands = [
    {
      command: full,
      evidence: [{ number: 1, kind: 'read', code: 'missed', detail: { complete: true }, attemptId: 'tm-1', atMs: 5 }],
    },
  ];
  rig.reads.accountRows = [{ stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 1 }];
  const sums = { openOrders: 1, openQuantity: '60', unresolvedCommands: 1, unresolvedQuantity: '10.5' };
  rig.reads.exposureRows = [
    { accountId: 'ACC-1', stream: 'prediction', symbol: 'FED', outcome: 'YES', side: 'buy', ...sums },
  ];
  const halt = { haltId: 'h-1', cause: 'operator', reason: 'a', by: 'b', sinceMs: 0 };
  rig.commands.inForce = [
    { ...halt, scope: { kind: 'service' } },
    { ...halt, scope: { kind: 'account', accountId: 'ACC-1' } },
  ];
  rig.commands.haltAnswer = { kind: 'done', halts: rig.commands.inForce };
  rig.commands.cancelAllAnswer = () => ({
    kind: 'done',
    replayed: false,
    inForce: true,
    open: true,
    places: [
      { accountId: 'ACC-1', stream: 'account', commandId: full.commandId, command: undefined, result: undefined },
      {
        accountId: 'ACC-1',
        stream: 'account',
        commandId: full.commandId,
        command: full,
        result: { kind: 'journaled', command: full, replayed: false },
      },
    ],
    unread: [{ accountId: 'ACC-1', stream: 'prediction', code: 'NOT_LIVE', message: 'not live' }],
    orders: [
      { accountId: 'ACC-1', stream: 'account', orderId: 'o-0', result: undefined },
      {
        accountId: 'ACC-1',
        stream: 'account',
        orderId: 'o-1',
        result: { kind: 'journaled', command: full, replayed: false },
      },
      {
        accountId: 'ACC-1',
        stream: 'account',
        orderId: 'o-2',
        result: { kind: 'declined', code: 'ORDER_CLOSED', message: 'over' },
      },
    ],
    declined: [{ accountId: 'ACC-2', code: 'ACCOUNT_NOT_TRADED', message: 'not listed' }],
  });
  rig.commands.probeAnswer = {
    kind: 'done',
    report: {
      unresolved: 1,
      probes: 1,
      resolved: [{ commandId: full.commandId, result: 'applied' }],
      plan: [{ accountId: 'ACC-1', stream: 'account', read: 'account', commands: [full.commandId] }],
    },
  };
});

afterAll(() => rig.server.drain(new AbortController().signal));

const jsonRoutes = routeTable.filter(({ answers }) =>
  Object.values(answers).some(({ schema }) => schema !== undefined),
);

/** What the table says that this route answers. */
function shapeOf({ answers }: Route, status: number) {
  const shape = answers[status]?.schema;
  if (shape === undefined) throw new Error(`the table has no answer ${status}`);
  return shape;
}

describe('every answer', () => {
  it.each(jsonRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'of %s has its shape',
    async (_name, route) => {
      const { path, init } = sampleRequest(route);
      const { status, headers, body } = await ask(`${rig.address}${path}`, init);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      const shape = shapeOf(route, status);
      expect(shape.safeParse(body).error?.issues).toBeUndefined();
      // Nothing is told that the documents do not name.
      expect(shape.parse(body)).toEqual(body);
    },
  );

  it('that is a problem has its shape', async () => {
    for (const path of ['/nothing', '/v1/orders?limit=x', '/v1/commands/x', '/v1/orders/account/none']) {
      const { body } = await ask(`${rig.address}${path}`);
      expect(problemAnswer.strict().safeParse(body).error?.issues).toBeUndefined();
    }
  });

  it('that is a problem has a code which the documents name for its route', async () => {
    for (const route of routeTable.filter(({ headers }) => headers?.includes('Idempotency-Key'))) {
      const { path, init } = sampleRequest(route, { headers: { 'idempotency-key': '' } });
      const { status, body } = await ask(`${rig.address}${path}`, init);
      expect(route.problems).toContain(body['code']);
      expect(statusOf(body['code'] as ProblemCode)).toBe(status);
    }
  });

  it('carries the id of its request and the headers that keep browsers out', async () => {
    for (const path of ['/v1/orders', '/nothing', '/openapi.json', '/v1/orders/account/%zz']) {
      const { headers } = await ask(`${rig.address}${path}`, { headers: { 'x-request-id': 'mine-1' } });
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-request-id': 'mine-1',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
      });
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  it('has an id of its own where the caller gave none that can be logged', async () => {
    const given = await ask(`${rig.address}/v1/orders`, { headers: { 'x-request-id': 'a b"c' } });
    expect(given.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const { headers, body } = await ask(`${rig.address}/nothing`);
    expect(body['requestId']).toBe(headers.get('x-request-id'));
  });
});
