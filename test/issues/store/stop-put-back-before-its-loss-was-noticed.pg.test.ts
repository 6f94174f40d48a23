// What a user saw: The database had lost a halt; it came back, and no alert said that commits were lost.

import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom as random } from '../../../src/runtime/random.ts';
import { Halts } from '../../../src/service/commands/halts.ts';
import { StaticTokens } from '../../../src/service/rest/auth/static-tokens.ts';
import { storeParts } from '../../../src/service/run/store-parts.ts';
import { fence, newPlace, sending, service } from '../../support/commands/journal-fixtures.ts';
import { journalRig, takeShard } from '../../support/commands/journal-rig.ts';
import { silentLog as log } from '../../support/runs/silent-log.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Rig = Awaited<ReturnType<typeof journalRig>>;

/** A process on lane 0, which no renewal of it helps to notice anything. */
async function process(rig: Rig) {
  const lease = new Lease(clock, 3_000);
  const [row] = await rig.rows<{ epoch: string }>('select epoch from lanes where lane = 0');
  lease.witness.sawLane({ generation: 1, epoch: BigInt(row?.epoch ?? 0), batch: 0n });
  const noticed: number[] = [];
  const parts = storeParts(
    { clock, random, log, lease, onLoss: ({ generation }) => noticed.push(generation) },
    { url: rig.database.url, poolSize: 1 },
  );
  ends.push(() => parts.close());
  const { journal, lanes, noticeLost, principals } = parts;
  const halts = new Halts({ journal, clock, random, log, metrics: createMetrics().commands, noticeLost });
  return { halts, noticed, principals, journal, lanes, lease };
}

async function begin() {
  const rig = await journalRig();
  ends.push(async () => rig[Symbol.asyncDispose]());
  return {
    rig,
    loses: (what: string) =>
      rig.rows(`set session_replication_role = replica; ${what}; reset session_replication_role`),
    generation: async () => (await rig.rows<{ g: number }>('select max(generation) as g from lanes'))[0]?.g,
  };
}

const word = { by: 'ann', reason: 'kill switch' };

describe('a stop that the database has lost', () => {
  it('as a halt begins a generation when it is put back, whichever process is the first to do so', async () => {
    const { rig, loses, generation } = await begin();
    const [raising, reading] = [await process(rig), await process(rig)];
    const kept = await raising.halts.raise(service, 'operator', word);
    await reading.halts.refresh();
    await loses('delete from halts');
    for (const { halts } of [reading, raising]) {
      await halts.refresh();
      await halts.keepDurable();
    }
    expect(await generation()).toBe(2);
    expect([reading.noticed, raising.noticed], 'it is reported once').toEqual([[2], []]);
    expect(await raising.journal.activeHalts()).toEqual([
      kept,
      expect.objectContaining({ cause: 'commits_lost', scope: service }),
    ]);
  });

  it('as a halt does so too where a person asks for it again', async () => {
    const { rig, loses, generation } = await begin();
    const { halts, noticed } = await process(rig);
    await halts.raise(service, 'operator', word);
    await loses('delete from halts');
    await halts.refresh();
    await halts.raise(service, 'operator', word);
    expect([await generation(), noticed]).toEqual([2, [2]]);
  });

  it('as a halt holds, and is put back later, while it can not be asked what else is lost', async () => {
    const { rig, loses, generation } = await begin();
    const { halts, journal } = await process(rig);
    const kept = await halts.raise(service, 'operator', word);
    await loses('delete from halts');
    await halts.refresh();
    await rig.rows('revoke execute on function notice_loss from public; alter function notice_loss rename to away');
    await expect(halts.keepDurable()).rejects.toThrow(/notice_loss/);
    expect([halts.blocking('acct-1'), await journal.activeHalts()]).toEqual([kept, []]);
    await rig.rows('alter function away rename to notice_loss');
    await halts.keepDurable();
    expect([(await journal.activeHalts())[0], await generation()]).toEqual([kept, 2]);
  });

  it('as the end of a token begins a generation when the token is ended again', async () => {
    const { rig, loses, generation } = await begin();
    const { principals: store, noticed } = await process(rig);
    await rig.rows(
      "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{}')",
    );
    const tokens = new StaticTokens({ clock, log, store }, { configured: [], refreshEveryMs: 3_600_000 });
    ends.push(async () => tokens.stop());
    await tokens.start();
    await store.end('desk', 1, 0);
    await tokens.start();
    await loses('update principal_tokens set expires_at = null');
    await tokens.start();
    await expect.poll(() => store.active()).toEqual([]);
    expect([await generation(), noticed]).toEqual([2, [2]]);
  });
});

it('an attempt that was sent, and that a takeover found unsent, is a loss', async () => {
  const { rig, loses } = await begin();
  const { journal, lanes, lease } = await process(rig);
  const command = await sending(journal, newPlace());
  await loses("update attempts set state = 'prepared', sending_at = null");
  const next = { ...fence, epoch: fence.epoch + 1n };
  await takeShard(rig.pool, next);
  const [swept] = await journal.takeOver(next, clock.nowMs(), 60_000);
  expect(swept).toMatchObject({ commandId: command.commandId, state: 'not_sent' });
  const [row] = await rig.rows<{ epoch: string }>('select epoch from lanes where lane = 0');
  expect(await lanes.renew(0, BigInt(row?.epoch ?? 0), lease.witness.newest)).toBe('forgotten');
});
