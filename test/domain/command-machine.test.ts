import { describe, expect, it } from 'vitest';
import { type CommandState, commandStates, isFinal } from '../../src/domain/command.ts';
import {
  type CommandEvent,
  commandEvents,
  commandTransition,
  type Standing,
  standingOf,
  type Transition,
} from '../../src/domain/command-machine.ts';

const standings: readonly Standing[] = [...commandStates, 'presumed_absent'];
const settled = commandStates.filter(isFinal);
const stateOf = (standing: Standing): CommandState => (standing === 'presumed_absent' ? 'unknown' : standing);
const late: Transition = { to: 'applied', alarm: 'late_landing' };
const starting = (prefix: string) => commandEvents.filter((event) => event.startsWith(prefix));

/** The cells in words of their own, so that a changed table has to be changed twice. */
function expected(standing: Standing, event: CommandEvent): Transition {
  const state = stateOf(standing);
  const [what, ...rest] = event.split('_');
  const word = rest.join('_') as CommandState;
  const unsettled = !isFinal(state) && state !== 'conflict';
  if (event === 'repeated') return state === 'open' ? { to: 'open' } : 'impossible';
  if (event === 'presumed_absent') {
    if (standing === 'unknown') return { to: 'unknown' };
    return state === 'open' ? 'impossible' : 'ignored';
  }
  if (event === 'reached') return unsettled ? { to: state } : 'ignored';
  if (event.startsWith('taken_over'))
    return state === 'open' ? { to: event === 'taken_over_sending' ? 'unknown' : 'not_sent' } : 'ignored';
  if (what === 'person') return ['unknown', 'accepted', 'conflict'].includes(state) ? { to: word } : 'impossible';
  if (what === 'verdict') {
    if (state === 'open' && word === 'rejected') return 'impossible';
    if (state === 'refused' && word === 'moot') return { to: 'moot' };
    return unsettled ? { to: word } : 'ignored';
  }
  if (what === 'answered') {
    if (state === 'applied' && (word === 'refused' || word === 'not_sent')) return late;
    if (state === 'open') return { to: word };
    return state === 'unknown' && word !== 'unknown' ? { to: word } : 'ignored';
  }
  if (state === 'conflict') return 'ignored';
  if (event === 'bound_denied') return late;
  if (state === 'applied') return 'ignored';
  if (state === 'rejected') return event === 'bound' ? late : 'ignored';
  return unsettled && standing !== 'presumed_absent' ? { to: 'applied' } : late;
}

describe('a place', () => {
  it.each(standings.flatMap((standing) => commandEvents.map((event) => [standing, event] as const)))(
    'that is %s and is told %s goes where the table says',
    (standing, event) => {
      expect(commandTransition('place', standing, event)).toEqual(expected(standing, event));
    },
  );
});

describe('a command', () => {
  it('leaves a final state for a late landing, or for moot after a refused cancel was looked at, and for nothing else', () => {
    for (const state of settled)
      for (const event of commandEvents) {
        const transition = commandTransition('place', state, event);
        if (typeof transition === 'string') continue;
        if (state === 'refused' && event === 'verdict_moot') expect(transition).toEqual({ to: 'moot' });
        else expect(transition).toEqual(late);
      }
  });

  it('is settled by a person where it is unknown, accepted or in conflict, and nowhere else', () => {
    for (const standing of standings)
      for (const event of starting('person_')) {
        const may = ['unknown', 'presumed_absent', 'accepted', 'conflict'].includes(standing);
        expect(commandTransition('place', standing, event) !== 'impossible').toBe(may);
      }
  });

  it('in conflict is left to a person', () => {
    for (const event of commandEvents.filter((each) => !each.startsWith('person_')))
      expect(['ignored', 'impossible']).toContain(commandTransition('place', 'conflict', event));
  });

  it('never becomes final by the label that says that it is presumed absent', () => {
    for (const standing of standings) {
      const transition = commandTransition('place', standing, 'presumed_absent');
      expect(transition === 'ignored' || transition === 'impossible' || transition.to === 'unknown').toBe(true);
    }
  });

  it('alarms when an order appears that was not sent, refused or presumed absent', () => {
    for (const standing of ['not_sent', 'refused', 'presumed_absent'] as const)
      for (const event of starting('bound')) expect(commandTransition('place', standing, event)).toEqual(late);
  });

  it('stays rejected while the order that carries its id is itself rejected, or nobody has accepted it', () => {
    expect(commandTransition('place', 'rejected', 'bound_rejected')).toBe('ignored');
    expect(commandTransition('place', 'rejected', 'bound_undecided')).toBe('ignored');
    expect(commandTransition('place', 'rejected', 'bound')).toEqual(late);
  });

  it('that the stream settled is not moved by the answer that comes after, unless it denies an order that is there', () => {
    for (const event of ['answered_accepted', 'answered_rejected', 'answered_unknown'] as const)
      expect(commandTransition('place', 'applied', event)).toBe('ignored');
    for (const event of ['answered_refused', 'answered_not_sent'] as const) {
      expect(commandTransition('place', 'applied', event)).toEqual(late);
      expect(commandTransition('cancel', 'applied', event)).toBe('ignored');
      expect(commandTransition('replace', 'applied', event)).toBe('ignored');
    }
  });

  it('is repeated only while it is open', () => {
    expect(standings.filter((standing) => commandTransition('place', standing, 'repeated') !== 'impossible')).toEqual(['open']);
  });

  it('ends where it is when it hears the same again', () => {
    for (const kind of ['place', 'replace', 'cancel'] as const)
      for (const standing of standings)
        for (const event of commandEvents) {
          const first = commandTransition(kind, standing, event);
          if (typeof first === 'string') continue;
          const again = commandTransition(kind, first.to, event);
          expect(typeof again === 'string' ? first.to : again.to).toBe(first.to);
        }
  });

  it('comes to the same outcome whether its order or the answer of a lost write is heard first', () => {
    for (const answer of starting('answered_')) {
      const orders: [CommandEvent, CommandEvent][] = [
        ['bound', answer],
        [answer, 'bound'],
      ];
      const ends = orders.map((events) => {
        let state: CommandState = 'open';
        for (const event of events) {
          const transition = commandTransition('place', state, event);
          if (typeof transition !== 'string') state = transition.to;
        }
        return state;
      });
      expect(ends).toEqual(['applied', 'applied']);
    }
  });
});

describe('the standing of a command', () => {
  it('tells a presumed absent one apart only while it is unknown', () => {
    expect(standingOf({ state: 'unknown', presumedAbsent: true })).toBe('presumed_absent');
    expect(standingOf({ state: 'unknown', presumedAbsent: false })).toBe('unknown');
    expect(standingOf({ state: 'applied', presumedAbsent: true })).toBe('applied');
  });
});
