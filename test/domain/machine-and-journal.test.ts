import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { attemptMoves, commandMoves } from '../support/commands/journal-rules.ts';

type Reach = Readonly<Record<string, readonly string[]>>;

function sorted(states: Iterable<string>): string[] {
  return [...new Set(states)].sort();
}

function reach(moves: ReadonlyMap<string, ReadonlySet<string>>): Reach {
  return Object.fromEntries([...moves].map(([state, ends]) => [state, sorted(ends)]));
}

/** The newest definition of a trigger function: `WHEN 'open' THEN '{open,…}'`, a state a line. */
function movesInSql(name: string): Reach {
  const texts = readdirSync('drizzle')
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => readFileSync(`drizzle/${file}`, 'utf8'));
  const text = texts.findLast((each) => each.includes(`FUNCTION public.${name}() RETURNS`)) ?? '';
  const body = text.slice(text.lastIndexOf(`FUNCTION public.${name}() RETURNS`)).split('\n$$;')[0] ?? '';
  const lines = [...body.matchAll(/WHEN '(\w+)' THEN '\{([\w,]+)\}'/g)];
  return Object.fromEntries(lines.map(([, state = '', ends = '']) => [state, sorted(ends.split(','))]));
}

describe('the text of the guards in the database', () => {
  it('lets a command go exactly where the state machine leads', () => {
    expect(movesInSql('commands_guard')).toEqual(reach(commandMoves));
  });

  it('lets an attempt go exactly where its machine leads, and one that has an answer stay', () => {
    const { accepted, rejected, refused, not_sent, ...underWay } = reach(attemptMoves);
    expect(movesInSql('attempts_guard')).toEqual(underWay);
    expect({ accepted, rejected, refused, not_sent }).toEqual({
      ...{ accepted: ['accepted'], rejected: ['rejected'], refused: ['refused'], not_sent: ['not_sent'] },
    });
  });
});
