import { describe, expect, it } from 'vitest';
import { postgresAccountRepairs } from '../../src/store/account-repairs.ts';
import { postgresAccountRegistry } from '../../src/store/fleet/account-registry.ts';
import { answerRepairs, openRepairs } from '../../src/store/repair-requests.ts';
import { unreadAccount } from '../support/commands/unread-account.ts';
import { askRepair } from '../support/orders/dead-letter-rows.ts';
import { storeRig } from '../support/orders/store-rig.ts';

const said = { askedBy: 'desk', reason: 'a fill is missing' };

async function repairsRig() {
  const rig = await storeRig();
  const registry = postgresAccountRegistry(rig.deps);
  for (const stream of ['account', 'prediction'] as const) await registry.save(unreadAccount('a', { stream }));
  return {
    ...rig,
    repairs: postgresAccountRepairs(rig.deps),
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

describe('a read of an account that a person asks for', () => {
  it('is one request for each stream, which its follower finds and answers', async () => {
    await using rig = await repairsRig();
    const sinceMs = Date.UTC(2026, 10, 1);
    const read = await rig.repairs.ask({ kind: 'read', accountId: 'a', ...said });
    const backfill = await rig.repairs.ask({
      kind: 'backfill',
      accountId: 'a',
      stream: 'prediction',
      sinceMs,
      ...said,
    });
    const requestedMs = expect.any(Number);
    expect(read).toEqual([
      { id: 1n, kind: 'read', stream: 'account', requestedMs, ...said },
      { id: 2n, kind: 'read', stream: 'prediction', requestedMs, ...said },
    ]);
    expect(backfill).toEqual([{ id: 3n, kind: 'backfill', stream: 'prediction', sinceMs, requestedMs, ...said }]);
    expect(await openRepairs(rig.pool)).toEqual([
      { ids: ['1'], kind: 'read', stream: 'account', accountId: 'a', alone: true },
      { ids: ['2'], kind: 'read', stream: 'prediction', accountId: 'a', alone: true },
      { ids: ['3'], kind: 'backfill', stream: 'prediction', accountId: 'a', alone: true, sinceMs },
    ]);
    await answerRepairs(rig.pool, ['2'], { result: 'done', detail: '3 orders read' });
    const cli = await askRepair(rig.pool, { kind: 'backfill', stream: 'account', accountId: 'a' });
    await askRepair(rig.pool, { kind: 'retry', stream: 'account', accountId: 'a', deadLetterId: 1n });
    const answer = { result: 'done', detail: '3 orders read', answeredMs: expect.any(Number) };
    expect(await rig.repairs.list('a', 3)).toEqual([
      { id: cli, kind: 'backfill', stream: 'account', requestedMs },
      { id: 3n, kind: 'backfill', stream: 'prediction', sinceMs, requestedMs, ...said },
      { id: 2n, kind: 'read', stream: 'prediction', requestedMs, ...said, answer },
    ]);
    expect(await rig.repairs.list('b', 3)).toEqual([]);
  });

  it('is not taken for an account that was never followed, nor beyond ten that are open', async () => {
    await using rig = await repairsRig();
    expect(await rig.repairs.ask({ kind: 'read', accountId: 'b', ...said })).toBe('not_followed');
    for (let i = 0; i < 5; i += 1)
      expect(await rig.repairs.ask({ kind: 'read', accountId: 'a', ...said })).toHaveLength(2);
    expect(await rig.repairs.ask({ kind: 'read', accountId: 'a', ...said })).toBe('too_many');
    await answerRepairs(rig.pool, ['1'], { result: 'failed', detail: 'no' });
    expect(await rig.repairs.ask({ kind: 'read', accountId: 'a', stream: 'account', ...said })).toHaveLength(1);
  });
});
