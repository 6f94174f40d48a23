// What a user saw: Halts, limits and ended tokens were lost with a database restore, without any warning.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom as random } from '../../../src/runtime/random.ts';
import { Halts } from '../../../src/service/commands/halts.ts';
import { decodeWitness, encodeWitness } from '../../../src/service/log/witness-writer.ts';
import { StaticTokens } from '../../../src/service/rest/auth/static-tokens.ts';
import { storeParts } from '../../../src/service/run/store-parts.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { PostgresLaneStore } from '../../../src/store/fleet/lane-store.ts';
import { PostgresPrincipalStore } from '../../../src/store/principals.ts';
import { accountScope, atMs, fence, halt, service } from '../../support/commands/journal-fixtures.ts';
import { journalRig } from '../../support/commands/journal-rig.ts';
import { silentLog as log } from '../../support/runs/silent-log.ts';

/** A process with a memory of what it has seen, and all that a restore can do to its database. */
async function processRig() {
  const rig = await journalRig();
  const lease = new Lease(clock, 3_000);
  const journal = createPostgresJournal({ pool: rig.pool, clock, random, witness: lease.witness });
  const lanes = new PostgresLaneStore({ pool: rig.pool, random });
  const [row] = await rig.rows<{ epoch: string; generation: number }>(
    'select epoch, generation from lanes where lane = 0',
  );
  lease.witness.sawLane({ generation: row?.generation ?? 1, epoch: BigInt(row?.epoch ?? 0), batch: 0n });
  return {
    ...{ rig, journal, lanes, lease },
    renew: async () => lanes.renew(0, await epochOf(), lease.witness.newest),
    /** Another process, with nothing but Kafka's witness of this one. */
    looksByKafka: () => {
      const { newest } = lease.witness;
      const witness = newest && decodeWitness(encodeWitness({ lane: 0, ...newest }));
      return lanes.noticeLoss(7, witness === undefined ? [] : [witness]);
    },
    /** As a restore does: without asking any trigger. */
    loses: (statement: string) =>
      rig.rows(`set session_replication_role = replica; ${statement}; reset session_replication_role`),
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };

  async function epochOf(): Promise<bigint> {
    const [now] = await rig.rows<{ epoch: string }>('select epoch from lanes where lane = 0');
    return BigInt(now?.epoch ?? 0);
  }
}

type ProcessRig = Awaited<ReturnType<typeof processRig>>;

const timers = (afterMs: number, ...accountIds: string[]) => ({
  ...{ principal: 'desk', afterMs },
  timers: accountIds.map((accountId) => ({ accountId, timerId: randomUUID() })),
});
const looked = { by: 'ann', reason: 'looked', atMs };
const tightened = { accountId: 'acct-1', by: 'ann', reason: 'too much', requestId: 'r-1', atMs, before: {} };

async function seenRevoked({ rig, lease }: ProcessRig): Promise<void> {
  const store = new PostgresPrincipalStore({ pool: rig.pool, clock, random, witness: lease.witness });
  await rig.rows(
    "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{}')",
  );
  await watching(store, async (look) => {
    await look();
    await store.end('desk', 1, 0);
    await look();
  });
}

/** With the tokens of a process that reads them when it is told to. */
async function watching(
  store: PostgresPrincipalStore,
  work: (look: () => Promise<void>, tokens: StaticTokens) => Promise<void>,
): Promise<void> {
  const tokens = new StaticTokens({ clock, log, store }, { configured: [], refreshEveryMs: 3_600_000 });
  // A look ends behind the timer of the next one, which is nobody's here.
  await work(() => tokens.start(), tokens).finally(() => tokens.stop());
}

const kinds: Record<string, { readonly action: (of: ProcessRig) => Promise<unknown>; readonly loss: string }> = {
  'a halt': {
    action: ({ journal }) => journal.raiseHalt(halt()),
    loss: 'delete from halts',
  },
  'a resume': {
    action: async ({ journal }) => {
      await journal.raiseHalt(halt());
      await journal.clearHalts(halt().scope, looked, fence);
    },
    loss: 'update halts set cleared_at = null, cleared_by = null, cleared_reason = null',
  },
  'a lowered limit': {
    action: ({ journal }) => journal.changeLimits({ ...tightened, bounds: { maxQuantity: '1' } }),
    loss: 'delete from limits; delete from audit_log',
  },
  'a limit whose line in the audit trail is another one now': {
    action: ({ journal }) => journal.changeLimits({ ...tightened, bounds: { maxQuantity: '1' } }),
    loss: "delete from limits; update audit_log set at = at + interval '1 second'",
  },
  'a cancel-all': {
    action: ({ journal }) =>
      journal.openCancelAll(
        {
          ...{
            cancelAllId: randomUUID(),
            principal: 'desk',
            idempotencyKey: 'k',
            requestHash: 'h',
            reason: 'out',
            onLanding: 'cancel',
          },
          ...{ selection: {}, orders: [], places: [], unread: [], declined: [], atMs },
        } as never,
        fence,
      ),
    loss: 'delete from cancel_alls',
  },
  'a timer of cancel-after': {
    action: ({ journal }) => journal.setCancelTimers(timers(60_000, 'acct-1', 'acct-2'), fence),
    loss: 'delete from cancel_timers',
  },
  'the renewal of a timer': {
    action: async ({ journal }) => {
      await journal.setCancelTimers(timers(60_000, 'acct-1'), fence);
      await journal.setCancelTimers(timers(10_000, 'acct-1'), fence);
    },
    loss: 'update cancel_timers set changes = 1',
  },
  'the revocation of a token': {
    action: seenRevoked,
    loss: 'update principal_tokens set expires_at = null',
  },
  'the end of a timer': {
    action: async ({ journal }) => {
      await journal.setCancelTimers(timers(60_000, 'acct-1', 'acct-2'), fence);
      await journal.setCancelTimers(timers(0, 'acct-1', 'acct-2'), fence);
    },
    loss: 'update cancel_timers set changes = 1, ended_at = null',
  },
};

it.each(Object.entries(kinds))(
  '%s that was acknowledged and lost begins a generation, whoever remembers it',
  async (_, { action, loss }) => {
    await using running = await processRig();
    await action(running);
    expect(await running.renew(), 'nothing is lost').toBe('renewed');
    expect(await running.looksByKafka(), 'nothing is lost').toBeUndefined();
    await running.loses(loss);
    expect(await running.renew(), 'the process that did it').toBe('forgotten');
    expect(await running.looksByKafka(), 'one that was started since').toEqual({ generation: 2 });
    const halts = await running.journal.activeHalts();
    expect(halts).toContainEqual(expect.objectContaining({ cause: 'commits_lost', scope: service }));
  },
);

it('an act is missed though many others followed before a renewal compared them', async () => {
  await using running = await processRig();
  const { journal, loses } = running;
  for (const n of Array(20).keys()) await journal.raiseHalt(halt({ haltId: `h-${n}`, scope: accountScope(`a-${n}`) }));
  await loses("delete from halts where halt_id = 'h-0'");
  expect(await running.renew()).toBe('forgotten');
});

it('an act of a build that knows more kinds is not missed', async () => {
  await using running = await processRig();
  running.lease.witness.saw(['of another build', 'x'] as never);
  expect(await running.renew()).toBe('renewed');
});

it('the parts of a service remember what their journal and their tokens have acknowledged', async () => {
  await using rig = await journalRig();
  const lease = new Lease(clock, 3_000);
  lease.witness.sawLane({ generation: 1, epoch: 1n, batch: 0n });
  const parts = storeParts({ clock, random, log, lease }, { url: rig.database.url, poolSize: 1 });
  try {
    const { haltId } = await parts.journal.raiseHalt(halt());
    parts.principals.sawEnd({ name: 'desk', number: 1, sha256: '', scopes: [], accounts: 'all' }, 7);
    expect(lease.witness.newest?.acts).toEqual([
      ['halt', haltId],
      ['token_end', 'desk', 1, 7],
    ]);
  } finally {
    await parts.close();
  }
});

it('a running process puts the halt back that its database lost, under its own id', async () => {
  await using running = await processRig();
  const { journal, loses } = running;
  const halts = new Halts({ journal, clock, random, log, metrics: createMetrics().commands });
  const kept = await halts.raise(service, 'operator', { by: 'ann', reason: 'kill switch' });
  await loses('delete from halts');
  await halts.refresh();
  expect(halts.blocking('acct-1'), 'meanwhile').toEqual(kept);
  await halts.keepDurable();
  expect(await journal.activeHalts()).toEqual([kept]);
});

it('a halt that is put back and was resumed stays resumed', async () => {
  await using running = await processRig();
  const { journal } = running;
  const halted = await journal.raiseHalt(halt());
  await journal.clearHalts(halted.scope, looked, fence);
  expect(await journal.raiseHalt(halted)).toMatchObject({ haltId: halted.haltId, clearedBy: 'ann' });
  expect(await journal.activeHalts()).toEqual([]);
  expect(await journal.activeHalts([halted.haltId, 'h-none'])).toMatchObject([
    { haltId: halted.haltId, clearedBy: 'ann' },
  ]);
});

it('a token whose revocation was lost stays refused by a running process, and is ended again', async () => {
  await using running = await processRig();
  const { rig, lease, loses } = running;
  const store = new PostgresPrincipalStore({ pool: rig.pool, clock, random, witness: lease.witness });
  await rig.rows(
    "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{}')",
  );
  await watching(store, async (look, tokens) => {
    await look();
    expect(tokens.find('t')).toMatchObject({ name: 'desk' });
    await store.end('desk', 1, 0);
    await look();
    await loses('update principal_tokens set expires_at = null');
    await look();
    expect(tokens.find('t')).toBe('expired');
    await expect.poll(() => store.active()).toEqual([]);
  });
});
