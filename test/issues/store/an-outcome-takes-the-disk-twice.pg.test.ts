// What a user saw: Each step of a command wrote its request again, and once more when published.
import { expect, it } from 'vitest';
import { encodeCommandOutcome } from '../../../src/domain/encode-command-outcome.ts';
import type { CommandJournal, CommandStep } from '../../../src/store/commands/command-journal.ts';
import { PostgresOutcomeLog } from '../../../src/store/commands/outcome-log.ts';
import {
  answer,
  answered,
  atMs,
  attemptId,
  fence,
  newCancel,
  newPlace,
  newReplace,
  sending,
  unknown,
} from '../../support/commands/journal-fixtures.ts';
import { readRig } from '../../support/orders/read-rig.ts';
import { storedOrder } from '../../support/orders/stored-orders.ts';
import { eventually } from '../../support/runs/poll.ts';

const reason = { code: 'FOREIGN', message: 'ü "quoted" \\ and 9007199254740993', status: 504 };

/** The texts of all steps as they were when each was taken, and nothing had happened since. */
function recording(journal: CommandJournal) {
  const texts: string[] = [];
  const recorded = <Result extends { kind: string }>(result: Result): Result => {
    if ('command' in result) texts.push(encodeCommandOutcome(result.command as never));
    return result;
  };
  const both: CommandJournal = {
    ...journal,
    open: async (...asked) => recorded(await journal.open(...asked)),
    step: async (...asked) => recorded(await journal.step(...asked)),
  };
  return { journal: both, texts };
}

/** Commands of each kind, with everything that a step can change. */
async function everyStep(journal: CommandJournal): Promise<void> {
  const step = async (change: CommandStep) => {
    const result = await journal.step(change, fence);
    if (result.kind !== 'stepped') throw new Error(`it was ${result.kind}`);
    return result.command;
  };
  const first = await sending(journal, newPlace({ callerRef: 'my-1' }));
  const nextAttemptId = attemptId();
  const again = await step({ ...answered(first, 'not_sent', { reason }), to: 'open', nextAttemptId });
  await journal.markSending(nextAttemptId, atMs + 7, fence);
  const { commandId: supersedes, version } = await step(
    answered(again, 'unknown', { misses: 2, presumedAbsent: true }),
  );
  await sending(journal, newPlace({ supersedes }));
  await step({ commandId: supersedes, version, to: 'applied', orderId: 'o-1', atMs, evidence: [] });
  const { commandId } = await unknown(journal, newReplace('p-1'), { reason });
  const seenPendingAt = { revision: 4, sourceVersion: 9_007_199_254_740_995n };
  await step({ commandId, version: 2, to: 'accepted', seenPendingAt, atMs, evidence: [answer()] });
  await step({ ...answered(await sending(journal, newCancel('p-1')), 'accepted'), to: 'moot' });
  const { attemptId: _none, ...refused } = newCancel('p-1', { refusal: reason });
  await journal.open(refused, fence);
}

it('publishes the very texts of the steps, to Kafka and by REST, and writes no event again', async () => {
  await using rig = await readRig();
  const { head, update } = storedOrder({ orderId: 'o-1', stream: 'account', accountId: 'acct-1', status: 'new' });
  await rig.commit({ heads: [head], updates: [update] });
  const { journal, texts } = recording(rig.journal);
  await everyStep(journal);
  expect(texts).toHaveLength(11);

  const log = new PostgresOutcomeLog(rig.deps);
  const rows = await log.readUnpublished(100, [0]);
  expect(rows.map(({ payload }) => payload)).toEqual(texts);
  const written = 'select id, xmin::text, ctid::text from command_events order by id';
  const before = await rig.rows(written);
  await log.markPublished(rows);
  expect(await log.readUnpublished(100, [0])).toEqual([]);
  expect(await rig.rows(written)).toEqual(before);

  await eventually(async () => {
    const { horizon } = await rig.reads.eventHorizon();
    const { events } = await rig.reads.eventsAfter({ tx: 0n, number: 0n }, horizon, 100);
    expect(events.map(({ payload }) => payload)).toEqual(texts);
  });
});

it('keeps an event that was not published, however old it is', async () => {
  await using rig = await readRig();
  await unknown(rig.journal);
  const [first, second] = await new PostgresOutcomeLog(rig.deps).readUnpublished(10, [0]);
  await new PostgresOutcomeLog(rig.deps).markPublished(first === undefined ? [] : [first]);
  await expect(rig.pool.query('delete from command_events where id = $1', [second?.id])).rejects.toMatchObject({
    code: 'TM010',
  });
  await rig.pool.query('delete from command_events where id = $1', [first?.id]);
});
