import { describe, expect, it } from 'vitest';
import {
  acts,
  type LaneEvent,
  type LaneState,
  laneEvents,
  laneStates,
  laneTransition,
} from '../../../src/service/fleet/lane-states.ts';

/** The states in which the work was told to begin, and was not told to end. */
const withWork: readonly LaneState[] = ['beginning', 'begun_in_vain', 'held', 'over'];
const cells = laneStates.flatMap((state) => laneEvents.map((event) => [state, event] as const));

/** The cells in words of their own, so that a changed table has to be changed twice. */
function expected(state: LaneState, event: LaneEvent): ReturnType<typeof laneTransition> {
  const isBeginning = state === 'beginning' || state === 'begun_in_vain';
  switch (event) {
    case 'taken':
      return state === 'standby' ? 'beginning' : 'impossible';
    case 'begun':
      if (!isBeginning) return 'impossible';
      return state === 'beginning' ? 'held' : 'over';
    case 'not_begun':
      return isBeginning ? 'over' : 'impossible';
    case 'lost':
      if (!withWork.includes(state)) return 'ignored';
      return isBeginning ? 'begun_in_vain' : 'over';
    case 'change':
      return state === 'held' ? 'over' : 'ignored';
    case 'ends':
      return state === 'held' || state === 'over' ? 'ending' : 'impossible';
    case 'ended':
      return state === 'ending' ? 'standby' : 'impossible';
    case 'stopped':
      if (state === 'stopped') return 'ignored';
      return state === 'standby' ? 'stopped' : 'impossible';
  }
}

describe('the table of the lane', () => {
  it.each(cells)('leads from %s by %s where it should', (state, event) => {
    expect(laneTransition(state, event)).toBe(expected(state, event));
  });

  it('leads to a state in which the process acts by a taking, and on by work that has begun, and by no other', () => {
    const ways = cells.filter(([state, event]) => {
      const to = laneTransition(state, event);
      return to !== 'ignored' && to !== 'impossible' && acts(to);
    });
    expect(ways).toEqual([
      ['standby', 'taken'],
      ['beginning', 'begun'],
    ]);
  });

  it('begins and ends the work in turn, on every way', () => {
    for (const [state, event] of cells) {
      const to = laneTransition(state, event);
      if (to === 'ignored' || to === 'impossible') continue;
      const [before, after] = [withWork.includes(state), withWork.includes(to)];
      if (before !== after) expect(event).toBe(after ? 'taken' : 'ends');
    }
  });

  it('does not leave the last state', () => {
    for (const event of laneEvents) expect(['ignored', 'impossible']).toContain(laneTransition('stopped', event));
  });
});
