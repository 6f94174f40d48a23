import { expect, it } from 'vitest';
import { actionsOf, resolutions } from '../../src/console/state/commands/command-actions.ts';
import { historyOf } from './command-history.ts';

const all = { may: () => true, commandsOn: true };

it('offers an action only where it may be done and makes sense', () => {
  expect(actionsOf(historyOf(), all)).toEqual({ probe: true, resolve: true, cancel: false });
  const landed = { state: 'accepted', orderId: 'o-1', orderStatus: 'pending_new' } as const;
  expect(actionsOf(historyOf(landed), all)).toEqual({ probe: false, resolve: true, cancel: true });
  expect(actionsOf(historyOf({ ...landed, state: 'applied', orderStatus: 'filled' }), all)).toEqual({
    ...{ probe: false, resolve: false, cancel: false },
  });
  expect(actionsOf(historyOf({ state: 'conflict' }), all)).toEqual({ probe: false, resolve: true, cancel: false });
  const working = historyOf({ state: 'applied', orderId: 'o-1', orderStatus: 'new' });
  expect(actionsOf(working, { ...all, commandsOn: false }).cancel).toBe(false);
  expect(actionsOf(working, { ...all, may: (scope) => scope !== 'orders:write' }).cancel).toBe(false);
  const reader = { ...all, may: (scope: string) => scope.endsWith(':read') };
  expect(actionsOf(historyOf(), reader)).toEqual({ probe: false, resolve: false, cancel: false });
});

it('names only outcomes that the kind of command can have', () => {
  expect(resolutions('place').map(([outcome]) => outcome)).toEqual(['applied', 'rejected', 'not_sent']);
  expect(resolutions('cancel').map(([outcome]) => outcome)).toEqual(['applied', 'rejected', 'moot', 'not_sent']);
});
