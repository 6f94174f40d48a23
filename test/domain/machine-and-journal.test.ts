import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { attemptStates, commandStates } from '../../src/domain/command.ts';
import {
  attemptEvents,
  attemptTransition,
  commandEvents,
  commandTransition,
  type Standing,
} from '../../src/domain/command-machine.ts';
import { mustMoveAttempt, mustMoveCommand } from '../support/journal-rules.ts';
import { attemptOf, commandOf, placePrediction } from '../support/settling.ts';

type Reach = Readonly<Record<string, readonly string[]>>;

function sorted(states: Iterable<string>): string[] {
  return [...new Set(states)].sort();
}

/** Where the tables lead from each state, staying included: evidence and labels step without moving. */
function commandReach(): Reach {
  const from = (standing: Standing) =>
    (['place', 'replace', 'cancel'] as const).flatMap((kind) =>
      commandEvents.flatMap((event) => {
        const transition = commandTransition(kind, standing, event);
        return typeof transition === 'string' ? [] : [transition.to];
      }),
    );
  const labelled = from('presumed_absent');
  const awaiting = from('bound');
  return Object.fromEntries(
    commandStates.map((state) => {
      const also = state === 'unknown' ? labelled : state === 'accepted' ? awaiting : [];
      return [state, sorted([state, ...from(state), ...also])];
    }),
  );
}

function attemptReach(): Reach {
  return Object.fromEntries(
    attemptStates.map((state) => {
      const ends = attemptEvents.flatMap((event) => {
        const transition = attemptTransition(state, event);
        return typeof transition === 'string' ? [] : [transition.to];
      });
      return [state, sorted(ends)];
    }),
  );
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

describe('the database', () => {
  it('lets a command go exactly where the state machine leads', () => {
    expect(movesInSql('commands_guard')).toEqual(commandReach());
  });

  it('lets an attempt go exactly where its machine leads, and staying is no move of one that is under way', () => {
    const reach = attemptReach();
    const inSql = movesInSql('attempts_guard');
    for (const state of ['prepared', 'sending', 'unknown'])
      expect(inSql[state]?.filter((to) => to !== state)).toEqual(reach[state]?.filter((to) => to !== state));
    for (const state of ['accepted', 'rejected', 'refused', 'not_sent']) {
      expect(reach[state]).toEqual([]);
      expect(inSql[state]).toBeUndefined();
    }
  });
});

describe('the journal in memory', () => {
  it('refuses nothing that the state machines allow', () => {
    for (const state of commandStates)
      for (const to of commandReach()[state] ?? [])
        expect(() => mustMoveCommand(commandOf(placePrediction, { state }), to as typeof state)).not.toThrow();
    // Prepared → sending is `markSending`, and no step.
    for (const state of attemptStates)
      for (const to of attemptReach()[state] ?? [])
        if (to !== 'sending') expect(() => mustMoveAttempt(attemptOf(state), to as typeof state)).not.toThrow();
  });
});
