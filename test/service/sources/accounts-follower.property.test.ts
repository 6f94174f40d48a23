import fc from 'fast-check';
import { expect, it } from 'vitest';
import { wantedAccounts } from '../../../src/service/sources/wanted-accounts.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { failedList, followerRig, listOf } from '../../support/orders/follower-rig.ts';
import { ScriptedRegistry } from '../../support/platform/scripted-registry.ts';

const ids = ['a', 'b', 'c', 'd'];
const names = ['one', 'two', 'three'];
const id = fc.constantFrom(...ids);
const name = fc.constantFrom(...names);
const event = fc.oneof(
  fc.record({
    kind: fc.constant('lists' as const),
    name,
    shown: fc.subarray(ids),
    unreadable: fc.constantFrom(0, 0, 1),
  }),
  fc.record({ kind: fc.constant('fails' as const), name }),
  fc.record({ kind: fc.constant('comes' as const), name }),
  fc.record({ kind: fc.constant('goes' as const), name }),
  fc.record({ kind: fc.constant('moves' as const), ours: fc.subarray(ids) }),
  fc.record({ kind: fc.constant('database' as const), away: fc.boolean() }),
  fc.record({ kind: fc.constant('others' as const), knowsAll: fc.boolean() }),
  fc.record({ kind: fc.constant('written' as const), id }),
  fc.record({ kind: fc.constant('waits' as const), ms: fc.constantFrom(0, 1, 30, 700, 3_000, 50_000) }),
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

/** A registry that takes its time, may be away, and is written by other processes too. */
class SharedRegistry extends ScriptedRegistry {
  away = false;
  wait: () => Promise<void> = async () => undefined;

  override async load() {
    const read = await super.load();
    await this.wait();
    if (this.away) throw new Error('away');
    return read;
  }

  override async save(record: Parameters<ScriptedRegistry['save']>[0]) {
    await this.wait();
    if (this.away) throw new Error('away');
    await super.save(record);
  }
}

async function run(events: readonly Event[]) {
  const registry = new SharedRegistry();
  let ours: readonly string[] = ['a', 'b'];
  const faults: string[] = [];
  const rig = followerRig({
    registry,
    isOurs: (accountId) => ours.includes(accountId),
    onFollow: (login, record) => {
      const { accountId, stream, sourceEpoch } = record;
      if (!ours.includes(accountId)) faults.push(`${accountId} is another process's`);
      if (registry.get(stream, accountId)?.sourceEpoch !== sourceEpoch) faults.push(`${accountId} has an old record`);
      for (const [other, { sources }] of rig.logins)
        if (other !== login && sources.some((source) => source.followed.has(accountId)))
          faults.push(`${accountId} is followed by ${login} and ${other}`);
    },
  });
  registry.wait = () => rig.clock.sleep(20);
  const lists = new Map<string, ReturnType<typeof listOf> | typeof failedList>();
  const logins = new Map<string, ReturnType<typeof rig.add>>();
  const say = (who: string, list: ReturnType<typeof listOf> | typeof failedList) => {
    lists.set(who, list);
    const login = logins.get(who);
    if (login !== undefined) login.platform.list = list;
  };
  const apply: { readonly [K in Event['kind']]: (each: Extract<Event, { kind: K }>) => unknown } = {
    lists: (each) => say(each.name, { ...listOf(...each.shown), unreadable: each.unreadable }),
    fails: (each) => say(each.name, failedList),
    comes: (each) => logins.has(each.name) || logins.set(each.name, rig.add(each.name, lists.get(each.name))),
    goes: (each) => logins.delete(each.name) && rig.remove(each.name),
    moves: (each) => {
      ours = each.ours;
      rig.follower.review();
      for (const login of logins.values())
        for (const accountId of login.followed) if (!ours.includes(accountId)) faults.push(`${accountId} was not left`);
    },
    database: (each) => Object.assign(registry, { away: each.away }),
    others: (each) => Object.assign(rig.state, { knowsAll: each.knowsAll }),
    // By whoever follows the account: a session here, or another process.
    written: (each) => {
      const isFollowed = [...logins.values()].some(({ followed }) => followed.includes(each.id));
      if (ours.includes(each.id) && !isFollowed) return;
      const before = registry.get('account', each.id) ?? unreadAccount(each.id);
      registry.records.set(`account:${each.id}`, { ...before, sourceEpoch: before.sourceEpoch + 1 });
    },
    waits: (each) => rig.clock.advance(each.ms),
  };
  rig.begin();
  for (const each of events) await (apply[each.kind] as (one: Event) => unknown)(each);
  registry.away = false;
  return { rig, registry, logins, faults, isOurs: (accountId: string) => ours.includes(accountId) };
}

// Answers of lists, shards that move, logins that come, fail and go, a database that is away, in
// any order. The end is what ought to be, and no account ever has two logins on the way.
it('whatever comes in whatever order, what is followed becomes what ought to be followed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 25 }), async (events) => {
      const { rig, registry, logins, faults, isOurs } = await run(events);
      // Two lists of each, and the turns after them.
      await rig.clock.advance(130_000);
      const followed = [...logins].flatMap(([login, { sources }]) =>
        sources.flatMap((source) =>
          [...source.followed.keys()].map((accountId) => ({ login, accountId, stream: source.stream })),
        ),
      );
      const wanted = wantedAccounts({
        logins: new Map([...rig.logins].map(([login, { list }]) => [login, list.lists])),
        isSole: rig.follower.isSole,
        known: Map.groupBy(registry.records.values(), ({ accountId }) => accountId) as never,
        ...{ ofVenue: ['account', 'prediction'], streams: ['account', 'prediction'], isOurs },
        now: new Map(followed.map(({ accountId, login }) => [accountId, login])),
      });
      await rig.end();
      expect(faults).toEqual([]);
      const ought = [...wanted].filter(([, { login }]) => login !== undefined);
      expect(new Map(followed.map(({ accountId, login }) => [accountId, login]))).toEqual(
        new Map(ought.map(([accountId, { login }]) => [accountId, login])),
      );
    }),
    { numRuns: 300 },
  );
});
