import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { EventTail } from '../../../src/service/rest/stream/event-tail.ts';
import { type EventSink, parseStreamId } from '../../../src/service/rest/stream/stream-event.ts';
import { StreamHub, streamHubDefaults } from '../../../src/service/rest/stream/stream-hub.ts';
import type { AccountScope } from '../../../src/store/orders/order-reads.ts';
import { MemoryReads } from '../../support/orders/memory-reads.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

/** A reader that keeps the payloads and the last id, and that may be cut off after any block. */
class CutSink implements EventSink {
  readonly bufferedBytes = 0;
  lastId = '';
  cut = false;
  /** Blocks that still arrive. */
  private left: number;
  private readonly heard: string[];
  private gone = () => {};

  constructor(heard: string[], left: number) {
    this.heard = heard;
    this.left = left;
  }

  write(text: string | Uint8Array): void {
    for (const block of String(typeof text === 'string' ? text : Buffer.from(text)).split(/(?<=\n\n)/))
      this.take(block);
  }

  private take(text: string): void {
    if (this.cut) return;
    this.lastId = /^id: (\S+)/.exec(text)?.[1] ?? this.lastId;
    const [, payload] = /^event: (?:update|result|halt)\ndata: (.*)$/m.exec(text) ?? [];
    if (payload !== undefined) this.heard.push(payload);
    if (text.includes('event: reset')) this.heard.push('reset');
    this.left -= 1;
    if (this.left <= 0) {
      this.cut = true;
      this.gone();
    }
  }

  onRoom(done: () => void): void {
    done();
  }

  onGone(done: () => void): void {
    this.gone = done;
  }

  end(): void {}
  destroy(): void {}
}

type Step =
  | { readonly kind: 'begin'; readonly events: readonly ('result' | 'halt')[] }
  | { readonly kind: 'end'; readonly which: number; readonly commits: boolean }
  | { readonly kind: 'update' }
  | { readonly kind: 'pass'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('begin' as const),
    events: fc.array(fc.constantFrom('result' as const, 'halt' as const), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('end' as const), which: fc.nat(5), commits: fc.boolean() }),
  fc.record({ kind: fc.constant('update' as const) }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(600) }),
);

/** Transactions that get their numbers when they begin, and end in any order. */
class Journal {
  readonly reads = new MemoryReads();
  readonly committed: string[] = [];
  private readonly open = new Map<bigint, readonly ('result' | 'halt')[]>();
  private next = 1n;
  private number = 0n;

  constructor() {
    this.reads.horizon = 1n;
  }

  begin(kinds: readonly ('result' | 'halt')[]): void {
    this.open.set(this.next, kinds);
    this.next += 1n;
  }

  end(which: number, commits: boolean): void {
    const tx = [...this.open.keys()][which];
    if (tx === undefined) return;
    for (const kind of commits ? (this.open.get(tx) ?? []) : []) {
      this.number += 1n;
      const payload = `{"event":"${tx}.${this.number}"}`;
      this.reads.events.push({ tx, number: this.number, kind, payload, accountId: 'ACC-1' });
      this.committed.push(payload);
    }
    this.open.delete(tx);
    this.reads.horizon = [...this.open.keys()].reduce((least, each) => (each < least ? each : least), this.next);
  }

  endAll(): void {
    while (this.open.size > 0) this.end(0, true);
  }
}

async function run(steps: readonly Step[], cuts: readonly number[], seed: number) {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const journal = new Journal();
  const { reads } = journal;
  const eventsAfter: MemoryReads['eventsAfter'] = async (...asked) => {
    await clock.sleep(random.next() * 20);
    if (random.next() < 0.1) throw new Error('away');
    return reads.eventsAfter(asked[0], asked[1], 3);
  };
  const slow = Object.assign(Object.create(reads) as MemoryReads, { eventsAfter });
  const deps = { clock, log: silentLog, reads: slow, metrics: createMetrics().rest };
  const hub = new StreamHub(deps, { ...streamHubDefaults, heartbeatEveryMs: 40 });
  const tail = new EventTail(deps, { pollEveryMs: 50 });
  hub.start();
  tail.start();
  const heard: string[] = [];
  const accounts: AccountScope = { kind: 'accounts', accountIds: ['ACC-1'] };
  const kinds = new Set(['result', 'halt'] as const);
  let lives = 0;
  const open = async (lastId?: string) => {
    const after = lastId === undefined ? { position: 0n } : parseStreamId(lastId);
    const events = { kinds, after: after?.events ?? { tx: 0n, number: 0n } };
    const sink = new CutSink(heard, cuts[lives] ?? Number.POSITIVE_INFINITY);
    lives += 1;
    tail.add(
      hub.open(
        { principal: 'p', accounts, events, judge: () => 'good' },
        sink,
        after?.position,
        await reads.newestSeq(),
      ),
    );
    return sink;
  };
  let sink = await open();
  const updates: string[] = [];
  for (const one of [...steps, { kind: 'pass', ms: 0 } as const]) {
    if (one.kind === 'begin') journal.begin(one.events);
    else if (one.kind === 'end') journal.end(one.which, one.commits);
    else if (one.kind === 'update') {
      updates.push(reads.addUpdate({ revision: updates.length + 1 }).payload);
      hub.wake();
    } else await clock.advance(one.ms);
    if (sink.cut) sink = await open(sink.lastId);
  }
  journal.endAll();
  for (let i = 0; i < 40; i += 1) {
    await clock.advance(500);
    if (sink.cut) sink = await open(sink.lastId);
  }
  hub.stop();
  tail.stop();
  await clock.advance(1000);
  return { heard, expected: [...journal.committed, ...updates] };
}

describe('the stream with results and halts', () => {
  it('gives a reader that is cut off anywhere each event and each update once, in whatever order transactions end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 8 }),
        fc.integer(),
        async (steps, cuts, seed) => {
          const { heard, expected } = await run(steps, cuts, seed);
          expect([...heard].sort()).toEqual(expected.sort());
        },
      ),
      { numRuns: 150 },
    );
  });
});
