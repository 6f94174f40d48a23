// What a user saw: Commands of a rare kind, and accounts beyond the first page, were not shown.

import { expect, it } from 'vitest';
import { readAccounts } from '../../../src/console/state/account-rows.ts';
import { CommandList } from '../../../src/console/state/commands/command-list.ts';
import { historyOf } from '../../console/command-history.ts';
import { ConsoleRig } from '../../support/rest/console-rig.ts';

function started() {
  const rig = new ConsoleRig();
  const answer = (path: string, body: object) => rig.answers.set(path, { status: 200, body });
  return { rig, answer };
}

it('the list of commands goes on past pages without a row, to the first row or the end', async () => {
  const { rig, answer } = started();
  const list = new CommandList(rig.state, { kind: 'replace' });
  answer('/v1/commands?kind=replace&limit=500&unresolved=true', { items: [] });
  answer('/v1/commands?kind=replace&limit=50', { items: [], next: 'c1' });
  answer('/v1/commands?kind=replace&limit=50&cursor=c1', { items: [], next: 'c2' });
  answer('/v1/commands?kind=replace&limit=50&cursor=c2', { items: [historyOf({ kind: 'replace' })], next: 'c3' });
  const abort = new AbortController();
  await list.load(abort.signal);
  expect(list.state.peek()).toMatchObject({ kind: 'shown', rows: [{ kind: 'replace' }], next: 'c3' });
  answer('/v1/commands?kind=replace&limit=50&cursor=c3', { items: [] });
  await list.more(abort.signal);
  expect(list.state.peek()).not.toHaveProperty('next');
});

it('a list without an end is read for so many pages, and can be read on', async () => {
  const { rig, answer } = started();
  const list = new CommandList(rig.state, { kind: 'cancel' });
  answer('/v1/commands?kind=cancel&limit=500&unresolved=true', { items: [] });
  for (const path of ['', '&cursor=c1']) answer(`/v1/commands?kind=cancel&limit=50${path}`, { items: [], next: 'c1' });
  await list.load(new AbortController().signal);
  expect(rig.asked.filter(({ path }) => path.includes('limit=50')).length).toBeLessThan(30);
  expect(list.state.peek()).toMatchObject({ kind: 'shown', rows: [], next: 'c1' });
});

it('every account is read, over all pages', async () => {
  const { rig, answer } = started();
  answer('/v1/accounts', { items: [{ accountId: 'A' }], next: 'c1', statesKnown: true });
  answer('/v1/accounts?cursor=c1', { items: [{ accountId: 'B' }], statesKnown: true });
  expect(await readAccounts(rig.state.rest)).toMatchObject({
    kind: 'ok',
    body: { items: [{ accountId: 'A' }, { accountId: 'B' }], statesKnown: true },
  });
});
