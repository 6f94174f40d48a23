import type { ClientBase } from 'pg';
import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { JournalRow } from '../../../src/store/commands/journal-rows.ts';
import { openingRow, stepRow } from '../../../src/store/commands/journal-rows.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import { appendIn, knownIn } from '../../support/commands/append-in.ts';
import { answered, fence, newPlace } from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../../support/commands/journal-rig.ts';

/** All that rows left, without the server's clock and the numbers of shards and transactions. */
async function rowsOf(rig: JournalRig) {
  const [row] = await rig.rows(`select
    (select json_agg(to_jsonb(j) - '{seq,tx_id,recorded_at}'::text[] order by command_id, number) from journal j) as journal,
    (select json_agg(w order by command_id) from open_commands w) as open`);
  return row;
}

const epochs = [1n, 1n, 1n, 1n, 9n] as const;

/**
 * Openings, some with a key that is known, some of another holder, and steps of commands of before,
 * some decided on a row that is not the newest. Each is of another command, key and account.
 */
async function drawGroup(session: ClientBase, drawn: ReturnType<typeof seededRandom>, at: number, ids: string[]) {
  const rows: JournalRow[] = [];
  const under = (): Fence => ({ ...fence, epoch: epochs[Math.floor(drawn.next() * epochs.length)] ?? 1n });
  for (const commandId of ids.filter(() => drawn.next() < 0.4)) {
    const known = await knownIn(session, commandId);
    if (known.command.attempts[0]?.state !== 'sending') continue;
    const step = answered(known.command, drawn.next() < 0.5 ? 'unknown' : 'accepted');
    const older = drawn.next() < 0.2 ? { ...known, number: known.number + 1 } : known;
    rows.push(stepRow(older, { ...step, evidence: [] }, under()));
  }
  const openings = 1 + Math.floor(drawn.next() * 10);
  for (let i = 0; i < openings; i += 1) {
    const idempotencyKey = `key-${at * 7 + i}`;
    const asked = newPlace({ commandId: drawn.uuid(), attemptId: `tm-${drawn.uuid()}`, idempotencyKey });
    rows.push(openingRow(asked, under(), drawn.next() < 0.5 ? asked.atMs : undefined));
  }
  return rows;
}

it('rows of one statement are answered and stored as the same rows one by one', async () => {
  await using grouped = await journalRig();
  await using single = await journalRig();
  const [session, other] = [await grouped.rival(), await single.rival()];
  const drawn = seededRandom(7);
  const ids: string[] = [];
  const said = new Set<string>();
  for (let at = 0; at < 12; at += 1) {
    const rows = await drawGroup(session, drawn, at, ids);
    const answers = await appendIn(session, rows);
    const expected = [];
    for (const row of rows) expected.push(...(await appendIn(other, [row])));
    expect(answers).toEqual(expected);
    for (const [i, answer] of answers.entries()) {
      said.add(answer.said);
      if (answer.said === 'done' && rows[i]?.kind === 'opening') ids.push(rows[i]?.command.commandId ?? '');
    }
    expect(await rowsOf(grouped)).toEqual(await rowsOf(single));
  }
  expect([...said].sort()).toEqual(['done', 'fenced', 'replayed', 'stale']);
});
