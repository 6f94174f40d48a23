// What a user saw: A reconcile of all accounts left a command out, without a word, as its shard moved.

import { afterEach, describe, expect, it } from 'vitest';
import type { ReconcileReport } from '../../../src/service/commands/commands.ts';
import type { OtherInstance } from '../../../src/service/fleet/other-instances.ts';
import { CommandRig, placeEquity, unknown } from '../../support/commands/command-rig.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

type Rig = Awaited<ReturnType<typeof startRest>>;
const notLeader = { kind: 'declined', code: 'NOT_LEADER', message: 'another process holds the shards' } as const;
/** One open command of each account. */
const open = ['A', 'B', 'C'].map((accountId) => ({ commandId: `of-${accountId}`, accountId }));

/** Processes with a part of the accounts each, one that moves among them. */
class Fleet {
  holder: Record<string, string | undefined> = {};
  /** After so many calls of all processes together the account is where it moves to. */
  readonly moves: { readonly accountId: string; readonly to: string | undefined; readonly after: number }[] = [];
  /** Commands that their holder has no room for. */
  readonly noRoom = new Set<string>();
  readonly calls: string[] = [];
  stillOpen = open;
  readonly rigs: Record<string, Rig> = {};

  async start(names: readonly string[], againMs = 5_000): Promise<void> {
    const found = (name: string): OtherInstance => ({ instance: name, address: this.rigs[name]?.address ?? '' });
    for (const name of names) {
      const all = () => names.filter((other) => other !== name).map(found);
      const holderOf = (accountId: string) => {
        const holder = this.holder[accountId];
        return holder === undefined || holder === name ? undefined : found(holder);
      };
      const rig = await startRest({ instance: name, others: { all, holderOf }, forwards: { againMs } });
      stops.push(() => rig.server.drain(new AbortController().signal));
      this.rigs[name] = rig;
      rig.commands.openCommands = async () => ({ kind: 'done', commands: this.stillOpen });
      rig.commands.reconcile = async ({ accountId }) => this.reconcile(name, accountId);
    }
  }

  private reconcile(name: string, accountId: string | undefined) {
    this.calls.push(`${name} ${accountId ?? 'all'}`);
    for (const { accountId: moving, to, after } of this.moves) if (this.calls.length > after) this.holder[moving] = to;
    const mine = open.filter((each) => this.holder[each.accountId] === name);
    const asked = mine.filter((each) => accountId === undefined || each.accountId === accountId);
    if (accountId === undefined ? mine.length === 0 : asked.length === 0) return notLeader;
    const looked = asked.filter(({ commandId }) => !this.noRoom.has(commandId));
    const report: ReconcileReport = {
      ...{ unresolved: looked.length, probes: looked.length },
      settled: looked.map(({ commandId }) => ({ commandId, outcome: 'applied' })),
      plan: looked.map((each) => ({ ...each, stream: 'account', read: 'all', commands: [each.commandId] })),
    };
    return { kind: 'done', report } as const;
  }

  post(name: string, query = '') {
    return ask(`${this.rigs[name]?.address}/v1/reconcile${query}`, { method: 'POST' });
  }
}

const settledOf = (body: Record<string, unknown>) =>
  (body['settled'] as { commandId: string }[]).map(({ commandId }) => commandId).sort();

describe('a reconcile of all accounts', () => {
  it.each(['one', 'two'])('asks again for the account that moves to %s, and for no other', async (to) => {
    const fleet = new Fleet();
    fleet.holder = { A: 'one', B: 'two' };
    fleet.moves.push({ accountId: 'C', to, after: 3 });
    await fleet.start(['one', 'two']);
    const { status, body } = await fleet.post('one');
    expect([status, settledOf(body), body['left']]).toEqual([200, ['of-A', 'of-B', 'of-C'], undefined]);
    expect(fleet.calls.slice(0, 2).sort()).toEqual(['one all', 'two all']);
    expect(fleet.calls.slice(2).every((call) => call.endsWith(' C'))).toBe(true);
    expect(body).toMatchObject({ unresolved: 3, probes: 3 });
  });

  it('asks again where no process held anything at first', async () => {
    const fleet = new Fleet();
    for (const { accountId } of open) fleet.moves.push({ accountId, to: 'two', after: 2 });
    await fleet.start(['one', 'two']);
    const { body } = await fleet.post('one');
    expect([settledOf(body), body['left']]).toEqual([['of-A', 'of-B', 'of-C'], undefined]);
  });

  it('names what no process took in time', async () => {
    const fleet = new Fleet();
    fleet.holder = { A: 'one', B: 'two' };
    await fleet.start(['one', 'two'], 600);
    const { body } = await fleet.post('one');
    expect([settledOf(body), body['left']]).toEqual([['of-A', 'of-B'], [{ accountId: 'C', commands: ['of-C'] }]]);
  });

  it('names at once what its holder has no room for: asked again, it would say the same', async () => {
    const fleet = new Fleet();
    fleet.holder = { A: 'one', B: 'two', C: 'two' };
    fleet.noRoom.add('of-C');
    await fleet.start(['one', 'two']);
    const { body } = await fleet.post('one');
    expect(body['left']).toEqual([{ accountId: 'C', commands: ['of-C'] }]);
    expect(fleet.calls).toHaveLength(4);
  });

  it('names nothing that was settled meanwhile', async () => {
    const fleet = new Fleet();
    fleet.holder = { A: 'one', B: 'two' };
    await fleet.start(['one', 'two']);
    const { commands } = fleet.rigs['one'] as Rig;
    let reads = 0;
    commands.openCommands = async () => {
      reads += 1;
      return { kind: 'done', commands: reads === 1 ? open : open.slice(0, 2) };
    };
    expect((await fleet.post('one')).body['left']).toBeUndefined();
    expect(fleet.calls).toHaveLength(2);
  });

  it('is refused where the journal does not say what is open', async () => {
    const fleet = new Fleet();
    fleet.holder = { A: 'one', B: 'one', C: 'one' };
    await fleet.start(['one']);
    const { commands } = fleet.rigs['one'] as Rig;
    commands.openCommands = async () => ({ kind: 'declined', code: 'STORE_UNAVAILABLE', message: 'away' });
    expect(await fleet.post('one')).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
  });

  it('is answered for its own part alone where another instance asks', async () => {
    const fleet = new Fleet();
    fleet.holder = { A: 'one', B: 'two' };
    await fleet.start(['one', 'two']);
    const { body } = await ask(`${fleet.rigs['two']?.address}/v1/reconcile`, {
      method: 'POST',
      headers: { 'tidemark-forwarded': 'one' },
    });
    expect([settledOf(body), body['left'], fleet.calls]).toEqual([['of-B'], undefined, ['two all']]);
  });
});

it('open are the commands that are sent or unknown, of every shard, over all pages', async () => {
  const rig = await CommandRig.leading({ shards: [0, 1], shardOf: (accountId) => (accountId === 'acct-1' ? 0 : 1) });
  rig.entry.route = () => ({ result: unknown });
  const sent = [await rig.send(placeEquity), await rig.send({ ...placeEquity, accountId: 'acct-2' })];
  const over = await rig.send({ ...placeEquity, accountId: 'acct-3' });
  rig.land(over.commandId);
  await rig.clock.advance(1_000);
  rig.commands.end(1);
  const expected = sent.map(({ commandId, request: { accountId } }) => ({ commandId, accountId }));
  const read = async () => {
    const result = await rig.during(rig.commands.openCommands());
    return result.kind === 'done' ? result.commands : [];
  };
  expect(await read()).toEqual(expected);
  const unresolved = rig.journal.unresolved.bind(rig.journal);
  const [first] = await unresolved(1);
  if (first === undefined) throw new Error('there is none');
  const fullPage = (limit: number) => Array.from({ length: limit }, () => first);
  rig.journal.unresolved = async (limit, after) => (after === undefined ? fullPage(limit) : unresolved(limit));
  expect((await read()).slice(-2)).toEqual(expected);
  rig.journal.unresolved = () => Promise.reject(new Error('it is away'));
  expect(await rig.during(rig.commands.openCommands())).toMatchObject({ code: 'STORE_UNAVAILABLE' });
});
