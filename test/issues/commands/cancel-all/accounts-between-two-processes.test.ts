// What a user saw: A cancel-all left out an account whose shard moved at that moment, as NOT_LEADER.

import { afterEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../../../src/service/commands/answer.ts';
import type { CancelAll } from '../../../../src/service/commands/commands.ts';
import type { OtherInstance } from '../../../../src/service/fleet/other-instances.ts';
import { sampleApproval, sampleCommand } from '../../../support/commands/scripted-commands.ts';
import { ask, startRest } from '../../../support/rest/rest-rig.ts';
import { accountBody } from '../../../support/rest/route-samples.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

type Rig = Awaited<ReturnType<typeof startRest>>;
type Done = CancelAll;

const notLeader = { kind: 'declined', code: 'NOT_LEADER', message: 'another process holds the shard' } as const;
const draining = { kind: 'declined', code: 'DRAINING', message: 'the process ends' } as const;
const nothing = { kind: 'done', replayed: false, inForce: false, open: false } as const;
const cancelled = { kind: 'journaled', command: sampleCommand(), replayed: false } as const;

/** What a process says that holds the shards of these accounts, and of no others. */
function holding(mine: readonly string[], others: readonly string[]): Done {
  return {
    ...{ ...nothing, places: [], unread: [] },
    orders: mine.map((accountId) => ({ accountId, stream: 'account', orderId: `o-${accountId}`, result: cancelled })),
    declined: others.map((accountId) => ({ ...notLeader, accountId })),
  };
}

/** Two instances that ask again for five seconds, as long as a lease is, and not longer. */
async function startTwo(againMs = 5_000) {
  const addresses = new Map<string, string>();
  /** Whom an instance takes for the holder of every account. */
  const holder: { of: (asker: string) => string | undefined } = { of: () => undefined };
  const start = async (instance: string): Promise<Rig> => {
    const found = (name: string): OtherInstance => ({ instance: name, address: addresses.get(name) ?? '' });
    const all = () => [...addresses.keys()].filter((name) => name !== instance).map(found);
    const holderOf = () => {
      const name = holder.of(instance);
      return name === undefined || name === instance ? undefined : found(name);
    };
    const rig = await startRest({ instance, others: { all, holderOf }, forwards: { againMs } });
    stops.push(() => rig.server.drain(new AbortController().signal));
    addresses.set(instance, rig.address);
    return rig;
  };
  return { one: await start('one'), two: await start('two'), holder };
}

const post = ({ address }: Rig, path: string, body: object | undefined) =>
  ask(`${address}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'key-1' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

const word = { reason: 'a reason' };

/** These answers one after the other, the last one for good. */
function inTurn<T>(...answers: readonly T[]): () => T {
  let at = -1;
  return () => {
    at = Math.min(at + 1, answers.length - 1);
    return answers[at] as T;
  };
}

describe('a cancel-all of all accounts while a shard moves', () => {
  it('is asked again until the account has a process, under its key', async () => {
    const { one, two } = await startTwo();
    one.commands.cancelAllAnswer = () => holding(['A'], ['B', 'C']);
    two.commands.cancelAllAnswer = inTurn(holding(['B'], ['A', 'C']), holding(['B', 'C'], ['A']));
    const { body, headers } = await post(one, '/v1/cancel-all', word);
    expect(body).toMatchObject({ open: false, declined: [] });
    expect(body['orders']).toHaveLength(3);
    expect(headers.get('idempotent-replayed')).toBe(null);
    for (const { commands } of [one, two])
      expect(commands.words.map(({ word }) => word)).toMatchObject([
        { idempotencyKey: 'key-1' },
        { idempotencyKey: 'key-1' },
      ]);
  });

  it.each([notLeader, draining])('is asked again where neither did anything: $code', async (decline) => {
    const { one, two } = await startTwo();
    one.commands.cancelAllAnswer = () => decline;
    two.commands.cancelAllAnswer = inTurn<Answer<CancelAll>>(decline, holding(['A'], []));
    expect((await post(one, '/v1/cancel-all', word)).body).toMatchObject({ open: false, orders: [{ accountId: 'A' }] });
  });

  it('names the account, and that something may be open, where none comes in time', async () => {
    const { one, two } = await startTwo(600);
    for (const { commands } of [one, two]) commands.cancelAllAnswer = () => holding([], ['C']);
    const { status, body } = await post(one, '/v1/cancel-all', word);
    expect([status, body['open'], body['declined']]).toMatchObject([200, true, [{ accountId: 'C' }]]);
    expect(one.commands.words).toHaveLength(3);
  });

  it('asks its own part once where another instance asked for it', async () => {
    const { two } = await startTwo();
    two.commands.cancelAllAnswer = () => holding([], ['C']);
    await ask(`${two.address}/v1/cancel-all`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'key-1', 'tidemark-forwarded': 'one' },
      body: JSON.stringify(word),
    });
    expect(two.commands.words).toHaveLength(1);
  });
});

/** Requests about one account: orders, and those that stop its trading, or settle something. */
const requests: Record<string, readonly [path: string, body: object | undefined]> = {
  place: ['/v1/orders', accountBody],
  preview: ['/v1/orders/preview', accountBody],
  'cancel-all': ['/v1/accounts/ACC-1/cancel-all', word],
  'cancel-after': ['/v1/cancel-after', { seconds: 30, accountIds: ['ACC-1'] }],
  resume: ['/v1/accounts/ACC-1/resume', word],
  reconcile: ['/v1/reconcile?accountId=ACC-1', undefined],
  approval: [`/v1/approvals/${sampleApproval.approvalId}/approve`, word],
};

describe('a request about one account while its shard moves', () => {
  it.each(Object.entries(requests))('is asked again until it has a process: %s', async (_what, [path, body]) => {
    const { one, two, holder } = await startTwo();
    const asked = { one: 0, two: 0 };
    const report = { unresolved: 0, probes: 0, settled: [], plan: [] };
    for (const name of ['one', 'two'] as const) {
      // The first has given the shard away; the second takes it at its next look.
      const moving = <T>(done: T) => {
        asked[name] += 1;
        if (asked.one === 2) holder.of = () => 'two';
        return name === 'two' && asked.two > 1 ? done : notLeader;
      };
      const { commands } = { one, two }[name];
      const previewed = commands.previewAnswer;
      commands.submitAnswer = () => moving(cancelled);
      commands.preview = async () => moving(previewed);
      commands.cancelAllAnswer = () => moving(holding(['ACC-1'], []));
      commands.cancelAfterAnswer = (of) => moving({ ...of, kind: 'done', declined: [] });
      commands.resume = async () => moving({ kind: 'done', halts: [] } as const);
      commands.approve = async () => moving({ kind: 'done', approval: sampleApproval } as const);
      commands.reconcile = async () => moving({ kind: 'done', report } as const);
    }
    const { status } = await post(one, path, body);
    expect([status, asked.two]).toEqual([200, 2]);
  });

  it('goes no further than to one other, where each takes the other for the holder', async () => {
    const { one, two, holder } = await startTwo(0);
    holder.of = (asker) => (asker === 'one' ? 'two' : 'one');
    for (const { commands } of [one, two]) commands.submitAnswer = () => notLeader;
    expect(await post(one, '/v1/orders', accountBody)).toMatchObject({ status: 503, body: { code: 'NOT_LEADER' } });
    expect([one, two].map(({ commands }) => commands.submissions.length)).toEqual([1, 1]);
  });
});
