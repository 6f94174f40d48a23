import { describe, expect, it } from 'vitest';
import { Search } from '../../src/console/state/orders/search.ts';
import { ConsoleRig, listedOf, updateOf } from '../support/rest/console-rig.ts';
import { historyOf } from './command-history.ts';

function start(scopes: readonly string[] = ['orders:read', 'ops:read']) {
  const rig = new ConsoleRig();
  const search = new Search(rig.state, (scope) => scopes.includes(scope));
  const answer = (path: string, items: readonly unknown[]) => rig.answers.set(path, { status: 200, body: { items } });
  answer('/v1/accounts', [
    { accountId: 'ACC-1', openOrders: 2 },
    { accountId: 'ACC-1', openOrders: 3 },
    { accountId: 'SIM-2', openOrders: 0 },
  ]);
  const found = async (text: string) => {
    for (const path of [`/v1/orders?q=${text}&limit=6`, `/v1/commands?q=${text}&limit=6`])
      if (!rig.answers.has(path)) answer(path, []);
    const asked = search.ask(text);
    await rig.pass(200);
    await asked;
    return search.state.peek();
  };
  return { rig, search, answer, found };
}

describe('the search', () => {
  it('finds commands, orders and accounts, and leads to the filter of live orders', async () => {
    const { answer, found } = start();
    answer('/v1/orders?q=acc&limit=6', [listedOf(updateOf({ orderId: 'acc-9' }))]);
    answer('/v1/commands?q=acc&limit=6', [historyOf({ callerRef: 'acc' })]);
    const { hits, text, isAsking } = await found('acc');
    expect([text, isAsking]).toEqual(['acc', false]);
    expect(hits.map(({ kind, address }) => [kind, address])).toEqual([
      ['command', `/console/commands/${historyOf().commandId}`],
      ['order', '/console/orders/account/acc-9'],
      ['account', '/console?account=ACC-1'],
      ['filter', '/console?text=acc'],
    ]);
    expect(hits[2]).toMatchObject({ openOrders: 5 });
  });

  it('asks once for a text that is typed letter by letter, and drops the answers to earlier ones', async () => {
    const { rig, search, found } = start();
    void search.ask('ma');
    await rig.pass(100);
    void search.ask('mar');
    await rig.pass(100);
    expect((await found('mark')).text).toBe('mark');
    expect(rig.asked.map(({ path }) => path)).toEqual([
      '/v1/commands?q=mark&limit=6',
      '/v1/orders?q=mark&limit=6',
      '/v1/accounts',
    ]);
  });

  it('asks nothing for less than two characters, and clears what was found', async () => {
    const { rig, search, found } = start();
    await found('acc');
    const asked = rig.asked.length;
    await search.ask(' a ');
    await rig.pass(1_000);
    expect(rig.asked.length).toBe(asked);
    expect(search.state.peek()).toEqual({ text: '', isAsking: false, hits: [] });
  });

  it('asks for no orders with a token that may not read them', async () => {
    const { rig, found } = start(['ops:read']);
    expect((await found('acc')).hits.map(({ kind }) => kind)).toEqual(['account']);
    expect(rig.asked.some(({ path }) => path.startsWith('/v1/orders'))).toBe(false);
  });

  it('says that a part could not be searched', async () => {
    const { rig, found } = start();
    rig.answers.set('/v1/commands?q=acc&limit=6', { status: 503, body: { code: 'STORE_UNAVAILABLE', detail: 'away' } });
    expect(await found('acc')).toMatchObject({ fault: 'The service answers 503 STORE_UNAVAILABLE: away.' });
  });
});

it('reads on past pages without a hit, and says where it ended', async () => {
  const { rig, found } = start();
  const hit = listedOf(updateOf({ orderId: 'ord-77' }));
  rig.answers.set('/v1/orders?q=venue&limit=6', { status: 200, body: { items: [], next: 'c1' } });
  rig.answers.set('/v1/orders?q=venue&limit=6&cursor=c1', { status: 200, body: { items: [hit] } });
  expect((await found('venue')).hits).toContainEqual(expect.objectContaining({ kind: 'order', order: hit }));
  rig.answers.set('/v1/orders?q=nowhere&limit=6', { status: 200, body: { items: [], next: 'c1' } });
  rig.answers.set('/v1/orders?q=nowhere&limit=6&cursor=c1', { status: 200, body: { items: [], next: 'c1' } });
  expect((await found('nowhere')).fault).toMatch(/more orders than it looks through/);
});
