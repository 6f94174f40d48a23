import { describe, expect, it } from 'vitest';
import {
  isCovered,
  type SessionEvent,
  type SessionState,
  sessionEvents,
  sessionStates,
  sessionTransition,
} from '../../../src/service/sources/session-states.ts';

/** What leads from a state without a cover to one with it. */
const begins: readonly SessionEvent[] = ['read_begins', 'recovery_begins'];
const wholeRead = ['read', 'proven'] as const;

const cells = sessionStates.flatMap((state) => sessionEvents.map((event) => [state, event] as const));

/** The cells in words of their own, so that a changed table has to be changed twice. */
function expected(state: SessionState, event: SessionEvent): ReturnType<typeof sessionTransition> {
  const ofOneCover = ['read', 'proven', 'audit_denied', 'cover_ended', 'cover_ended_unanswered'].includes(event);
  if (state === 'stopped') return ofOneCover ? 'impossible' : 'ignored';
  const isFrozen = state === 'frozen' || state === 'recovering';
  const isSubscribed = isCovered(state) && !isFrozen;
  const isRefused = state === 'not_enrolled';
  switch (event) {
    case 'stopped':
      return 'stopped';
    case 'store_lost':
      return 'frozen';
    case 'read_begins':
      return 'resyncing';
    case 'recovery_begins':
      return isSubscribed || state === 'connecting' ? 'impossible' : 'recovering';
    case 'read':
      return state === 'resyncing' || state === 'recovering' ? 'unproven' : 'impossible';
    case 'proven':
      return state === 'unproven' ? 'live' : 'impossible';
    case 'refused':
      return 'login_required';
    case 'refused_not_enrolled':
      return 'not_enrolled';
    case 'audit_denied':
      return state === 'live' ? 'connecting' : 'impossible';
    case 'unanswered':
      return isCovered(state) || isFrozen ? 'ignored' : 'unanswered';
    case 'cover_ended':
    case 'cover_ended_unanswered':
      if (!isCovered(state)) return 'impossible';
      if (isFrozen) return 'frozen';
      return event === 'cover_ended' ? 'connecting' : 'unanswered';
    case 'no_connection':
    case 'no_login':
      if (isCovered(state) || isFrozen || isRefused) return 'ignored';
      return event === 'no_connection' ? 'down' : 'login_required';
  }
}

describe('the table of a session', () => {
  it.each(cells)('leads from %s by %s where it should', (state, event) => {
    expect(sessionTransition(state, event)).toBe(expected(state, event));
  });

  it('leads to a covered state by a read that begins, and from there by no other than a read', () => {
    for (const [state, event] of cells) {
      const to = sessionTransition(state, event);
      if (to === 'ignored' || to === 'impossible' || !isCovered(to)) continue;
      expect(begins.includes(event) || (isCovered(state) && ['read', 'proven'].includes(event))).toBe(true);
    }
  });

  it('has a way back to live from every state but the last', () => {
    for (const state of sessionStates.filter((each) => each !== 'stopped')) {
      const first = begins.map((event) => sessionTransition(state, event)).find((to) => to !== 'impossible');
      const last = wholeRead.reduce((at, event) => sessionTransition(at, event) as SessionState, first as SessionState);
      expect(last).toBe('live');
    }
  });
});
