import { describe, expect, it } from 'vitest';
import { type AttemptState, attemptStates } from '../../src/domain/command.ts';
import {
  type AttemptEvent,
  type AttemptTransition,
  attemptEvents,
  attemptTransition,
} from '../../src/domain/command-machine.ts';

const ended: readonly AttemptState[] = ['accepted', 'rejected', 'refused', 'not_sent'];

function expected(state: AttemptState, event: AttemptEvent): AttemptTransition {
  if (event === 'claimed') return state === 'prepared' ? { to: 'sending' } : 'impossible';
  if (ended.includes(state)) return 'ignored';
  if (event === 'abandoned') return state === 'unknown' ? 'ignored' : { to: 'not_sent' };
  if (event === 'taken_over') {
    if (state === 'unknown') return 'ignored';
    return { to: state === 'sending' ? 'unknown' : 'not_sent' };
  }
  if (state === 'prepared') return event === 'answered_not_sent' ? { to: 'not_sent' } : 'impossible';
  if (state === 'unknown' && event === 'answered_unknown') return 'ignored';
  return { to: event.slice('answered_'.length) as AttemptState };
}

describe('an attempt', () => {
  it.each(attemptStates.flatMap((state) => attemptEvents.map((event) => [state, event] as const)))(
    'that is %s and is told %s goes where the table says',
    (state, event) => {
      expect(attemptTransition(state, event)).toEqual(expected(state, event));
    },
  );

  it('is written at most once: no way leads back to where it could be claimed', () => {
    for (const state of attemptStates)
      for (const event of attemptEvents) {
        const transition = attemptTransition(state, event);
        if (typeof transition === 'string') continue;
        expect(transition.to).not.toBe('prepared');
        if (transition.to === 'sending') expect([state, event]).toEqual(['prepared', 'claimed']);
      }
  });

  it('that may have been sent is not given up as unsent', () => {
    expect(attemptTransition('unknown', 'abandoned')).toBe('ignored');
    expect(attemptTransition('sending', 'taken_over')).toEqual({ to: 'unknown' });
  });
});
