import { describe, expect, it } from 'vitest';
import { CommandList } from '../../src/console/state/commands/command-list.ts';
import type { CommandFilters } from '../../src/console/state/commands/command-row.ts';
import type { CommandHistory } from '../../src/contract/rest-answers.ts';
import { ConsoleRig } from '../support/rest/console-rig.ts';
import { historyOf, resultOf } from './command-history.ts';

const at = (second: number) => `2026-11-21T15:00:${String(second).padStart(2, '0')}.000Z`;
const resolved = (commandId: string, second: number) =>
  historyOf({ commandId, state: 'applied', createdAt: at(second) });
const unknown = (commandId: string, second: number) => historyOf({ commandId, createdAt: at(second) });

async function start(filters: CommandFilters = {}, items = [resolved('c', 30), unknown('b', 20), unknown('a', 10)]) {
  const rig = new ConsoleRig();
  const list = new CommandList(rig.state, filters);
  const abort = new AbortController();
  const page = (path: string, body: unknown) => rig.answers.set(path, { status: 200, body });
  page('/v1/commands?limit=500&unresolved=true', { items: items.filter(({ state }) => state === 'unknown') });
  page('/v1/commands?limit=50', { items, next: 'more' });
  const ids = () => {
    const state = list.state.peek();
    return state.kind === 'shown' ? state.rows.map((row) => `${row.commandId} ${row.state}`) : [];
  };
  const load = async () => {
    await list.load(abort.signal);
    await rig.settle();
  };
  return { rig, list, page, ids, load, abort };
}

describe('the list of commands', () => {
  it('has the unresolved first, the oldest on top, then the newest', async () => {
    const { ids, load } = await start();
    await load();
    expect(ids()).toEqual(['a unknown', 'b unknown', 'c applied']);
  });

  it('takes each step as it comes, the newest alone, and draws once a frame', async () => {
    const { rig, list, ids, load } = await start();
    await load();
    list.takeResult(resultOf({ commandId: 'a', version: 5, state: 'applied', createdAt: at(10) }));
    list.takeResult(resultOf({ commandId: 'a', version: 4, state: 'unknown', createdAt: at(10) }));
    list.takeResult(resultOf({ commandId: 'd', version: 1, state: 'open', createdAt: at(40) }));
    expect(ids()).toEqual(['a unknown', 'b unknown', 'c applied']);
    expect(rig.draw()).toBe(1);
    expect(ids()).toEqual(['b unknown', 'd open', 'c applied', 'a applied']);
  });

  it('keeps the steps that come while it is read', async () => {
    const { rig, list, ids, load } = await start();
    const loading = load();
    list.takeResult(resultOf({ commandId: 'a', version: 5, state: 'rejected', createdAt: at(10) }));
    await loading;
    rig.draw();
    expect(ids()).toEqual(['b unknown', 'c applied', 'a rejected']);
  });

  it('leaves out what its filters do not ask for, also when that comes about later', async () => {
    const filters = { accountId: 'ACC-1', unresolved: 'true' };
    const { rig, list, page, ids, load } = await start(filters);
    page('/v1/commands?accountId=ACC-1&unresolved=true&limit=500', { items: [unknown('a', 10)] });
    page('/v1/commands?accountId=ACC-1&unresolved=true&limit=50', { items: [unknown('a', 10)] });
    await load();
    list.takeResult(resultOf({ commandId: 'x', state: 'unknown', accountId: 'ACC-2' }));
    list.takeResult(resultOf({ commandId: 'y', state: 'unknown' }));
    list.takeResult(resultOf({ commandId: 'a', version: 9, state: 'applied' }));
    rig.draw();
    expect(ids()).toEqual(['y unknown']);
  });

  it('asks the service whether a new command has the key that is looked for', async () => {
    const { rig, list, page, ids, load } = await start({ idempotencyKey: 'k' });
    page('/v1/commands?idempotencyKey=k&limit=500&unresolved=true', { items: [] });
    page('/v1/commands?idempotencyKey=k&limit=50', { items: [] });
    await load();
    page('/v1/commands?idempotencyKey=k&limit=50', { items: [resolved('mine', 50)] });
    for (const commandId of ['mine', 'other']) list.takeResult(resultOf({ commandId }));
    const asked = rig.asked.length;
    await rig.pass(1_000);
    expect(rig.asked.length).toBe(asked + 1);
    expect(ids()).toEqual(['mine applied']);
  });

  it('has the commands about one order alone, also where its id is the key of another command', async () => {
    const { rig, list, page, ids, load } = await start({ order: 'O-1' });
    const about = { ...resolved('mine', 30), orderId: 'O-1' };
    page('/v1/commands?q=O-1&limit=500&unresolved=true', { items: [] });
    page('/v1/commands?q=O-1&limit=50', { items: [about, resolved('other', 40)] });
    await load();
    expect(ids()).toEqual(['mine applied']);
    list.takeResult(resultOf({ commandId: 'new', orderId: 'O-1', createdAt: at(50) }));
    list.takeResult(resultOf({ commandId: 'foreign', orderId: 'O-2', createdAt: at(50) }));
    rig.draw();
    expect(ids().map((line) => line.split(' ')[0])).toEqual(['new', 'mine']);
  });

  it('reads older pages, and says when one could not be read', async () => {
    const { rig, list, page, ids, load, abort } = await start();
    await load();
    await list.more(abort.signal);
    expect(list.state.peek()).toMatchObject({ kind: 'shown', next: 'more', fault: expect.stringContaining('404') });
    page('/v1/commands?limit=50&cursor=more', { items: [resolved('old', 1)] });
    await list.more(abort.signal);
    expect(ids().at(-1)).toBe('old applied');
    expect(list.state.peek()).toEqual(
      expect.not.objectContaining({ next: expect.anything(), fault: expect.anything() }),
    );
    const asked = rig.asked.length;
    await list.more(abort.signal);
    expect(rig.asked.length).toBe(asked);
  });

  it('keeps a bounded number of rows, and all that are unresolved', async () => {
    const { rig, list, load } = await start();
    await load();
    for (let number = 0; number < 1_200; number += 1)
      list.takeResult(resultOf({ commandId: `n-${String(number).padStart(4, '0')}`, createdAt: at(59) }));
    rig.draw();
    const state = list.state.peek();
    expect(state).toMatchObject({ kind: 'shown', isCut: true });
    const rows = state.kind === 'shown' ? state.rows : [];
    expect(rows).toHaveLength(1_000);
    expect(rows.slice(0, 2).map(({ commandId }) => commandId)).toEqual(['a', 'b']);
  });

  it('says why it could not be read', async () => {
    const { rig, list, load } = await start();
    rig.answers.set('/v1/commands?limit=50', { status: 503, body: { code: 'STORE_UNAVAILABLE', detail: 'away' } });
    await load();
    expect(list.state.peek()).toEqual({ kind: 'failed', why: 'The service answers 503 STORE_UNAVAILABLE: away.' });
  });
});

describe('issue: The page of an order does not list the replace that made another order of it.', () => {
  const made = { kind: 'replace', stream: 'alpaca_paper', orderId: 'o-2', replaces: 'o-1' } as const;
  const listOf = (order: string, over: Partial<CommandHistory>) => {
    const items = [historyOf({ commandId: 'a', createdAt: at(10), ...over })];
    return start({ order }).then((list) => {
      list.page(`/v1/commands?q=${order}&limit=500&unresolved=true`, { items: [] });
      list.page(`/v1/commands?q=${order}&limit=50`, { items });
      return list;
    });
  };

  it.each(['o-1', 'o-2'])('both ends list it: %s', async (order) => {
    const { ids, load } = await listOf(order, { ...made, state: 'applied' });
    await load();
    expect(ids()).toEqual(['a applied']);
  });

  it('the order before keeps it when the step comes that names the new one', async () => {
    const { rig, list, ids, load } = await listOf('o-1', { ...made, orderId: 'o-1', replaces: undefined });
    await load();
    list.takeResult(resultOf({ ...made, commandId: 'a', version: 9 }));
    list.takeResult(resultOf({ ...made, commandId: 'b', orderId: 'o-4', replaces: 'o-3' }));
    rig.draw();
    expect(ids()).toEqual(['a applied']);
  });

  it('a text that is the key of another command lists nothing', async () => {
    const { ids, load } = await listOf('o-3', { ...made });
    await load();
    expect(ids()).toEqual([]);
  });
});
