import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogRow } from '../../../src/domain/committed-batch.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { PublishRow } from '../../../src/service/log/publisher.ts';
import type { Relay } from '../../../src/service/log/relay.ts';
import { Host } from '../../simulation/host.ts';
import { MemoryBroker, type RequestFate } from '../../simulation/world/memory-broker.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { arbitraryCommit, arbitraryDatabase } from './log-steps.ts';

const step = fc.oneof(
  { weight: 10, arbitrary: arbitraryCommit({ orders: 5, maxRows: 5, maxLateMs: 40 }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(1500) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('kafka' as const),
      of: fc.constantFrom('state' as const, 'state' as const, 'updates' as const),
      fate: fc.constantFrom<RequestFate>('ok', 'refused', 'answer_lost'),
      delayMs: fc.constantFrom(1, 30, 400, 1500),
    }),
  },
  { weight: 2, arbitrary: arbitraryDatabase(0, 20, 300) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('takeover' as const), freezeMs: fc.nat(8000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('repair' as const, 'freeze' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** One process: its own lease, publishers and relay, on the log and brokers that all share. */
class Holder {
  readonly lease: Lease;
  readonly relay: Relay;
  holding = true;
  private readonly clock: VirtualClock;
  private readonly epoch: bigint;

  constructor({ clock, log, updates, broker, tiny }: WriterWorld) {
    this.clock = clock;
    this.epoch = log.epoch;
    this.lease = new Lease(clock, 3000);
    const host = new Host('holder', clock);
    this.renew();
    this.relay = openRelay(
      {
        ...{ log, lease: this.lease, clock },
        ...{ publisher: updates.publisher(host), statePublisher: broker.statePublisher(host) },
      },
      {
        maxRows: tiny ? 3 : 20,
        maxHeldBatches: tiny ? 3 : 20,
        states: {
          flushEveryMs: 1000,
          maxOrders: tiny ? 3 : 100,
          maxBytes: 1000,
          maxLookedAt: 4,
          maxReadBytes: tiny ? 3 : 1000,
          backoff: { firstMs: 50, maxMs: 500 },
        },
      },
    );
    void this.relay.start();
    this.relay.begin(log.batch);
  }

  /** Its lease is no longer renewed, or is again. */
  freeze(): void {
    this.holding = !this.holding;
    this.renew();
  }

  private renew(): void {
    if (!this.holding) return;
    this.lease.confirm(this.epoch, this.clock.monotonicMs());
    this.clock.after(1000, () => this.renew());
  }
}

class WriterWorld {
  readonly clock = new VirtualClock();
  readonly log = new LaneLog(this.clock);
  /** Two, so that each topic has faults of its own. */
  readonly updates = new MemoryBroker(this.clock, seededRandom(3));
  readonly broker = new MemoryBroker(this.clock, seededRandom(2));
  readonly tiny: boolean;
  holder: Holder;
  flushes = 0;
  private lastHandMs = 0;

  constructor(tiny: boolean) {
    this.tiny = tiny;
    this.broker.onSend = () => {
      this.flushes += 1;
    };
    this.setKafka('state', 'ok', 1);
    this.setKafka('updates', 'ok', 1);
    this.holder = new Holder(this);
  }

  async perform(now: Step): Promise<void> {
    if (now.do === 'wait') await this.clock.advance(now.ms);
    if (now.do === 'kafka') this.setKafka(now.of, now.fate, now.delayMs);
    if (now.do === 'database') Object.assign(this.log, { down: now.down, answerMs: now.answerMs });
    if (now.do === 'commit') this.commit(now.rows, now.hand);
    if (now.do === 'takeover') await this.takeOver(now.freezeMs);
    if (now.do === 'freeze') this.holder.freeze();
    if (now.do === 'repair') void this.repair().catch(() => undefined);
  }

  /** `delayMs`: of a send or a take-over, about; a flush takes three times as long. */
  private setKafka(of: 'state' | 'updates', fate: RequestFate, delayMs: number): void {
    const broker = of === 'state' ? this.broker : this.updates;
    broker.script = () => fate;
    broker.passMs = (mostMs) => (delayMs * mostMs) / 6;
  }

  /**
   * The holder stops renewing and does not know that it is replaced; it
   * finds out by its clock, or by being fenced.
   */
  private async takeOver(frozenForMs: number): Promise<void> {
    const old = this.holder;
    old.holding = false;
    await this.clock.advance(6000 + frozenForMs);
    this.log.epoch += 1n;
    this.holder = new Holder(this);
    this.clock.after(500, () => old.relay.end());
  }

  /** `audit --repair`: takes the topic over, and writes the newest states that there are then. */
  private async repair(): Promise<void> {
    const publisher = this.broker.statePublisher(new Host('repair', this.clock));
    await publisher.takeOver();
    await publisher.flush([...this.newest().values()]);
  }

  private newest() {
    const updates = this.log.rows.filter(({ topic }) => topic === 'updates');
    return new Map(updates.map((row) => [row.key, row]));
  }

  private commit(rows: readonly Omit<LogRow, 'payload'>[], hand: number | 'lost' | 'missed'): void {
    const batch = this.log.commit(rows);
    const { relay } = this.holder;
    if (hand === 'missed') relay.missedCommitted();
    if (typeof hand !== 'number') return;
    const atMs = Math.max(this.lastHandMs, this.clock.monotonicMs() + hand);
    this.lastHandMs = atMs;
    this.clock.after(atMs - this.clock.monotonicMs(), () => relay.publishCommitted(batch));
  }

  async heal(): Promise<void> {
    Object.assign(this.log, { down: false, answerMs: 0 });
    this.setKafka('state', 'ok', 1);
    this.setKafka('updates', 'ok', 1);
    if (!this.holder.holding) this.holder.freeze();
    // A batch that was committed and never handed over shows as a gap with the next one.
    this.commit([{ topic: 'updates', key: 'prediction:a' }], 0);
    await this.clock.advance(15_000);
  }

  expectNewest(): void {
    const wanted = [...this.newest().values()].map(({ key, payload }) => [key, payload]);
    const found = new Map(this.written.map(({ key, payload }) => [key, payload]));
    expect([...this.broker.violations, ...this.updates.violations]).toEqual([]);
    expect([...found].sort()).toEqual(wanted.sort());
  }

  get written(): readonly PublishRow[] {
    return this.broker.records.state;
  }

  stepsBack(): number {
    const newest = new Map<string, bigint>();
    let count = 0;
    for (const { key, payload } of this.written) {
      if (BigInt(payload) < (newest.get(key) ?? 0n)) count += 1;
      newest.set(key, BigInt(payload));
    }
    return count;
  }
}

const handed = (orders: string, hand: number | 'lost'): Step => ({
  do: 'commit',
  rows: [...orders].map((order) => ({ topic: 'updates', key: `prediction:${order}` })),
  hand,
});
/** What broke it once, as it was found. */
const onceBroken: [Step[]][] = [
  // A flush whose answer was lost had gone further than what was handed over.
  [
    [
      handed('a', 2),
      handed('a', 'lost'),
      { do: 'kafka', of: 'state', fate: 'answer_lost', delayMs: 1 },
      handed('a', 'lost'),
      { do: 'wait', ms: 6 },
      { do: 'commit', rows: [], hand: 37 },
    ],
  ],
  // A batch was handed over after the log had shown it, and a later one.
  [[handed('b', 3), handed('b', 'lost'), { do: 'wait', ms: 1002 }]],
  // Flushes that were taken for too slow had been written, and each of the next wrote less.
  [
    [
      { do: 'kafka', of: 'state', fate: 'answer_lost', delayMs: 1 },
      handed('a', 0),
      handed('ca', 0),
      ...[211, 1328, 1176, 1165, 1121].map((ms) => ({ do: 'wait' as const, ms })),
    ],
  ],
];

describe('the state writer', () => {
  it('leaves the newest state of every order on the topic and never steps back, whatever fails on the way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
        const world = new WriterWorld(false);
        for (const now of steps) await world.perform(now);
        await world.heal();
        world.expectNewest();
        expect(world.stepsBack()).toBe(0);
      }),
      { numRuns: 1500, examples: onceBroken },
    );
  });

  it('does so also when its bounds are met all the time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
        const world = new WriterWorld(true);
        for (const now of steps) await world.perform(now);
        await world.heal();
        world.expectNewest();
        expect(world.stepsBack()).toBe(0);
      }),
      { numRuns: 1500, examples: onceBroken },
    );
  });

  it('takes over again when a stale process fenced it late', async () => {
    const world = new WriterWorld(false);
    await world.perform({ do: 'commit', rows: [{ topic: 'updates', key: 'prediction:a' }], hand: 0 });
    await world.clock.advance(2000);
    const stale = world.broker.statePublisher(new Host('stale', world.clock));
    void stale.takeOver();
    await world.clock.advance(10);
    await world.perform({ do: 'commit', rows: [{ topic: 'updates', key: 'prediction:a' }], hand: 0 });
    await world.clock.advance(5000);
    world.expectNewest();
    const late = stale.flush([{ topic: 'updates', key: 'prediction:a', payload: '0' }]).catch((err: unknown) => err);
    await world.clock.advance(1000);
    expect(await late).toMatchObject({ code: 'fenced' });
    world.expectNewest();
  });

  it('does not take over again when the lane is not its own any more, though its clock does not say so yet', async () => {
    const world = new WriterWorld(false);
    await world.clock.advance(2000);
    world.log.epoch += 1n;
    const next = world.broker.statePublisher(new Host('next', world.clock));
    void next.takeOver();
    await world.clock.advance(10);
    const { writers } = world.broker;
    await world.perform({ do: 'commit', rows: [{ topic: 'updates', key: 'prediction:a' }], hand: 0 });
    await world.clock.advance(10_000);
    expect([world.broker.writers, world.written]).toEqual([writers, []]);
  });

  it('writes nothing older than what another writer wrote while its lease was too old', async () => {
    const world = new WriterWorld(false);
    const change = handed('a', 0);
    // Between two flushes, and published just before the lease is too old.
    await world.clock.advance(2_500);
    await world.perform({ do: 'freeze' });
    await world.clock.advance(2_450);
    await world.perform(change);
    await world.clock.advance(500);
    await world.perform(change);
    await world.perform({ do: 'repair' });
    await world.perform({ do: 'kafka', of: 'updates', fate: 'ok', delayMs: 1500 });
    await world.clock.advance(100);
    await world.perform({ do: 'freeze' });
    await world.clock.advance(1_200);
    expect([world.written.length, world.stepsBack()]).toEqual([2, 0]);
  });

  it('flushes nothing when the lease grew too old while the log was read', async () => {
    const world = new WriterWorld(false);
    world.log.answerMs = 1200;
    await world.perform({ do: 'commit', rows: [{ topic: 'updates', key: 'prediction:a' }], hand: 'lost' });
    // The third call of three is still under way when the last renewal is 3 s old.
    world.holder.holding = false;
    await world.clock.advance(20_000);
    expect(world.written).toEqual([]);
  });

  it('reads as far as a flush of unknown result had gone, also when less than that was handed over', async () => {
    const world = new WriterWorld(false);
    const a = { topic: 'updates', key: 'prediction:a' } as const;
    await world.perform({ do: 'kafka', of: 'state', fate: 'answer_lost', delayMs: 1 });
    // As many rows as one read looks at, handed over after the first
    // flush; and one more, which only the log knows.
    await world.perform({ do: 'commit', rows: [a, a, a, a], hand: 200 });
    await world.perform({ do: 'commit', rows: [a], hand: 'lost' });
    await world.clock.advance(3000);
    expect(world.flushes).toBeGreaterThan(2);
    expect(world.stepsBack()).toBe(0);
  });

  it('flushes from memory, one transaction a second with one row an order, once it has caught up', async () => {
    const world = new WriterWorld(false);
    await world.clock.advance(1500);
    const readsBefore = world.log.reads;
    for (let i = 0; i < 50; i += 1) {
      await world.perform({
        do: 'commit',
        rows: [
          { topic: 'updates', key: 'prediction:a' },
          { topic: 'updates', key: 'prediction:b' },
        ],
        hand: 0,
      });
      await world.clock.advance(100);
    }
    await world.clock.advance(2000);
    expect(world.log.reads).toBe(readsBefore);
    expect(world.written.length).toBeLessThanOrEqual(14);
    world.expectNewest();
  });
});
