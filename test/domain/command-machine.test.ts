import { describe, expect, it } from 'vitest';
import { type CommandState, commandStates, isFinal } from '../../src/domain/command.ts';
import {
  type CommandEvent,
  commandEvents,
  commandTransition,
  type Standing,
  standingOf,
  stateOf,
  type Transition,
} from '../../src/domain/command-machine.ts';
import { cancelOf, commandOf, placePrediction, predictionOrder } from '../support/commands/resolving.ts';

const standings: readonly Standing[] = [...commandStates, 'presumed_absent', 'bound'];
const resolved = commandStates.filter(isFinal);
const late = (to: CommandState): Transition => ({ to, alarm: 'late_landing' });
const starting = (prefix: string) => commandEvents.filter((event) => event.startsWith(prefix));

/** The cells in words of their own, so that a changed table has to be changed twice. */
function expected(standing: Standing, event: CommandEvent): Transition {
  const state = stateOf(standing);
  const [what, ...rest] = event.split('_');
  const word = rest.join('_') as CommandState;
  const awaits = standing === 'bound';
  const unresolved = !isFinal(state) && state !== 'conflict' && !awaits;
  if (event === 'repeated') return state === 'open' ? { to: 'open' } : 'impossible';
  if (event === 'presumed_absent') {
    if (standing === 'unknown') return { to: 'unknown' };
    return state === 'open' ? 'impossible' : 'ignored';
  }
  if (event === 'reached') return unresolved ? { to: state } : 'ignored';
  if (event.startsWith('taken_over'))
    return state === 'open' ? { to: event === 'taken_over_sending' ? 'unknown' : 'not_sent' } : 'ignored';
  if (what === 'person') return ['unknown', 'accepted', 'conflict'].includes(state) ? { to: word } : 'impossible';
  if (what === 'verdict') {
    if (state === 'open' && word === 'rejected') return 'impossible';
    if (state === 'refused' && word === 'moot') return { to: 'moot' };
    return unresolved ? { to: word } : 'ignored';
  }
  if (what === 'answered') {
    if ((state === 'applied' || awaits) && (word === 'refused' || word === 'not_sent')) return late(state);
    if (awaits) return word === 'rejected' ? { to: 'rejected' } : 'ignored';
    if (state === 'open') return { to: word };
    return state === 'unknown' && word !== 'unknown' ? { to: word } : 'ignored';
  }
  return expectedOfOrder(standing, rest);
}

/** `bound`, and what the words behind it say of the venue and of the answer. */
function expectedOfOrder(standing: Standing, words: readonly string[]): Transition {
  const denied = words.includes('denied');
  const to = words.includes('rejected') ? 'rejected' : words.includes('undecided') ? 'accepted' : 'applied';
  if (standing === 'conflict') return 'ignored';
  if (standing === 'bound') return to === 'accepted' ? 'ignored' : { to };
  if (standing === 'applied') return denied ? late('applied') : 'ignored';
  if (denied) return late(to);
  if (standing === 'rejected' && to === 'rejected') return 'ignored';
  return ['open', 'unknown', 'accepted'].includes(standing) ? { to } : late(to);
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
    for (const state of resolved)
      for (const event of commandEvents) {
        const transition = commandTransition('place', state, event);
        if (typeof transition === 'string') continue;
        if (state === 'refused' && event === 'verdict_moot') expect(transition).toEqual({ to: 'moot' });
        else expect(transition.alarm).toBe('late_landing');
      }
  });

  it('is resolved by a person where it is unknown, accepted or in conflict, and nowhere else', () => {
    for (const standing of standings)
      for (const event of starting('person_')) {
        const may = ['unknown', 'presumed_absent', 'accepted', 'bound', 'conflict'].includes(standing);
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
      for (const event of starting('bound'))
        expect(commandTransition('place', standing, event)).toMatchObject({ alarm: 'late_landing' });
  });

  it('stays rejected while the order that carries its id is itself rejected, and by no other order', () => {
    expect(commandTransition('place', 'rejected', 'bound_rejected')).toBe('ignored');
    expect(commandTransition('place', 'rejected', 'bound_undecided')).toEqual(late('accepted'));
    expect(commandTransition('place', 'rejected', 'bound')).toEqual(late('applied'));
  });

  it('whose order is there is resolved by its order and by a person alone', () => {
    const resolving = commandEvents.filter((event) => {
      const transition = commandTransition('place', 'bound', event);
      return typeof transition !== 'string' && transition.to !== 'accepted';
    });
    const persons = starting('person_');
    expect(resolving).toEqual([
      'answered_rejected',
      'bound',
      'bound_rejected',
      'bound_denied',
      'bound_rejected_denied',
      ...persons,
    ]);
  });

  it('that the stream resolved is not moved by the answer that comes after, unless it denies an order that is there', () => {
    for (const event of ['answered_accepted', 'answered_rejected', 'answered_unknown'] as const)
      expect(commandTransition('place', 'applied', event)).toBe('ignored');
    for (const event of ['answered_refused', 'answered_not_sent'] as const) {
      expect(commandTransition('place', 'applied', event)).toEqual(late('applied'));
      expect(commandTransition('place', 'bound', event)).toEqual(late('accepted'));
      expect(commandTransition('cancel', 'applied', event)).toBe('ignored');
      expect(commandTransition('replace', 'applied', event)).toBe('ignored');
    }
  });

  it('is repeated only while it is open', () => {
    expect(standings.filter((standing) => commandTransition('place', standing, 'repeated') !== 'impossible')).toEqual([
      'open',
    ]);
  });

  it('ends where it is when it hears the same again', () => {
    for (const kind of ['place', 'replace', 'cancel'] as const)
      for (const standing of standings)
        for (const event of commandEvents) {
          const first = commandTransition(kind, standing, event);
          if (typeof first === 'string') continue;
          // The step that binds an order leaves its place waiting for the venue.
          const again = commandTransition(
            kind,
            event.startsWith('bound') && first.to === 'accepted' ? 'bound' : first.to,
            event,
          );
          expect(typeof again === 'string' ? first.to : again.to).toBe(first.to);
        }
  });

  it('comes to the same result whether its order or the answer of a lost write is heard first', () => {
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
    const of = (state: CommandState, presumedAbsent: boolean) =>
      standingOf(commandOf(placePrediction, { state, presumedAbsent }));
    expect(of('unknown', true)).toBe('presumed_absent');
    expect(of('unknown', false)).toBe('unknown');
    expect(of('applied', true)).toBe('applied');
  });

  it('tells an accepted place apart whose order is there, and no cancel, which names its order from the start', () => {
    expect(standingOf(commandOf(placePrediction, { state: 'accepted' }))).toBe('accepted');
    expect(standingOf(commandOf(placePrediction, { state: 'accepted', orderId: 'a' }))).toBe('bound');
    expect(standingOf(commandOf(placePrediction, { state: 'applied', orderId: 'a' }))).toBe('applied');
    expect(standingOf(commandOf(cancelOf(predictionOrder), { state: 'accepted' }))).toBe('accepted');
  });
});
