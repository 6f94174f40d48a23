import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CommittedBatch } from '../../../src/domain/committed-batch.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { PublishRow } from '../../../src/service/log/publisher.ts';
import type { Relay } from '../../../src/service/log/relay.ts';
import type { RequestFate } from '../../simulation/world/memory-broker.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { LossyPublisher } from '../../support/orders/lossy-publisher.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { arbitraryCommit, arbitraryDatabase } from './log-steps.ts';

/** Now and then so long that a lease without renewals is too old to act on. */
const waitMs = fc.oneof({ weight: 9, arbitrary: fc.nat(400) }, fc.constant(3_500));

/** What can happen to the relay from outside, in any order. */
const step = fc.oneof(
  { weight: 12, arbitrary: arbitraryCommit({ orders: 4, maxRows: 6, maxLateMs: 30 }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: waitMs }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('kafka' as const),
      fate: fc.constantFrom<RequestFate>('ok', 'refused', 'answer_lost', 'torn'),
      delayMs: fc.constantFrom(0, 1, 5, 40, 500),
    }),
  },
  { weight: 2, arbitrary: arbitraryDatabase(0, 1, 20, 300) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reclaim' as const), replyMs: fc.nat(300) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('next term' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('new process' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class RelayWorld {
  readonly clock = new VirtualClock();
  readonly log = new LaneLog(this.clock);
  readonly lease = new Lease(this.clock, 3000);
  readonly publisher: LossyPublisher;
  private relay: Relay;
  private lastHandMs = 0;
  private leaseEpoch = 1n;
  private leaseHeld = true;
  private seed: number;

  constructor(seed: number) {
    this.seed = seed;
    this.publisher = new LossyPublisher(this.clock, seededRandom(seed));
    this.publisher.onSend = (rows) => {
      expect(this.lease.mayAct()).toBe(true);
      for (const mark of rows) if (mark.topic === 'watermarks') this.expectAllBefore(BigInt(mark.payload));
      expect(new Set(rows.map(({ topic }) => topic)).size).toBe(1);
    };
    this.lease.checkpoint.sawLane({ generation: 1, epoch: 1n, batch: 0n });
    this.renew();
    this.relay = this.startRelay();
  }

  private startRelay(): Relay {
    const { log, publisher, lease, clock } = this;
    // Bounds so small that they are met all the time.
    const started = openRelay(
      { log, publisher, lease, clock, random: seededRandom(this.seed + 1) },
      {
        maxRows: 5,
        maxReadBytes: 6,
        maxBytes: 40,
        maxHeldBatches: 4,
        maxHeldBytes: 60,
        backoff: { firstMs: 20, maxMs: 400 },
        states: { maxOrders: 3, maxLookedAt: 4 },
      },
    );
    void started.start();
    started.begin(this.log.batch);
    return started;
  }

  private renew(): void {
    if (this.leaseHeld) this.lease.confirm(this.leaseEpoch, this.clock.monotonicMs());
    this.clock.after(1000, () => this.renew());
  }

  private hand(relay: Relay, batch: CommittedBatch, laterMs: number): void {
    const atMs = Math.max(this.lastHandMs, this.clock.monotonicMs() + laterMs);
    this.lastHandMs = atMs;
    this.clock.after(atMs - this.clock.monotonicMs(), () => {
      this.lease.checkpoint.sawBatch(batch.number);
      relay.publishCommitted(batch);
    });
  }

  async perform(now: Step): Promise<void> {
    if (now.do === 'wait') await this.clock.advance(now.ms);
    if (now.do === 'kafka') Object.assign(this.publisher, { fate: () => now.fate, delayMs: now.delayMs });
    if (now.do === 'database') Object.assign(this.log, { down: now.down, answerMs: now.answerMs });
    if (now.do === 'commit') {
      const batch = this.log.commit(now.rows);
      if (typeof now.hand !== 'number') this.lease.checkpoint.sawBatch(batch.number);
      if (now.hand === 'missed') this.relay.missedCommitted();
      else if (now.hand !== 'lost') this.hand(this.relay, batch, now.hand);
    }
    if (now.do === 'reclaim') {
      this.log.epoch += 1n;
      const { epoch } = this.log;
      this.clock.after(now.replyMs, () => {
        // Reclaims take turns, so an older answer never comes last.
        if (epoch > this.leaseEpoch) this.leaseEpoch = epoch;
        if (this.leaseHeld) this.lease.confirm(this.leaseEpoch, this.clock.monotonicMs());
      });
    }
    if (now.do === 'freeze') this.leaseHeld = !this.leaseHeld;
    if (now.do === 'next term') {
      this.relay.end();
      await this.clock.advance(7);
      this.relay.begin(this.log.batch);
    }
    if (now.do === 'new process') {
      // Killed: nothing is drained, and what Kafka is still answering is answered to nobody.
      this.relay.end();
      await this.clock.advance(600);
      this.relay = this.startRelay();
    }
    this.expectSafe();
  }

  async heal(): Promise<void> {
    this.leaseHeld = true;
    Object.assign(this.log, { down: false, answerMs: 0 });
    Object.assign(this.publisher, { fate: () => 'ok', delayMs: 1 });
    await this.clock.advance(12_000);
    this.expectSafe();
  }

  private expectAllBefore(seq: bigint): void {
    const seen = new Set(this.publisher.arrived.map(({ payload }) => payload));
    const missing = this.log.rows.filter(
      (stored) => stored.seq < seq && stored.topic === 'updates' && !seen.has(stored.payload),
    );
    expect(missing.map(({ payload }) => payload)).toEqual([]);
  }

  private expectSafe(): void {
    expect(this.publisher.violations).toEqual([]);
    this.expectAllBefore(this.log.position('log'));
    const firsts = new Map<string, bigint[]>();
    for (const { key, payload } of this.first()) firsts.set(key, [...(firsts.get(key) ?? []), BigInt(payload)]);
    for (const [key, seqs] of firsts) {
      const committed = this.log.rows.filter((stored) => stored.key === key).map(({ seq }) => seq);
      expect(seqs).toEqual(committed.slice(0, seqs.length));
    }
  }

  /** What a reader keeps that drops repeats. */
  first(): PublishRow[] {
    const seen = new Set<string>();
    return this.publisher.arrived.filter(({ payload }) => !seen.has(payload) && seen.add(payload));
  }

  async stop(): Promise<void> {
    const drained = this.relay.drain(new AbortController().signal);
    await this.clock.advance(2000);
    await drained;
    this.expectSafe();
  }
}

describe('the relay', () => {
  it('brings every committed row to Kafka, first occurrences in order per key, whatever fails on the way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(), async (steps, seed) => {
        const world = new RelayWorld(seed);
        for (const now of steps) await world.perform(now);
        await world.heal();
        expect(world.first().length).toBe(world.log.rows.length);
        await world.stop();
        expect(world.log.position('log')).toBe(world.log.rows.at(-1)?.seq ?? 0n);
        const marks = world.log.rows.filter(({ topic }) => topic === 'watermarks').map(({ payload }) => payload);
        expect([...new Set(world.publisher.acknowledged('watermarks'))]).toEqual(marks);
      }),
      { numRuns: 1000 },
    );
  });

  it('reads the log once for each topic at the start and then not again, as long as every batch is handed over and acknowledged', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(arbitraryCommit({ orders: 4, maxRows: 4, maxLateMs: 0 }), fc.integer({ min: 5, max: 50 })), {
          maxLength: 40,
        }),
        async (batches) => {
          const world = new RelayWorld(1);
          await world.clock.advance(10);
          for (const [commit, ms] of batches) {
            await world.perform({ ...commit, hand: 0 });
            await world.clock.advance(ms);
          }
          await world.clock.advance(50);
          expect(world.log.reads).toBe(2);
          expect(world.publisher.arrived.map(({ payload }) => payload)).toEqual(
            world.log.rows.map(({ payload }) => payload),
          );
          await world.stop();
        },
      ),
      { numRuns: 50 },
    );
  });
});
