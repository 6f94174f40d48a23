import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { type StatusDocument, statusAnswer } from '../../../../src/contract/status-answer.ts';
import type { CancelAll } from '../../../../src/service/commands/commands.ts';
import type { OtherInstance } from '../../../../src/service/fleet/other-instances.ts';
import { commandId, sampleCommand } from '../../../support/commands/scripted-commands.ts';
import { ask, startRest } from '../../../support/rest/rest-rig.ts';
import { followedAccount, sampledMs, sampleSource } from '../../../support/rest/status-parts.ts';
import { scriptedServer } from '../../../support/servers/http-server.ts';

type Rig = Awaited<ReturnType<typeof startRest>>;
type Done = CancelAll;

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const notLeader = { kind: 'declined', code: 'NOT_LEADER', message: 'another process holds the shard' } as const;
const nothing = {
  replayed: false,
  inForce: false,
  open: false,
  orders: [],
  places: [],
  unread: [],
  declined: [],
} as const;
const done = (over: Partial<Done> = {}): Done => ({ kind: 'done', ...nothing, ...over });
const elsewhere = (accountId: string) => ({
  accountId,
  code: 'NOT_LEADER' as const,
  message: 'another process holds the shard',
});
const cancelled = { kind: 'journaled', command: sampleCommand(), replayed: false } as const;
const orderOf = (accountId: string, orderId: string, result: Done['orders'][number]['result'] = cancelled) => ({
  ...{ accountId, stream: 'account' as const, orderId, result },
});

/** Three instances; `holders` says which of them has which account. */
async function startFleet(holders: Readonly<Record<string, 'one' | 'two' | 'three'>> = {}, againMs = 0) {
  const addresses = new Map<string, string>();
  const start = async (instance: string): Promise<Rig> => {
    const found = (name: string): OtherInstance => ({ instance: name, address: addresses.get(name) ?? '' });
    const all = () => [...addresses.keys()].filter((name) => name !== instance).map(found);
    const holderOf = (accountId: string) => {
      const name = holders[accountId];
      return name === undefined || name === instance ? undefined : found(name);
    };
    const rig = await startRest({ instance, others: { all, holderOf }, forwards: { againMs } });
    stops.push(() => rig.server.drain(new AbortController().signal));
    addresses.set(instance, rig.address);
    return rig;
  };
  const [one, two, three] = [await start('one'), await start('two'), await start('three')];
  return { one, two, three, addresses };
}

const headers = { 'content-type': 'application/json', 'idempotency-key': 'key-1' };
const cancelAll = ({ address }: Rig) =>
  ask(`${address}/v1/cancel-all`, { method: 'POST', headers, body: JSON.stringify({ reason: 'a reason' }) });
const probe = ({ address }: Rig) => ask(`${address}/v1/probe`, { method: 'POST' });

describe('a cancel-all of all accounts', () => {
  it('is asked of every instance once, under its key, and answered as one', async () => {
    const { one, two, three } = await startFleet();
    one.commands.cancelAllAnswer = () =>
      done({
        orders: [orderOf('ACC-1', 'o-1')],
        declined: [elsewhere('ACC-2'), elsewhere('ACC-3')],
      });
    two.commands.cancelAllAnswer = () =>
      done({
        inForce: true,
        orders: [orderOf('ACC-2', 'o-2')],
        declined: [elsewhere('ACC-1'), elsewhere('ACC-3')],
      });
    three.commands.cancelAllAnswer = () =>
      done({
        ...{ declined: [elsewhere('ACC-1'), elsewhere('ACC-2')] },
        places: [{ accountId: 'ACC-3', stream: 'account', commandId, command: undefined, result: undefined }],
      });
    const { status, body } = await cancelAll(one);
    expect([status, body['open'], body['inForce'], body['declined'], body['unanswered']]).toEqual([
      200,
      false,
      true,
      [],
      undefined,
    ]);
    expect(body).toMatchObject({ orders: [{ orderId: 'o-1' }, { orderId: 'o-2' }], places: [{ accountId: 'ACC-3' }] });
    for (const { commands } of [one, two, three])
      expect(commands.words.map(({ word }) => word)).toMatchObject([{ idempotencyKey: 'key-1', reason: 'a reason' }]);
  });

  it('names an account that no instance holds, and says that orders may be open there', async () => {
    const { one, two, three } = await startFleet();
    for (const { commands } of [one, two]) commands.cancelAllAnswer = () => done({ declined: [elsewhere('ACC-9')] });
    three.commands.cancelAllAnswer = () => notLeader;
    const { body } = await cancelAll(one);
    expect([body['open'], body['declined']]).toMatchObject([true, [{ accountId: 'ACC-9', code: 'NOT_LEADER' }]]);
    expect(body).not.toHaveProperty('unanswered');
  });

  it('shows an order once where two instances know it, with its result', async () => {
    const { one, two } = await startFleet();
    one.commands.cancelAllAnswer = () =>
      done({ orders: [{ accountId: 'ACC-1', stream: 'account', orderId: 'o-1', result: undefined }] });
    two.commands.cancelAllAnswer = () => done({ orders: [orderOf('ACC-1', 'o-1')] });
    expect((await cancelAll(one)).body['orders']).toMatchObject([{ orderId: 'o-1', commandId, result: 'accepted' }]);
  });

  it('names each instance that gave no answer, and why', async () => {
    const { one, two, three, addresses } = await startFleet();
    const torn = await scriptedServer((_request, response) => void response.socket?.destroy());
    stops.push(() => torn.close());
    addresses.set('three', torn.url);
    two.commands.cancelAllAnswer = () => ({
      kind: 'declined',
      code: 'COMMANDS_OFF',
      message: 'commands are turned off',
    });
    const { status, body } = await cancelAll(one);
    expect([status, body['open'], body['unanswered']]).toEqual([
      200,
      true,
      [
        { instance: 'two', code: 'COMMANDS_OFF' },
        { instance: 'three', code: 'FORWARD_UNANSWERED' },
      ],
    ]);
    expect(three.commands.words).toEqual([]);
  });

  it('is done by the others where this instance holds nothing', async () => {
    const { one, two, three } = await startFleet();
    for (const { commands } of [one, three]) commands.cancelAllAnswer = () => notLeader;
    two.commands.cancelAllAnswer = () => done({ orders: [orderOf('ACC-2', 'o-2')] });
    expect((await cancelAll(one)).body).toMatchObject({ open: false, orders: [{ orderId: 'o-2' }], declined: [] });
    two.commands.cancelAllAnswer = () => notLeader;
    expect([await cancelAll(one)]).toMatchObject([{ status: 503, body: { code: 'NOT_LEADER' } }]);
  });

  it('is not asked of others where this instance refuses it as such', async () => {
    const { one, two } = await startFleet();
    one.commands.cancelAllAnswer = () => ({
      kind: 'declined',
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: 'the key is known',
    });
    expect((await cancelAll(one)).status).toBe(422);
    expect(two.commands.words).toEqual([]);
  });
});

describe('a probe of all accounts', () => {
  it('adds up what each instance found', async () => {
    const { one, two, three } = await startFleet();
    const report = { unresolved: 2, probes: 1, resolved: [{ commandId, result: 'applied' }], plan: [] } as const;
    for (const { commands } of [one, three]) commands.probeAnswer = { kind: 'done', report };
    two.commands.probeAnswer = notLeader;
    const { status, body } = await probe(one);
    expect([status, body]).toEqual([
      200,
      { unresolved: 4, probes: 2, resolved: [...report.resolved, ...report.resolved], plan: [] },
    ]);
    expect(two.commands.probed).toEqual([{ dryRun: false }]);
  });
});

describe('a dead man’s switch for accounts of several instances', () => {
  const arm = ({ address }: Rig, accountIds: readonly string[]) =>
    ask(`${address}/v1/cancel-after`, { method: 'POST', headers, body: JSON.stringify({ seconds: 30, accountIds }) });
  const accountIds = ['ACC-1', 'ACC-2', 'ACC-3'];

  /** Each sets those of the accounts that it holds, and declines the others. */
  async function startArmed(againMs?: number) {
    const fleet = await startFleet({ 'ACC-1': 'one', 'ACC-2': 'two', 'ACC-3': 'three' }, againMs);
    const { one, two, three } = fleet;
    for (const [{ commands }, own, firesAtMs] of [
      [one, 'ACC-1', 1_700_000_030_000] as const,
      [two, 'ACC-2', 1_700_000_029_000] as const,
      [three, 'ACC-3', 1_700_000_031_000] as const,
    ])
      commands.cancelAfterAnswer = (asked) => ({
        ...{ kind: 'done', firesAtMs, accountIds: asked.accountIds.filter((id) => id === own) },
        declined: asked.accountIds.filter((id) => id !== own).map(elsewhere),
      });
    return fleet;
  }

  it('is set at the holder of each, and fires by the first', async () => {
    const { one, two, three } = await startArmed();
    const { status, body } = await arm(one, accountIds);
    expect([status, body]).toEqual([200, { accountIds, firesAt: '2023-11-14T22:13:49.000Z' }]);
    expect(two.commands.words).toMatchObject([{ on: { accountIds, afterMs: 30_000, implied: false } }]);
    expect((await arm(one, ['ACC-1', 'ACC-2'])).body['accountIds']).toEqual(['ACC-1', 'ACC-2']);
    expect(three.commands.words).toHaveLength(1);
  });

  it('is answered for its own part alone, where another instance asks', async () => {
    const { two } = await startArmed();
    const asked = await ask(`${two.address}/v1/cancel-after`, {
      method: 'POST',
      headers: { ...headers, 'tidemark-forwarded': 'one' },
      body: JSON.stringify({ seconds: 30, accountIds }),
    });
    expect([asked.status, asked.body]).toMatchObject([
      200,
      { accountIds: ['ACC-2'], declined: [{ accountId: 'ACC-1' }, { accountId: 'ACC-3' }] },
    ]);
  });

  it('leaves out accounts without a follower where the caller named none, at each holder', async () => {
    const { one, two, three } = await startArmed();
    for (const { reads } of [one, two, three])
      reads.accountRows = accountIds.map((accountId) => ({
        ...{ stream: 'account', accountId, isSim: true, openOrders: 0 },
      }));
    two.commands.cancelAfterAnswer = () => ({
      ...{ kind: 'done', accountIds: [], declined: [elsewhere('ACC-1'), elsewhere('ACC-3')] },
    });
    const post = (rig: Rig) =>
      ask(`${rig.address}/v1/cancel-after`, { method: 'POST', headers, body: '{"seconds":30}' });
    const { status, body } = await post(one);
    expect([status, body['accountIds']]).toEqual([200, ['ACC-1', 'ACC-3']]);
    expect(two.commands.words).toMatchObject([{ on: { accountIds, implied: true } }]);
    for (const { commands } of [one, two, three])
      commands.cancelAfterAnswer = () => ({ kind: 'done', accountIds: [], declined: [] });
    expect(await post(one)).toMatchObject({ status: 404, body: { code: 'ACCOUNT_NOT_FOUND' } });
  });

  it('is answered as it was by the one that declined, at once', async () => {
    const { one, two } = await startArmed(60_000);
    two.commands.cancelAfterAnswer = () => ({
      kind: 'declined',
      code: 'SOURCE_NOT_LIVE',
      message: 'the stream is not live',
    });
    expect(await arm(one, accountIds)).toMatchObject({ status: 503, body: { code: 'SOURCE_NOT_LIVE' } });
  });

  it('is declined where an account has no holder that can be asked', async () => {
    const { one } = await startArmed();
    one.commands.cancelAfterAnswer = () => notLeader;
    expect(await arm(one, ['ACC-2', 'ACC-9'])).toMatchObject({ status: 503, body: { code: 'NOT_LEADER' } });
    expect(await arm(one, ['ACC-9'])).toMatchObject({ status: 503, body: { code: 'NOT_LEADER' } });
  });

  it('may have been set where the answer of a holder was lost', async () => {
    const { one, addresses } = await startArmed();
    const torn = await scriptedServer((_request, response) => void response.socket?.destroy());
    stops.push(() => torn.close());
    addresses.set('three', torn.url);
    expect(await arm(one, accountIds)).toMatchObject({ status: 503, body: { code: 'FORWARD_UNANSWERED' } });
  });
});

describe('the accounts of all instances', () => {
  const rows = ['ACC-1', 'ACC-2', 'ACC-3'].map(
    (accountId) => ({ stream: 'account', accountId, isSim: true, openOrders: 1 }) as const,
  );
  const live = (accountId: string) =>
    ({ stream: 'account', accountId, state: 'live', sinceMs: 0, silentLosses: 0, beside: [] }) as const;
  const fleetOf = async () => {
    const fleet = await startFleet({ 'ACC-1': 'one', 'ACC-2': 'two', 'ACC-3': 'three' });
    for (const [rig, accountId] of [
      [fleet.one, 'ACC-1'] as const,
      [fleet.two, 'ACC-2'] as const,
      [fleet.three, 'ACC-3'] as const,
    ]) {
      rig.reads.accountRows = [...rows];
      rig.followed.accounts = [live(accountId)];
    }
    return fleet;
  };
  const states = async ({ address }: Rig) => {
    const { body } = await ask(`${address}/v1/accounts`);
    return (body['items'] as { accountId: string; state: string; instance?: string }[]).map(
      ({ accountId, state, instance }) => [accountId, state, instance].filter((each) => each !== undefined).join(' '),
    );
  };

  it('have their states from the one that follows them', async () => {
    const { one, two } = await fleetOf();
    expect(await states(one)).toEqual(['ACC-1 live', 'ACC-2 live', 'ACC-3 live']);
    two.followed.accounts = [];
    expect(await states(one)).toEqual(['ACC-1 live', 'ACC-2 not_followed', 'ACC-3 live']);
  });

  it('are elsewhere where that one gives no answer', async () => {
    const { one, addresses } = await fleetOf();
    addresses.set('three', 'http://127.0.0.1:1');
    expect(await states(one)).toEqual(['ACC-1 live', 'ACC-2 live', 'ACC-3 elsewhere three']);
  });
});

describe('the state of the service', () => {
  const stateOf = async ({ address }: Pick<Rig, 'address'>, of = {}) =>
    (await ask(`${address}/v1/status`, { headers: of })).body as StatusDocument;
  const well = { reading: {}, unresolvedIn: [], halts: [], deadLetters: [] };

  async function fleetOf() {
    const fleet = await startFleet();
    for (const [rig, accountId] of [
      [fleet.one, 'ACC-1'] as const,
      [fleet.two, 'ACC-2'] as const,
      [fleet.three, 'ACC-3'] as const,
    ]) {
      rig.service.sample = { ...well, sources: [sampleSource([followedAccount(accountId)])] };
    }
    return fleet;
  }

  it('is that of all instances, with the part of each', async () => {
    const { one, two, three } = await fleetOf();
    two.service.sample = {
      ...two.service.sample,
      unresolvedIn: ['ACC-2', 'ACC-2'],
      reading: {
        updatesTopic: { rows: 7, oldestMs: sampledMs - 40_000 },
        ingest: { rows: 2, oldestMs: sampledMs - 1_000 },
      },
    };
    three.service.sample = {
      ...three.service.sample,
      reading: { updatesTopic: { rows: 3, oldestMs: sampledMs - 31_000 } },
    };
    const alone = await stateOf(one, { 'tidemark-forwarded': 'another' });
    expect([alone.instances, alone.updatesPerSecond, alone.trust.trusted]).toEqual([undefined, 12.5, true]);
    const status = await stateOf(one);
    expect(statusAnswer.parse(status)).toEqual(status);
    expect(status).toMatchObject({
      updatesPerSecond: 37.5,
      lag: { relayRows: 10, relayOldest: new Date(sampledMs - 40_000).toISOString(), ingestQueued: 2 },
      commands: { unresolved: 2 },
      lane: alone.lane,
      sources: alone.sources,
    });
    expect(status.accounts.map(({ account }) => account)).toEqual(['ACC-1', 'ACC-2', 'ACC-3']);
    expect(status.instances).toMatchObject([
      { instance: alone.lane.instance, trusted: true, relayRows: 0 },
      { instance: 'two', trusted: false, relayRows: 7, unresolved: 2 },
      { instance: 'three', trusted: false, relayRows: 3, unresolved: 0 },
    ]);
    expect(status.unanswered).toBeUndefined();
    expect(status.trust.doubts.map(({ name }) => name)).toEqual(['rows_unsent', 'commands_unresolved']);
    const [unsent] = status.trust.doubts;
    expect(unsent?.detail).toMatch(/^two: .+; three: /);
    expect(unsent?.since).toBe(new Date(sampledMs - 40_000).toISOString());
  });

  it('names a doubt about what is in the database once', async () => {
    const fleet = await fleetOf();
    const halt = {
      haltId: 'h',
      scope: { kind: 'service' as const },
      cause: 'operator',
      reason: 'r',
      by: 'b',
      sinceMs: sampledMs,
    };
    for (const rig of [fleet.one, fleet.two, fleet.three])
      rig.service.sample = { ...rig.service.sample, halts: [halt] };
    const { trust, halts } = await stateOf(fleet.one);
    expect(trust.doubts.map(({ name }) => name)).toEqual(['halted']);
    expect(trust.doubts[0]?.detail).not.toContain('two');
    expect(halts).toHaveLength(1);
  });

  it('names an instance that gives no answer, and one that is too slow or not understood', async () => {
    const { one, addresses } = await fleetOf();
    const silent = await scriptedServer(() => {});
    const other = await scriptedServer(({ headers }, response) => {
      response.writeHead(200, { 'x-request-id': String(headers['x-request-id']) }).end('{}');
    });
    stops.push(
      () => silent.close(),
      () => other.close(),
    );
    addresses.set('two', silent.url);
    addresses.set('three', other.url);
    addresses.set('four', 'http://127.0.0.1:1');
    const { unanswered, instances, trust, updatesPerSecond } = await stateOf(one);
    expect(unanswered).toEqual([
      { instance: 'two', code: 'FORWARD_UNANSWERED' },
      { instance: 'three', code: 'NOT_UNDERSTOOD' },
      { instance: 'four', code: 'NOT_REACHED' },
    ]);
    expect([instances?.length, updatesPerSecond, trust.trusted]).toEqual([1, 12.5, false]);
    expect(trust.doubts).toMatchObject([{ name: 'instances_unanswered', runbook: 'TargetDown', link: '/v1/fleet' }]);
  });
});

describe("issue: Two machines advertised 127.0.0.1, and each took its own answers for the other's.", () => {
  async function started() {
    const other = { instance: 'two', address: '' };
    const rig = await startRest({ instance: 'one', others: { all: () => [other], holderOf: () => other } });
    onTestFinished(async () => void (await rig.server.drain(new AbortController().signal)));
    other.address = rig.address;
    return rig;
  }

  it('the other one counts as one that gave no answer', async () => {
    const { address } = await started();
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' };
    const init = { method: 'POST', headers, body: '{"reason":"stop"}' };
    expect((await ask(`${address}/v1/cancel-all`, init)).body).toMatchObject({ unanswered: [{ instance: 'two' }] });
    expect((await ask(`${address}/v1/status`)).body).toMatchObject({ unanswered: [{ instance: 'two' }] });
  });
});
