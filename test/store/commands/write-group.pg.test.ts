import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { JournalWrite } from '../../../src/store/commands/group-commit.ts';
import { sqlstateOf } from '../../../src/store/session/retry-transaction.ts';
import { atMs, fence } from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../../support/commands/journal-rig.ts';
import { RandomWrites } from '../../support/commands/random-writes.ts';

interface Answer {
  readonly result: unknown;
  readonly code: string | null;
}

const placed = ({ name, fence: under, body }: JournalWrite) => [name, under?.shard ?? null, under?.epoch ?? null, body];

/** In one transaction, and what it had no time for in the next. */
async function asGroups(rig: JournalRig, writes: readonly JournalWrite[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < writes.length) {
    const columns = [0, 1, 2, 3].map((column) => writes.slice(answers.length).map((write) => placed(write)[column]));
    const rows = await rig
      .rows<Answer>('select result, code from write_group($1, $2, $3, $4)', columns)
      .catch((error: unknown) => writes.map(() => ({ result: null, code: `all: ${sqlstateOf(error)}` })));
    expect(rows.length).toBeGreaterThan(0);
    answers.push(...rows);
  }
  return answers;
}

async function oneByOne(rig: JournalRig, writes: readonly JournalWrite[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const write of writes)
    answers.push(
      await rig.rows<{ result: unknown }>('select write_one($1, $2, $3, $4) as result', placed(write)).then(
        ([row]) => ({ result: row?.result, code: null }),
        (error: unknown) => ({ result: null, code: sqlstateOf(error) ?? 'no answer' }),
      ),
    );
  return answers;
}

/** All that the writes left, without the server's clock and the numbers of its sequences. */
async function rowsOf(rig: JournalRig) {
  const [row] = await rig.rows(`select
    (select json_agg(c order by command_id) from commands c) as commands,
    (select json_agg(a order by attempt_id) from attempts a) as attempts,
    (select json_agg(to_jsonb(e) - 'recorded_at' order by command_id, number) from evidence e) as evidence,
    (select json_agg(to_jsonb(e) - '{tx_id,id,recorded_at}'::text[] order by id) from command_events e) as events,
    (select json_agg(to_jsonb(o) - 'id' order by id) from command_outbox o) as outbox,
    (select json_agg(to_jsonb(l) - '{id,recorded_at}'::text[] order by id) from audit_log l) as lines`);
  return row;
}

/**
 * Random groups in one database, the same writes one by one in another. How often they answered
 * what.
 */
async function compareGroups(seed: number, groups: number, plant?: (definition: string) => string) {
  await using grouped = await journalRig();
  await using single = await journalRig();
  for (const { journal } of [grouped, single]) {
    await journal.takeOver({ ...fence, shard: 1 }, atMs, 0);
    const [before, bounds, by, reason] = [{}, { maxOpenOrders: 2 }, 'ann', 'r'] as const;
    await journal.changeLimits({ before, bounds, by, reason, requestId: 'r-1', atMs });
  }
  if (plant !== undefined) {
    const [row] = await grouped.rows<{ text: string }>("select pg_get_functiondef('write_group'::regproc) as text");
    const planted = plant(row?.text ?? '');
    expect(planted).not.toBe(row?.text);
    const owner = await grouped.rival();
    await owner.query(planted);
  }
  const said = new Map<string, number>();
  const draw = new RandomWrites(seededRandom(seed));
  for (let i = 0; i < groups; i += 1) {
    const writes = draw.group();
    const [answers, expected] = [await asGroups(grouped, writes), await oneByOne(single, writes)];
    expect(answers).toEqual(expected);
    for (const { result, code } of answers) {
      const kind = code ?? (result as { kind?: string } | null)?.kind ?? String(result);
      said.set(kind, (said.get(kind) ?? 0) + 1);
    }
  }
  expect(await rowsOf(grouped)).toEqual(await rowsOf(single));
  return said;
}

describe('writes in groups, and the same one by one', () => {
  it('leave the same rows and get the same answers, two seeds', async () => {
    const said = new Set<string>();
    for (const seed of [1, 2]) for (const kind of (await compareGroups(seed, 10)).keys()) said.add(kind);
    const kinds = ['opened', 'replayed', 'limited', 'fenced', 'stepped', 'stale', 'TM012', 'true', 'false', 'null'];
    expect([...said]).toEqual(expect.arrayContaining(kinds));
  });

  it.each([
    ['an objection is kept back', (text: string) => text.replace('code := SQLSTATE', 'code := NULL')],
    ['the first fence counts for all', (text: string) => text.replace('p_epochs[i]', 'p_epochs[1]')],
    [
      'the last write is done first',
      (text: string) =>
        text
          .replace('FOR i IN 1 .. cardinality(p_names)', 'FOR i IN REVERSE cardinality(p_names) .. 1')
          .replace('EXIT WHEN i > 1', 'EXIT WHEN i < 1'),
    ],
    [
      'one that is refused takes those before it along',
      (text: string) => text.replace(/EXCEPTION WHEN OTHERS THEN[^;]*;[^;]*;/, ''),
    ],
  ])('differ if %s', async (_, plant) => {
    await expect(compareGroups(1, 10, plant)).rejects.toMatchObject({ name: 'AssertionError' });
  });
});
