import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { HeldShards } from '../../../src/service/fleet/held-shards.ts';
import { OrphanLanes } from '../../../src/service/fleet/orphan-lanes.ts';
import { ShardKeeper, shardKeeperDefaults } from '../../../src/service/fleet/shard-keeper.ts';
import { ShardWork } from '../../../src/service/fleet/shard-work.ts';
import type { Fleet, HeldShard, LaneMember } from '../../../src/store/fleet/shard-store.ts';
import { CommandRig, placeEquity } from '../../support/commands/command-rig.ts';
import { service } from '../../support/commands/journal-fixtures.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { MemoryFleet } from './memory-fleet.ts';

/** One process on lane 0 of a fleet of four shards; every act on a shard is noted in order. */
function rig({ commands = {} }: { commands?: { begin?: () => Promise<void> } } = {}) {
  const clock = new VirtualClock();
  const fleet = new MemoryFleet(4, clock);
  fleet.epochs.set(0, 1n);
  const held = new HeldShards();
  const acts: string[] = [];
  const state = {
    ...{
      published: [] as Promise<void>[],
      finished: [] as number[],
      changes: 0,
      lost: false,
      unfinished: 0,
      forgets: 0,
    },
    uncommitted: undefined as Promise<void> | undefined,
    /** Kafka cannot be asked since then. */
    silentSinceMs: undefined as number | undefined,
    onAsk: () => {},
  };
  const metrics = createMetrics().ingest;
  const keeper = new ShardKeeper(
    {
      store: fleet,
      lease: { lane: 0, epoch: 1n, mayAct: () => true },
      held,
      sources: { review: () => acts.push(`follow ${held.shards}`) },
      ingest: {
        committed: async () => {
          await state.uncommitted;
          acts.push('resolved');
        },
        fence: async () => void acts.push('fence'),
        forgetOrders: () => {
          state.forgets += 1;
        },
      },
      published: async (signal) => {
        await Promise.race([
          state.published.shift(),
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late')))),
        ]);
        acts.push('published');
      },
      commands: {
        begin: async ({ shard }: HeldShard) => {
          await commands.begin?.();
          acts.push(`commands ${shard}`);
        },
        quiesce: async (shard: number) => void acts.push(`quiesce ${shard}`),
        end: (shard: number) => void acts.push(`end ${shard}`),
      },
      finish: async (lane) => {
        state.finished.push(lane);
        if (state.unfinished > 0) {
          state.unfinished -= 1;
          throw new Error('Kafka is away');
        }
        fleet.orphans.delete(lane);
        for (const assignment of fleet.assignments) if (assignment.lane === lane) assignment.lane = undefined;
      },
      lossCheck: {
        begin: async () => {
          state.onAsk();
          if (state.lost) throw new Error('the database lost commits');
        },
        get failingForMs() {
          return state.silentSinceMs === undefined ? undefined : clock.monotonicMs() - state.silentSinceMs;
        },
      },
      changeLane: () => {
        state.changes += 1;
      },
      metrics,
      introduction: () => ({ weight: 1, address: undefined, version: '1' }),
      clock,
      log: silentLog,
    },
    { ...shardKeeperDefaults, expireAfterMs: 6_000, holder: 'process-0' },
  );
  const begin = async () => {
    await keeper.resume();
    await keeper.begin();
    await clock.advance(1);
  };
  /** The shards that moved, and the lanes that were finished, as the metrics count them. */
  const counted = async () => {
    const values = [...(await metrics.shardMoves.get()).values, ...(await metrics.laneFinishes.get()).values];
    return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels)[0], value]));
  };
  return { clock, fleet, held, acts, state, keeper, begin, counted };
}

type Rig = ReturnType<typeof rig> & { readonly stop: AbortController };

describe('the keeper of the shards', () => {
  it('takes all shards while it is alone, and begins to follow before it takes commands', async () => {
    const { begin, held, acts, keeper, clock } = rig();
    await begin();
    expect(held.shards).toEqual([0, 1, 2, 3]);
    expect(acts).toEqual(['fence', 'follow 0,1,2,3', 'commands 0', 'commands 1', 'commands 2', 'commands 3']);
    void keeper.end();
    await clock.advance(1);
    expect(held.size).toBe(0);
  });

  it('gives one shard every 5 s to a process that came, and frees it only when all of it is on Kafka', async () => {
    const { begin, held, acts, fleet, clock, state, counted } = rig();
    await begin();
    fleet.join(1);
    acts.length = 0;
    const published = Promise.withResolvers<void>();
    state.published = [Promise.resolve(), published.promise];
    await clock.advance(600);
    expect(acts).toEqual(['published', 'quiesce 3', 'end 3', 'follow 0,1,2', 'resolved']);
    expect(fleet.of(0)).toEqual([0, 1, 2, 3]);
    published.resolve();
    await clock.advance(100);
    expect([fleet.of(0), held.shards]).toEqual([
      [0, 1, 2],
      [0, 1, 2],
    ]);
    fleet.join(1, [3]);
    await clock.advance(5_200);
    expect(fleet.of(0)).toEqual([0, 1]);
    expect(await counted()).toEqual({ taken: 4, given: 2 });
  });

  it('leaves a free shard while Kafka cannot be asked, until a holder that lives would have noticed that its commits are lost', async () => {
    const { begin, held, fleet, clock, state } = rig();
    fleet.join(1, [2, 3]);
    await begin();
    expect(held.shards).toEqual([0, 1]);
    state.silentSinceMs = clock.monotonicMs();
    fleet.leave(1);
    await clock.advance(5_900);
    expect([fleet.of(0), held.shards]).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await clock.advance(700);
    expect([fleet.of(0), held.shards]).toEqual([
      [0, 1, 2, 3],
      [0, 1, 2, 3],
    ]);
  });

  it('frees a shard again that it has taken, where Kafka could not be asked then', async () => {
    const { begin, held, acts, fleet, clock, state } = rig();
    fleet.join(1, [2, 3]);
    await begin();
    acts.length = 0;
    state.onAsk = () => {
      state.silentSinceMs = clock.monotonicMs();
    };
    fleet.leave(1);
    await clock.advance(600);
    expect([fleet.of(0), held.shards, acts]).toEqual([[0, 1], [0, 1], ['fence']]);
    state.onAsk = () => {};
    state.silentSinceMs = undefined;
    await clock.advance(600);
    expect([fleet.of(0), held.shards]).toEqual([
      [0, 1, 2, 3],
      [0, 1, 2, 3],
    ]);
  });

  it('does not free a pinned shard again, and works on it once Kafka can be asked', async () => {
    const { begin, held, fleet, clock, state } = rig();
    fleet.join(1, [2, 3]);
    await begin();
    const [, , , last] = fleet.assignments;
    if (last !== undefined) last.pinned = true;
    state.onAsk = () => {
      state.silentSinceMs ??= clock.monotonicMs();
    };
    fleet.leave(1);
    await clock.advance(1_200);
    expect([fleet.of(0), held.shards]).toEqual([
      [0, 1, 3],
      [0, 1],
    ]);
    state.onAsk = () => {};
    state.silentSinceMs = undefined;
    await clock.advance(600);
    expect(held.shards).toEqual([0, 1, 2, 3]);
  });

  it('looks more often while another process ends or a shard is free, and in a large fleet no more often than ever', async () => {
    const { begin, held, fleet, clock } = rig();
    fleet.join(1, [3]);
    await begin();
    fleet.end(1);
    await clock.advance(500);
    fleet.leave(1);
    await clock.advance(110);
    expect(held.shards).toEqual([0, 1, 2, 3]);

    const large = rig();
    for (let lane = 1; lane <= 20; lane += 1) large.fleet.join(lane, lane === 1 ? [0, 1, 2, 3] : []);
    await large.begin();
    const looks = large.fleet.looks;
    large.fleet.end(1);
    await large.clock.advance(5_000);
    expect(large.fleet.looks - looks).toBeLessThanOrEqual(10);
  });

  it('takes a shard over that it gave and no other took, and gives none for 5 s then', async () => {
    const { begin, held, fleet, clock, counted } = rig();
    await begin();
    fleet.join(1);
    await clock.advance(600);
    expect(fleet.of(0)).toEqual([0, 1, 2]);
    await clock.advance(400);
    expect(fleet.of(0)).toEqual([0, 1, 2]);
    await clock.advance(300);
    expect([fleet.of(0), held.shards]).toEqual([
      [0, 1, 2, 3],
      [0, 1, 2, 3],
    ]);
    await clock.advance(4_700);
    expect(await counted()).toEqual({ taken: 5, given: 1 });
    await clock.advance(1_100);
    expect(await counted()).toEqual({ taken: 5, given: 2 });
  });

  it('keeps a shard that could not be published in time, and works on it again', async () => {
    const { begin, held, acts, fleet, clock, state, counted } = rig();
    await begin();
    fleet.join(1);
    state.published = [Promise.resolve(), new Promise(() => {})];
    await clock.advance(10_300);
    acts.length = 0;
    await clock.advance(600);
    expect(fleet.of(0)).toEqual([0, 1, 2, 3]);
    expect(held.shards).toEqual([0, 1, 2, 3]);
    expect(acts).toEqual(['fence', 'follow 0,1,2,3', 'commands 3']);
    expect(await counted()).toEqual({ taken: 5, kept: 1 });
  });

  it('takes a shard up again whose freeing was not answered, and which is freed no more when that is done late', async () => {
    const { begin, held, fleet, clock } = rig();
    await begin();
    fleet.join(1);
    const free = fleet.free.bind(fleet);
    const late: (() => Promise<boolean>)[] = [];
    fleet.free = async (...call) => {
      late.push(() => free(...call));
      throw new Error('the answer was lost');
    };
    await clock.advance(12_000);
    fleet.free = free;
    fleet.members.delete(1);
    await clock.advance(1_000);
    expect(held.shards).toEqual([0, 1, 2, 3]);
    expect(late.length).toBeGreaterThan(0);
    for (const act of late) expect(await act()).toBe(false);
    expect(fleet.of(0)).toEqual([0, 1, 2, 3]);
  });

  it('introduces itself again when the database came back without its introduction', async () => {
    const { begin, held, fleet, clock } = rig();
    await begin();
    const me = fleet.members.get(0);
    if (me !== undefined) fleet.members.set(0, { ...me, version: '', weight: 0 });
    for (const assignment of fleet.assignments) assignment.lane = undefined;
    await clock.advance(2_500);
    expect(held.shards).toEqual([0, 1, 2, 3]);
  });

  it('leaves a shard that an old taking took once more, and takes it up again', async () => {
    const { begin, held, fleet, clock, acts } = rig();
    await begin();
    const assignment = fleet.assignments[2];
    if (assignment !== undefined) assignment.epoch += 1n;
    acts.length = 0;
    await clock.advance(1_200);
    expect(held.shards).toEqual([0, 1, 2, 3]);
    expect(held.get(2)?.epoch).toBe(fleet.assignments[2]?.epoch);
    expect(acts).toContain('commands 2');
  });

  it('works on no shard that it took while the database lacks what Kafka has', async () => {
    const { begin, held, fleet, clock, state } = rig();
    state.lost = true;
    await begin();
    expect([held.shards, fleet.of(0)]).toEqual([[], [0, 1, 2, 3]]);
    await clock.advance(2_000);
    expect(held.shards).toEqual([]);
    state.lost = false;
    await clock.advance(600);
    expect(held.shards).toEqual([0, 1, 2, 3]);
  });

  it('leaves no shard without a process for a try while Kafka is away', async () => {
    const { begin, held, acts, fleet, clock, state } = rig();
    await begin();
    fleet.join(1);
    acts.length = 0;
    state.published = Array.from({ length: 9 }, () => new Promise(() => {}));
    await clock.advance(30_000);
    expect([acts, held.shards]).toEqual([[], [0, 1, 2, 3]]);
  });

  it('finishes a lane that has no process, and takes its shards', async () => {
    const { begin, held, fleet, clock, state, counted } = rig();
    fleet.join(1, [2, 3]);
    await begin();
    expect(held.shards).toEqual([0, 1]);
    fleet.members.delete(1);
    fleet.orphans.set(1, { lane: 1, idleMs: 7_000 });
    await clock.advance(1_200);
    expect([state.finished, state.changes]).toEqual([[1], 0]);
    expect(held.shards).toEqual([0, 1, 2, 3]);
    expect(await counted()).toEqual({ taken: 4, finished: 1 });
  });

  it('leaves a lane that it could not finish to the others for two seconds', async () => {
    const { begin, fleet, clock, state } = rig();
    fleet.join(1, [2, 3]);
    await begin();
    fleet.members.delete(1);
    fleet.orphans.set(1, { lane: 1, idleMs: 7_000 });
    state.unfinished = 1;
    await clock.advance(1_900);
    expect(state.finished).toEqual([1]);
    await clock.advance(1_200);
    expect(state.finished).toEqual([1, 1]);
    expect(fleet.of(0)).toEqual([0, 1, 2, 3]);
  });

  it('changes to such a lane when it holds no shard itself', async () => {
    const { begin, fleet, state } = rig();
    for (const assignment of fleet.assignments) assignment.lane = 1;
    fleet.orphans.set(1, { lane: 1, idleMs: 7_000 });
    await begin();
    expect([state.finished, state.changes]).toEqual([[], 1]);
  });

  it('gives all its shards one after the other once it is drained, and then finishes such a lane', async () => {
    const { begin, held, fleet, clock, state } = rig();
    await begin();
    fleet.join(1);
    fleet.drain(0);
    await clock.advance(2_500);
    expect([held.shards, fleet.of(0)]).toEqual([[], []]);
    fleet.members.delete(1);
    fleet.join(1, [0, 1, 2, 3]);
    fleet.members.delete(1);
    fleet.orphans.set(1, { lane: 1, idleMs: 7_000 });
    await clock.advance(1_200);
    expect([state.finished, state.changes, held.shards]).toEqual([[1], 0, []]);
  });

  it('holds the shards of its lane again under new epochs', async () => {
    const { begin, held, fleet } = rig();
    fleet.join(0, [1, 2]);
    fleet.join(1, [0, 3]);
    await begin();
    expect(held.shards).toEqual([1, 2]);
    expect(fleet.assignments.map(({ epoch }) => epoch)).toEqual([0n, 1n, 1n, 0n]);
  });

  it('does not begin under an epoch that is gone', async () => {
    const { keeper, fleet } = rig();
    await keeper.resume();
    fleet.epochs.set(0, 2n);
    await expect(keeper.begin()).rejects.toThrow('the lane was lost');
    await expect(keeper.resume()).rejects.toThrow('the lane was lost');
  });

  it('counts as one that takes shards only from the moment on at which it can', async () => {
    const { keeper, fleet } = rig();
    await keeper.resume();
    expect(fleet.members.get(0)).toBeUndefined();
    await keeper.begin();
    expect(fleet.members.get(0)).toMatchObject({ weight: 1, draining: false });
  });

  it('takes up a shard whose taking was answered late, and leaves one that another process has', async () => {
    const { begin, held, acts, fleet, clock, counted } = rig();
    await begin();
    const [assignment] = fleet.assignments;
    if (assignment === undefined) throw new Error('a fleet has shards');
    assignment.lane = 7;
    acts.length = 0;
    await clock.advance(600);
    expect([held.shards, acts]).toEqual([
      [1, 2, 3],
      ['follow 1,2,3', 'end 0'],
    ]);
    assignment.lane = 0;
    await clock.advance(600);
    expect(held.shards).toEqual([0, 1, 2, 3]);
    expect(acts.at(-1)).toBe('commands 0');
    expect(await counted()).toEqual({ taken: 5, lost: 1 });
  });

  it('takes up no shard of its lane that another process has taken by now', async () => {
    const { begin, held, fleet, clock } = rig();
    fleet.join(1, [2, 3]);
    await begin();
    expect(held.shards).toEqual([0, 1]);
    fleet.join(0, [3]);
    fleet.members.set(0, { ...fleet.members.get(0), holder: 'a-later-process' } as LaneMember);
    await clock.advance(600);
    expect(held.shards).toEqual([0, 1]);
  });

  it('tries again to take commands when the journal could not be read', async () => {
    let failures = 1;
    const { begin, acts, clock } = rig({
      commands: {
        begin: async () => {
          failures -= 1;
          if (failures >= 0) throw new Error('the journal is away');
        },
      },
    });
    await begin();
    expect(acts).toEqual(['fence', 'follow 0,1,2,3']);
    await clock.advance(600);
    expect(acts).toEqual(['fence', 'follow 0,1,2,3', 'commands 1', 'commands 2', 'commands 3', 'commands 0']);
  });

  it('keeps what it holds while the database is away', async () => {
    const { begin, held, fleet, clock } = rig();
    await begin();
    fleet.down = true;
    await clock.advance(5_000);
    expect(held.size).toBe(4);
  });

  it('gives its shards one by one when it ends, while the rest of them is worked on', async () => {
    const { begin, fleet, keeper, clock, held, acts, counted } = rig();
    fleet.join(1, [2, 3]);
    await begin();
    acts.length = 0;
    const retired = keeper.retire(new AbortController().signal);
    await clock.advance(110);
    expect([fleet.members.get(0)?.draining, fleet.of(0), held.shards]).toEqual([true, [0], [0]]);
    expect(acts).toEqual(['published', 'quiesce 1', 'end 1', 'follow 0', 'resolved', 'published']);
    await clock.advance(110);
    await retired;
    expect([fleet.of(0), held.shards]).toEqual([[], []]);
    await clock.advance(5_000);
    expect(await counted()).toEqual({ taken: 2, given: 2 });
  });

  it.each([
    ['a shard cannot be given', (parts: Rig) => parts.state.published.push(new Promise(() => {})), 3_600],
    ['the database is away', (parts: Rig) => Object.assign(parts.fleet, { down: true }), 600],
    ['the others end too', (parts: Rig) => parts.fleet.end(1), 600],
    ['it has no more time', (parts: Rig) => parts.stop.abort(), 1],
  ])('keeps its shards for the last act when it ends and %s', async (_, meanwhile, withinMs) => {
    const parts = { ...rig(), stop: new AbortController() };
    const { begin, fleet, keeper, clock, stop } = parts;
    fleet.join(1, [2, 3]);
    await begin();
    meanwhile(parts);
    let isOver = false;
    void keeper.retire(stop.signal).then(() => {
      isOver = true;
    });
    await clock.advance(withinMs);
    expect([isOver, fleet.of(0)]).toEqual([true, [0, 1]]);
  });

  it('frees its shards at the end, unless something of them is not on Kafka', async () => {
    const { begin, fleet, keeper, clock, state } = rig();
    await begin();
    await keeper.retire(new AbortController().signal);
    expect(fleet.members.get(0)).toMatchObject({ draining: true });
    state.published = [new Promise(() => {})];
    const kept = keeper.release(new AbortController().signal);
    await clock.advance(600);
    await kept;
    expect(fleet.of(0)).toEqual([0, 1, 2, 3]);
    await keeper.release(new AbortController().signal);
    expect(fleet.of(0)).toEqual([]);
  });

  it('keeps them where the drain has no more time: a batch of its own may still commit', async () => {
    const { begin, fleet, keeper } = rig();
    await begin();
    await keeper.retire(new AbortController().signal);
    await keeper.release(AbortSignal.abort());
    expect(fleet.of(0)).toEqual([0, 1, 2, 3]);
  });
});

describe('issue: The accounts of dead processes stayed without service behind one lane that always failed.', () => {
  const introduction = { holder: 'p9', weight: 1, address: undefined, version: '1', draining: false, drained: false };
  const member: LaneMember = { lane: 9, livedMs: 60_000, ...introduction };

  /**
   * Looks at these lanes without a process for `forMs`, and gives the times in seconds at which
   * each was tried. Those of `stuck` take 20 s, and fail.
   */
  async function triesOf(all: readonly number[], stuck: ReadonlySet<number>, forMs: number) {
    const clock = new VirtualClock();
    const tries = new Map<number, number[]>(all.map((lane) => [lane, []]));
    const left = new Set(all);
    const lanes = new OrphanLanes({
      lease: { lane: 9 },
      finish: async (lane) => {
        tries.get(lane)?.push(clock.monotonicMs() / 1000);
        await clock.sleep(stuck.has(lane) ? 20_000 : 300);
        if (stuck.has(lane)) throw new Error('a row that Kafka refuses');
        left.delete(lane);
      },
      changeLane: () => {},
      metrics: createMetrics().ingest,
      clock,
      log: silentLog,
    });
    const { signal } = new AbortController();
    for (let t = 0; t < forMs; t += 500) {
      const assignments = [...left].map((lane) => ({ shard: lane, lane, pinned: false, epoch: 1n, sinceMs: 0 }));
      const fleet: Fleet = {
        members: [member],
        assignments,
        orphans: [...left].map((lane) => ({ lane, idleMs: 7_000 })),
      };
      lanes.review(fleet, { holds: true, isTroubled: false }, signal);
      await clock.advance(500);
    }
    return { tries, left: [...left] };
  }

  // Lane 0 alone was tried for as long as it could not be finished.
  it('one lane that can not be finished delays none of those behind it', async () => {
    const { tries, left } = await triesOf([0, 1, 2, 3, 4], new Set([0]), 300_000);
    expect(left).toEqual([0]);
    for (const lane of [1, 2, 3, 4]) expect(tries.get(lane)?.at(-1)).toBeLessThan(3);
    // It is tried again and again itself: a try of 20 s, and a rest of 2 s.
    expect(tries.get(0)?.length).toBeGreaterThan(12);
  });

  it('as many stuck lanes as are tried at once leave the others their turn', async () => {
    const { tries, left } = await triesOf([0, 1, 2, 3, 4, 5], new Set([0, 1, 2, 3]), 120_000);
    expect(left).toEqual([0, 1, 2, 3]);
    // Behind one round of tries.
    for (const lane of [4, 5]) expect(tries.get(lane)?.at(-1)).toBeLessThan(25);
    for (const lane of [0, 1, 2, 3]) expect(tries.get(lane)?.length).toBeGreaterThan(2);
  });
});

describe('issue: A process stood still for 13 s when it took 2,000 shards of another one.', () => {
  it('goes once through the orders in memory for all shards that it takes together', async () => {
    const { begin, held, state } = rig();
    await begin();
    expect([held.shards, state.forgets]).toEqual([[0, 1, 2, 3], 1]);
  });
});

describe('issue: A drained process with a slow database left one account again and again, and never gave it.', () => {
  it('follows a shard that could not be given for half a minute before it tries again', async () => {
    const { begin, held, acts, fleet, clock, state } = rig();
    await begin();
    fleet.join(1);
    fleet.drain(0);
    state.uncommitted = new Promise(() => undefined);
    acts.length = 0;
    await clock.advance(39_000);
    expect([acts.filter((act) => act === 'quiesce 3'), held.shards]).toEqual([['quiesce 3'], [0, 1, 2, 3]]);
    state.uncommitted = undefined;
    await clock.advance(10_000);
    expect(held.shards).toEqual([]);
  });
});

describe('issue: Commands of healthy shards waited because the journal of one shard could not be read.', () => {
  it('commands of a shard are taken although the journal of another one can not be read', async () => {
    const begun: number[] = [];
    let broken = true;
    const commands = {
      expect: () => undefined,
      begin: async ({ shard }: { readonly shard: number }) => {
        if (shard === 0 && broken) throw new Error('the journal of shard 0 can not be read');
        begun.push(shard);
      },
      quiesce: async () => undefined,
      end: () => undefined,
    };
    const ingest = { forgetOrders: () => undefined };
    const sources = { review: () => undefined };
    const deps = { held: new HeldShards(), sources, ingest, commands, metrics: createMetrics().ingest, log: silentLog };
    const work = new ShardWork(deps);
    work.resume(
      16,
      [0, 1, 2].map((shard) => ({ shard, epoch: 1n })),
    );
    const failure = 'the journal of shard 0';
    await expect(work.beginCommands()).rejects.toThrow(failure);
    await expect(work.beginCommands()).rejects.toThrow(failure);
    await expect(work.beginCommands()).rejects.toThrow(failure);
    expect(begun).toEqual([1, 2]);
    broken = false;
    await work.beginCommands();
    expect(begun).toEqual([1, 2, 0]);
  });
});

describe('issue: A command had two results of one version after a failover lost the takeover of its shard.', () => {
  const held = { shard: 0, epoch: 2n };
  const again = { shard: 0, epoch: 3n };

  /**
   * A process that took over a place in the middle of its write, and a database that has lost that:
   * the taking, the sweep, and a halt that another process raised is there by now.
   */
  async function withoutItsTakeover(noticeLost: () => Promise<void>) {
    const before = await CommandRig.leading();
    before.entry.scripts.push({ answerMs: 60_000, result: { kind: 'accepted', answer: {} } });
    void before.commands.submit(before.submission(placeEquity));
    await before.clock.advance(100);
    const [commandId = ''] = before.journal.commands.keys();
    const sending = before.command(commandId);
    before.commands.end(0);
    const rig = new CommandRig({}, before);
    rig.lease.confirm(held.epoch, rig.clock.monotonicMs());
    const work = new ShardWork({
      ...{ held: new HeldShards(), sources: { review: () => undefined }, ingest: { forgetOrders: () => undefined } },
      ...{ commands: rig.commands, noticeLost, metrics: createMetrics().ingest, log: silentLog },
    });
    work.resume(1, [held]);
    await rig.during(work.beginCommands());
    const swept = rig.command(commandId);
    expect(swept).toMatchObject({ state: 'unknown', version: sending.version + 1 });
    rig.loseSteps(commandId);
    await work.lose(0);
    const halt = { scope: service, cause: 'operator' as const, reason: 'kill switch', by: 'ann' };
    await rig.during(rig.journal.raiseHalt({ haltId: 'halt-1', ...halt, sinceMs: rig.clock.nowMs() }));
    return { rig, work, commandId, sending };
  }

  it('is made again whole: what is lost is noticed first, its attempts are swept, and the halts are read', async () => {
    const versions: number[] = [];
    let note = () => {};
    const { rig, work, commandId, sending } = await withoutItsTakeover(async () => note());
    note = () => void versions.push(rig.command(commandId).version);
    const taking = work.add([again]);
    const place = () => rig.commands.submit(rig.submission(placeEquity, { idempotencyKey: 'meanwhile' }));
    const early = place();
    await rig.during(taking);
    expect(versions, 'before the version is given again').toEqual([sending.version]);
    expect(rig.command(commandId)).toMatchObject({ state: 'unknown', attempts: [{ state: 'unknown' }] });
    expect(await rig.during(early)).toMatchObject({ kind: 'declined', code: 'NOT_LEADER' });
    expect(await rig.during(place())).toMatchObject({ kind: 'declined', code: 'PLACING_HALTED' });
    await rig.during(work.beginCommands());
    expect(versions, 'and once').toHaveLength(1);
  });

  it('waits while it can not be asked what is lost, and its commands with it', async () => {
    let away = false;
    const { rig, work, commandId } = await withoutItsTakeover(async () => {
      if (away) throw new Error('no database');
    });
    away = true;
    await expect(work.add([again])).rejects.toThrow('no database');
    expect(rig.command(commandId).state).toBe('open');
    away = false;
    await rig.during(work.beginCommands());
    expect(rig.command(commandId).state).toBe('unknown');
  });
});
