// What a user saw: A command had two outcomes of one version after a failover lost the takeover of its shard.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { HeldShards } from '../../../src/service/fleet/held-shards.ts';
import { ShardWork } from '../../../src/service/fleet/shard-work.ts';
import { CommandRig, placeEquity } from '../../support/commands/command-rig.ts';
import { service } from '../../support/commands/journal-fixtures.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

const held = { shard: 0, epoch: 2n };
const again = { shard: 0, epoch: 3n };

/**
 * A process that took over a place in the middle of its write, and a database that has lost that:
 * the taking, the sweep, and a halt that another process raised is there by now.
 */
async function withoutItsTakeover(noticeLost: () => Promise<void>) {
  const before = await CommandRig.leading();
  before.entry.scripts.push({ answerMs: 60_000, result: { kind: 'accepted', answer: {} } });
  void before.commands.submit(before.submission(placeEquity));
  await before.clock.advance(100);
  const [commandId = ''] = before.journal.commands.keys();
  const sending = before.command(commandId);
  before.commands.end(0);
  const rig = new CommandRig({}, before);
  rig.lease.confirm(held.epoch, rig.clock.monotonicMs());
  const work = new ShardWork({
    ...{ held: new HeldShards(), sources: { review: () => undefined }, ingest: { forgetOrders: () => undefined } },
    ...{ commands: rig.commands, noticeLost, metrics: createMetrics().ingest, log: silentLog },
  });
  work.resume(1, [held]);
  await rig.during(work.beginCommands());
  const swept = rig.command(commandId);
  expect(swept).toMatchObject({ state: 'unknown', version: sending.version + 1 });
  rig.loseSteps(commandId);
  await work.lose(0);
  const halt = { scope: service, cause: 'operator' as const, reason: 'kill switch', by: 'ann' };
  await rig.during(rig.journal.raiseHalt({ haltId: 'halt-1', ...halt, sinceMs: rig.clock.nowMs() }));
  return { rig, work, commandId, sending };
}

it('is made again whole: what is lost is noticed first, its attempts are swept, and the halts are read', async () => {
  const versions: number[] = [];
  let note = () => {};
  const { rig, work, commandId, sending } = await withoutItsTakeover(async () => note());
  note = () => void versions.push(rig.command(commandId).version);
  const taking = work.add([again]);
  const place = () => rig.commands.submit(rig.submission(placeEquity, { idempotencyKey: 'meanwhile' }));
  const early = place();
  await rig.during(taking);
  expect(versions, 'before the version is given again').toEqual([sending.version]);
  expect(rig.command(commandId)).toMatchObject({ state: 'unknown', attempts: [{ state: 'unknown' }] });
  expect(await rig.during(early)).toMatchObject({ kind: 'declined', code: 'NOT_LEADER' });
  expect(await rig.during(place())).toMatchObject({ kind: 'declined', code: 'PLACING_HALTED' });
  await rig.during(work.beginCommands());
  expect(versions, 'and once').toHaveLength(1);
});

it('waits while it can not be asked what is lost, and its commands with it', async () => {
  let away = false;
  const { rig, work, commandId } = await withoutItsTakeover(async () => {
    if (away) throw new Error('no database');
  });
  away = true;
  await expect(work.add([again])).rejects.toThrow('no database');
  expect(rig.command(commandId).state).toBe('open');
  away = false;
  await rig.during(work.beginCommands());
  expect(rig.command(commandId).state).toBe('unknown');
});
