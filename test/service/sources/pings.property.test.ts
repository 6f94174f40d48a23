import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Pings } from '../../../src/service/sources/pings.ts';

/**
 * What may happen on a connection: a ping leaves, some time passes, our wall clock is set, a pong
 * comes. `pong`: of the ping that left so many before the newest; it may have been answered, and
 * some are of no ping. A proxy that answers pings itself is one whose pongs come at once.
 */
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'ping' as const }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('pong' as const), before: fc.nat({ max: 40 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('forged' as const), text: fc.string() }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('clock' as const), byMs: fc.integer({ min: -1e7, max: 1e7 }) }),
    },
  ),
  { maxLength: 120 },
);

it('is read up to the newest ping of which a pong came, whatever else comes, twice or in any order', () => {
  fc.assert(
    fc.property(steps, (happened) => {
      let [monotonicMs, wallMs] = [1_000, 1_790_000_000_000];
      const now = () => ({ monotonicMs, wallMs });
      const pings = new Pings(now());
      const sent: { readonly payload: string; readonly monotonicMs: number }[] = [];
      let proven = pings.readUpTo.monotonicMs;
      for (const step of happened) {
        monotonicMs += 7;
        wallMs += 7;
        if (step.kind === 'clock') wallMs += step.byMs;
        if (step.kind === 'ping') sent.push({ payload: pings.sent(now()), monotonicMs });
        if (step.kind === 'forged' && !sent.some(({ payload }) => payload === step.text))
          expect(pings.answered(step.text)).toBe(false);
        const ping = step.kind === 'pong' ? sent.at(-1 - step.before) : undefined;
        if (ping !== undefined) {
          const isNew = pings.answered(ping.payload);
          // Of more than 32 that nobody answered, the oldest prove nothing any more.
          if (isNew) proven = Math.max(proven, ping.monotonicMs);
          else expect(ping.monotonicMs <= proven || sent.indexOf(ping) < sent.length - 32).toBe(true);
        }
        expect(pings.readUpTo.monotonicMs).toBe(proven);
      }
    }),
    { numRuns: 1_000 },
  );
});
