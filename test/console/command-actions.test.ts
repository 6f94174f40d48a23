import { expect, it } from 'vitest';
import { actionsOf, resolutions } from '../../src/console/state/commands/command-actions.ts';
import { historyOf } from './command-history.ts';

const all = { may: () => true, mayCommand: () => true };

it('offers an action only where it may be done and makes sense', () => {
  const none = { probe: false, resolve: false, cancel: false, another: false };
  expect(actionsOf(historyOf(), all)).toEqual({ ...none, probe: true, resolve: true });
  const landed = { state: 'accepted', orderId: 'o-1', orderStatus: 'pending_new' } as const;
  expect(actionsOf(historyOf({ ...landed, unresolved: false }), all)).toEqual({
    ...{ ...none, resolve: true, cancel: true, another: true },
  });
  const filled = historyOf({ ...landed, unresolved: false, state: 'applied', orderStatus: 'filled' });
  expect(actionsOf(filled, all)).toEqual({ ...none, another: true });
  expect(actionsOf({ ...filled, kind: 'cancel' }, all)).toEqual(none);
  expect(actionsOf(historyOf({ state: 'conflict' }), all)).toEqual({ ...none, resolve: true });
  const working = historyOf({ state: 'applied', orderId: 'o-1', orderStatus: 'new', unresolved: false });
  expect(actionsOf(working, { ...all, mayCommand: () => false })).toEqual(none);
  const reader = { may: (scope: string) => scope.endsWith(':read'), mayCommand: () => false };
  expect(actionsOf(historyOf(), reader)).toEqual(none);
});

it('names only results that the kind of command can have', () => {
  expect(resolutions('place').map(([result]) => result)).toEqual(['applied', 'rejected', 'not_sent']);
  expect(resolutions('cancel').map(([result]) => result)).toEqual(['applied', 'rejected', 'moot', 'not_sent']);
});
