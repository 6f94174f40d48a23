import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { ResultRelay, resultRelayDefaults } from '../../../src/service/log/result-relay.ts';
import { LossyPublisher } from '../../support/orders/lossy-publisher.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { ScriptedResultLog } from './scripted-result-log.ts';

const act = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('step' as const), command: fc.nat(4), wake: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(400) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('kafka' as const),
      fate: fc.constantFrom('ok', 'ok', 'refused', 'answer_lost', 'torn'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('database' as const), down: fc.boolean(), markingDown: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lane' as const), held: fc.boolean() }) },
);

describe('steps of commands on their way to Kafka, with everything failing now and then', () => {
  it('arrive each, those of a command first in order, and are marked only once they have arrived', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), fc.nat(1000), async (acts, seed) => {
        const clock = new VirtualClock();
        const log = new ScriptedResultLog(clock);
        const lease = new Lease(clock, 1_000_000_000);
        lease.confirm(1n, 0);
        const publisher = new LossyPublisher(clock, seededRandom(seed));
        const deps = { log, shards: () => [0], publisher, lease, clock, random: seededRandom(seed), logger: silentLog };
        const relay = new ResultRelay(
          { ...deps, metrics: createMetrics().relay },
          { ...resultRelayDefaults, maxRows: 4 },
        );
        await relay.start();
        relay.begin();
        for (const each of acts) {
          if (each.kind === 'step') {
            log.step(`c-${each.command}`);
            if (each.wake) relay.wake();
          }
          if (each.kind === 'wait') await clock.advance(each.ms);
          if (each.kind === 'kafka') publisher.fate = () => each.fate as 'ok';
          if (each.kind === 'database') Object.assign(log, { down: each.down, markingDown: each.markingDown });
          if (each.kind === 'lane' && each.held) relay.begin();
          if (each.kind === 'lane' && !each.held) relay.end();
          const here = new Set(publisher.arrived.map(({ payload }) => payload));
          expect(log.rows.filter(({ id, payload }) => log.published.has(id) && !here.has(payload))).toEqual([]);
        }
        publisher.fate = () => 'ok';
        Object.assign(log, { down: false, markingDown: false });
        relay.begin();
        await clock.advance(20_000);

        expect(publisher.violations).toEqual([]);
        expect(log.published.size).toBe(log.rows.length);
        const firsts = new Map<string, Set<string>>();
        for (const { key, payload } of publisher.arrived) firsts.set(key, (firsts.get(key) ?? new Set()).add(payload));
        for (const [key, payloads] of firsts)
          expect([...payloads]).toEqual(log.rows.filter((row) => row.key === key).map(({ payload }) => payload));
        const drained = relay.drain(AbortSignal.abort());
        await clock.advance(2_000);
        await drained;
      }),
      { numRuns: 200 },
    );
  });
});
