import { expect, it } from 'vitest';
import { LoopShare } from '../../src/service/rest/send-page.ts';

/** A loop whose turns are counted, and whose clock moves by the steps alone. */
function loop() {
  const state = { nowMs: 0, turns: 0, log: [] as string[] };
  const clock = {
    monotonicMs: () => state.nowMs,
    turn: async () => {
      await null;
      state.turns += 1;
      state.log.push('turn');
    },
  };
  const work = (name: string) => () => {
    state.nowMs += 1;
    state.log.push(name);
  };
  return { state, work, share: new LoopShare(clock, { sliceMs: 2 }) };
}

it('takes one slice between two turns, whatever number of works there are', async () => {
  const { state, work, share } = loop();
  await Promise.all(['a', 'b', 'c'].map((name) => share.forEach([1, 2, 3, 4], work(name))));
  expect(state.log.filter((entry) => entry !== 'turn')).toHaveLength(12);
  for (const slice of state.log.join(' ').split('turn').slice(1)) expect(slice.trim().split(' ')).toHaveLength(2);
  expect(state.turns).toBe(6);
});

it('takes a turn before work that comes after a pause', async () => {
  const { state, work, share } = loop();
  await share.forEach([1], work('a'));
  state.nowMs += 1000;
  await share.forEach([1], work('b'));
  expect(state.log).toEqual(['turn', 'a', 'turn', 'b']);
});

it('rejects with what a step throws', async () => {
  const { share } = loop();
  const broken = share.forEach([1], () => {
    throw new Error('broken');
  });
  await expect(broken).rejects.toThrow('broken');
});
