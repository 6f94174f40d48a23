import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { EventSink } from '../../../src/service/rest/stream/stream-event.ts';
import { StreamHub, streamHubDefaults } from '../../../src/service/rest/stream/stream-hub.ts';
import type { AccountScope, StreamedUpdate } from '../../../src/store/orders/order-reads.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

/** A reader that takes everything at once. */
class HeardSink implements EventSink {
  readonly bufferedBytes = 0;
  readonly seqs: number[] = [];
  /** Of a block without an update: from here a reader would go on that was cut off then. */
  resumesAt = -1;
  /**
   * Updates written after an id at or above theirs: a reader that
   * went on from it would not have had them.
   */
  skipped = 0;
  resets = 0;
  ended = false;
  private gone = () => {};

  write(text: string | Uint8Array): void {
    const blocks = String(typeof text === 'string' ? text : Buffer.from(text)).split(/(?<=\n\n)/);
    for (const block of blocks) this.take(block);
  }

  private take(text: string): void {
    if (text.includes('event: reset')) this.resets += 1;
    const id = Number(/^id: (\d+)/.exec(text)?.[1]);
    if (text.includes('event: update')) {
      this.seqs.push(id);
      if (id <= this.resumesAt) this.skipped += 1;
    } else this.resumesAt = id;
  }

  onRoom(done: () => void): void {
    done();
  }

  onGone(done: () => void): void {
    this.gone = done;
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {}

  leave(): void {
    this.gone();
  }
}

type Step =
  | { readonly kind: 'commit'; readonly accounts: readonly string[]; readonly wake: boolean }
  | { readonly kind: 'open'; readonly back: number; readonly account: string | undefined }
  | { readonly kind: 'leave'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number };

const account = fc.constantFrom('A', 'B');
/** Now and then more than a page. */
const batch = fc.oneof(
  { weight: 9, arbitrary: fc.array(account, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.array(account, { minLength: 150, maxLength: 450 }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      accounts: batch,
      wake: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('open' as const),
      back: fc.oneof(fc.nat(5), fc.nat(500)),
      account: fc.option(account, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.oneof(fc.nat(10), fc.nat(100)) }) },
);

interface Reader {
  readonly sink: HeardSink;
  readonly after: number;
  readonly account: string | undefined;
}

/** Rows that one read looks at, whosever they are, as in Postgres. */
const lookedAt = 230;

/**
 * The log, whose reads take their time, see it as it was at some
 * moment of that time, and fail now and then.
 */
function slowLog(clock: VirtualClock, seed: number) {
  const random = seededRandom(seed);
  const log: StreamedUpdate[] = [];
  const state = { failing: true };
  const read = (scope: AccountScope, afterSeq: bigint, limit: number) => {
    const looked = log.filter(({ seq }) => seq > afterSeq).slice(0, lookedAt);
    const updates = looked
      .filter(({ accountId }) => scope.kind === 'all' || scope.accountIds.includes(accountId))
      .slice(0, limit);
    const lastSeq = (updates.length === limit ? updates : looked).at(-1)?.seq ?? afterSeq;
    return { updates, lastSeq, oldestSeq: 1n };
  };
  const reads = {
    newestSeq: async () => log.at(-1)?.seq ?? 0n,
    updatesAfter: async (scope: AccountScope, afterSeq: bigint, limit: number) => {
      await clock.sleep(random.next() * 20);
      if (state.failing && random.next() < 0.1) throw new Error('away');
      const page = read(scope, afterSeq, limit);
      await clock.sleep(random.next() * 20);
      return page;
    },
  };
  return { log, reads, state };
}

async function run(
  steps: readonly Step[],
  seed: number,
): Promise<{ readers: Reader[]; log: readonly StreamedUpdate[] }> {
  const clock = new VirtualClock();
  const { log, reads, state } = slowLog(clock, seed);
  const hub = new StreamHub(
    { clock, log: silentLog, reads, metrics: createMetrics().rest },
    { ...streamHubDefaults, heartbeatEveryMs: 40 },
  );
  hub.start();
  let readers: Reader[] = [];
  for (const one of steps) {
    if (one.kind === 'pass') await clock.advance(one.ms);
    else if (one.kind === 'leave') {
      readers[one.which]?.sink.leave();
      readers = readers.filter((_reader, i) => i !== one.which);
    } else if (one.kind === 'commit') {
      for (const accountId of one.accounts)
        log.push({ seq: BigInt(log.length + 1), stream: 'account', orderId: 'o', accountId, payload: '{}' });
      if (one.wake) hub.wake();
    } else {
      const after = Math.max(0, log.length - one.back);
      const sink = new HeardSink();
      const accounts: AccountScope =
        one.account === undefined ? { kind: 'all' } : { kind: 'accounts', accountIds: [one.account] };
      hub.open({ principal: 'p', accounts, judge: () => 'good' }, sink, BigInt(after), BigInt(log.length));
      readers.push({ sink, after, account: one.account });
    }
  }
  state.failing = false;
  await clock.advance(20_000);
  hub.stop();
  await clock.advance(1000);
  return { readers, log };
}

describe('the stream of updates', () => {
  it('gives each reader every update of its accounts once and in order, however reads, commits, arrivals and failures fall', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), fc.integer(), async (steps, seed) => {
        const { readers, log } = await run(steps, seed);
        for (const { sink, after, account: only } of readers) {
          const expected = log
            .filter(({ seq, accountId }) => seq > BigInt(after) && (only ?? accountId) === accountId)
            .map(({ seq }) => Number(seq));
          expect(sink.seqs).toEqual(expected);
          expect([sink.resets, sink.skipped, sink.ended]).toEqual([0, 0, true]);
          expect(sink.resumesAt, 'the last id is where the log ends').toBe(log.length);
        }
      }),
      { numRuns: 150 },
    );
  });
});
