import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { GroupCommit, type GroupWrite } from '../../../src/store/commands/group-commit.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const mark: GroupWrite<void> = { of: [], lines: '{}', rows: () => [], done: () => undefined };
const opening: GroupWrite<void> = { ...mark, of: ['acct-1'] };

/** A database that never answers: each group stays under way. */
function withoutAnswers() {
  const clock = new VirtualClock();
  const sizes: number[] = [];
  let connections = 0;
  const connect = () => {
    connections += 1;
    return new Promise<never>(() => undefined);
  };
  const groups = new GroupCommit({
    ...{ pool: { connect } as unknown as Pool, clock, random: seededRandom(1) },
    onGroup: (writes) => sizes.push(writes),
  });
  return { clock, groups, sizes, connections: () => connections };
}

/** Codes of the writes that were rejected so far. */
function codesOf(writes: readonly Promise<unknown>[]): string[] {
  const codes: string[] = [];
  for (const write of writes) write.catch((error: { code: string }) => codes.push(error.code));
  return codes;
}

describe('writes behind a group without an answer', () => {
  it('are in two groups at most', async () => {
    const { clock, groups, sizes, connections } = withoutAnswers();
    for (let i = 0; i < 10; i += 1) codesOf([groups.write(mark), groups.write(opening)]);
    await clock.advance(0);
    expect(sizes).toEqual([1, 1]);
    expect(connections()).toBe(2);
  });

  it('wait for the one with the same account or command, and others do not', async () => {
    const { clock, groups, sizes } = withoutAnswers();
    codesOf([groups.write(opening), groups.write(opening), groups.write({ ...opening, of: ['acct-2'] })]);
    await clock.advance(0);
    expect(sizes).toEqual([1, 1]);
  });

  it('wait for each command that another one names, and for those that wait for it', async () => {
    const { clock, groups, sizes } = withoutAnswers();
    const misses: GroupWrite<void> = { ...mark, of: ['c-1', 'c-2'] };
    const step = (id: string): GroupWrite<void> => ({ ...mark, of: [id] });
    codesOf([groups.write(misses), groups.write(step('c-2'))]);
    // It waits for `c-2`, and the next one for it.
    codesOf([groups.write({ ...misses, of: ['c-2', 'c-3'] }), groups.write(step('c-3'))]);
    await clock.advance(0);
    expect(sizes).toEqual([1]);
    codesOf([groups.write(step('c-4'))]);
    await clock.advance(0);
    expect(sizes).toEqual([1, 1]);
  });

  it('are refused as not sent after five seconds, each by its own age, and no one else is', async () => {
    const { clock, groups } = withoutAnswers();
    const first = codesOf([groups.write(mark), groups.write(mark)]);
    const early = codesOf([groups.write(mark), groups.write(mark)]);
    await clock.advance(3_000);
    const late = codesOf([groups.write(mark)]);
    await clock.advance(2_000);
    expect([first, early, late]).toEqual([[], ['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'], []]);
    await clock.advance(3_000);
    expect([first, late]).toEqual([[], ['STORE_UNAVAILABLE']]);
  });

  it('are refused at once where two thousand wait already', async () => {
    const { clock, groups } = withoutAnswers();
    codesOf(Array.from({ length: 2_000 }, () => groups.write(mark)));
    const more = codesOf([groups.write(opening)]);
    await clock.advance(0);
    expect(more).toEqual(['STORE_UNAVAILABLE']);
  });
});

describe('a write that nobody waits for', () => {
  const lazy: GroupWrite<void> = { ...mark, mayWait: true };

  it('waits 10 ms for company, and no longer', async () => {
    const { clock, groups, sizes } = withoutAnswers();
    codesOf([groups.write(lazy)]);
    await clock.advance(6);
    codesOf([groups.write(lazy)]);
    await clock.advance(3);
    expect(sizes).toEqual([]);
    await clock.advance(1);
    expect(sizes).toEqual([2]);
  });

  it('goes at once with one that somebody waits for, and the next one waits its own 10 ms', async () => {
    const { clock, groups, sizes } = withoutAnswers();
    codesOf([groups.write(lazy)]);
    await clock.advance(5);
    codesOf([groups.write(opening)]);
    await clock.advance(1);
    expect(sizes).toEqual([2]);
    codesOf([groups.write(lazy)]);
    await clock.advance(9);
    expect(sizes).toEqual([2]);
    await clock.advance(1);
    expect(sizes).toEqual([2, 1]);
  });

  it('stays before a later one about the same command', async () => {
    const { clock, groups, sizes } = withoutAnswers();
    const made: string[] = [];
    const step = (name: string, mayWait: boolean): GroupWrite<void> => {
      const rows = () => {
        made.push(name);
        return [];
      };
      return { ...mark, of: ['c-1'], mayWait, rows };
    };
    codesOf([groups.write(step('first', true)), groups.write(step('second', false))]);
    await clock.advance(20);
    expect([sizes, made]).toEqual([[1], ['first']]);
  });

  it('is sent at once when the process ends, and none waits from then on', async () => {
    const { clock, groups, sizes } = withoutAnswers();
    codesOf([groups.write(lazy)]);
    groups.hurry();
    await clock.advance(0);
    codesOf([groups.write(lazy)]);
    await clock.advance(0);
    expect(sizes).toEqual([1, 1]);
  });

  it('is refused as any other where two groups get no answer for five seconds', async () => {
    const { clock, groups, sizes } = withoutAnswers();
    codesOf([groups.write(mark), groups.write(opening)]);
    const codes = codesOf([groups.write(lazy)]);
    await clock.advance(5_000);
    expect([sizes, codes]).toEqual([[1, 1], ['STORE_UNAVAILABLE']]);
  });
});
