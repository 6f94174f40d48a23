import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import {
  isCovered,
  type SessionEvent,
  type SessionState,
  sessionEvents,
  sessionTransition,
} from '../../../src/service/sources/session-states.ts';
import { predictionRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import type { ScriptedPlatform } from '../../support/platform/scripted-platform.ts';

const key = 'prediction:acct-1';

interface Step {
  readonly event: SessionEvent;
  readonly from: SessionState;
  readonly to: SessionState;
}

/** Events that are possible, one after the other, with the state that each led to. */
const walks = fc.array(fc.nat(), { maxLength: 60 }).map((choices) => {
  const steps: Step[] = [];
  let from: SessionState = 'connecting';
  for (const choice of choices) {
    const possible: Step[] = sessionEvents.flatMap((event) => {
      const to = sessionTransition(from, event);
      // It ends the walk, so it may come last only.
      const isEarly = event === 'stopped' && choice % 50 > 0;
      return to === 'ignored' || to === 'impossible' || isEarly ? [] : [{ event, from, to }];
    });
    // Half of the steps lead on towards live: by chance alone, one walk in 60 would come there.
    const forth = possible.find(({ event }) => choice % 2 === 0 && (event === 'read' || event === 'proven'));
    const step = forth ?? possible[(choice >> 1) % possible.length];
    if (step === undefined) break;
    steps.push(step);
    from = step.to;
  }
  return steps;
});

describe('any sequence of events', () => {
  it('is live only after a read that began, was complete and was proven, with nothing in between', () => {
    let lives = 0;
    fc.assert(
      fc.property(walks, (steps) => {
        for (const [at, { to }] of steps.entries()) {
          if (to !== 'live') continue;
          lives += 1;
          const [first, ...rest] = steps.slice(at - 2, at + 1).map(({ event }) => event);
          expect(['read_begins', 'recovery_begins']).toContain(first);
          expect(rest).toEqual(['read', 'proven']);
        }
      }),
      { numRuns: 3_000 },
    );
    expect(lives).toBeGreaterThan(300);
  });

  it('never leads from a lost store to live but through a complete read that began after it', () => {
    fc.assert(
      fc.property(walks, (steps) => {
        let isLost = false;
        let mayEnd = false;
        for (const { event, to } of steps) {
          if (event === 'store_lost') [isLost, mayEnd] = [true, false];
          if (event === 'read_begins' || event === 'recovery_begins') mayEnd = true;
          if (!isCovered(to)) mayEnd = false;
          if (event === 'read' && mayEnd) isLost = false;
          if (to === 'live') expect(isLost).toBe(false);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('ends when it is stopped', () => {
    fc.assert(
      fc.property(walks, (steps) => {
        expect(steps.slice(0, -1).map(({ to }) => to)).not.toContain('stopped');
      }),
    );
  });
});

const happenings = ['drop', 'half_open', 'renew', 'store_lost', 'gap', 'unreadable'] as const;
type Subscription = ReturnType<ScriptedPlatform['subscription']>;
const subscriptions: Subscription[] = [
  'acknowledge',
  'acknowledge',
  'silent',
  { code: 'FORBIDDEN' },
  { afterMs: 3_000 },
];
const happening = fc.record({
  what: fc.constantFrom(...happenings, undefined),
  subscription: fc.constantFrom(...subscriptions),
  /** What the lists answer; 200 twice as often. */
  list: fc.constantFrom(200, 200, 503, 403),
  restMs: fc.constantFrom(0, 1, 2, 500, 6_000, 31_000),
});
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** The real session of one account, whose platform does what the test says. */
function worldOf() {
  const errors: string[] = [];
  const log = pino({ level: 'error', base: null, timestamp: false }, { write: (line) => errors.push(line) });
  const rig = connectorsRig({ timings: { auditMs: 20_000, notEnrolledMs: 30_000 } }, undefined, log);
  const { platform, clock } = rig;
  let version = 100n;
  const emit = (certainty: string, shownVersion?: string) => {
    version = certainty === 'unknown_store_lost' ? 1n : version + 1n;
    const row: Row = {
      ...predictionRow,
      certainty,
      version: String(version),
      updatedAt: new Date(clock.nowMs()).toISOString(),
    };
    platform.rows.set(key, [row]);
    platform.emit('prediction', 'acct-1', row, shownVersion ?? version);
  };
  const acts: Record<(typeof happenings)[number], () => void> = {
    drop: () =>
      platform.live
        .findLast(({ url }) => url === 'ws://prediction')
        ?.end({ kind: 'failed', code: 'connect', message: 'cut' }),
    half_open: () => {
      for (const socket of platform.live) socket.answers = false;
    },
    renew: () => platform.renewToken(),
    store_lost: () => emit('unknown_store_lost'),
    gap: () => emit('unknown_gap'),
    unreadable: () => emit('certain', '1.0'),
  };
  const happen = async ({ what, subscription, list, restMs }: Happening) => {
    platform.subscription = (stream) => (stream === 'prediction' ? subscription : 'acknowledge');
    platform.listError = ({ stream }) =>
      list === 200 || stream === 'account'
        ? undefined
        : { status: list, message: 'no', retryable: list === 503, sent: 'yes' };
    if (what !== undefined) acts[what]();
    await clock.advance(restMs);
  };
  return { ...rig, errors, happen };
}

describe('a session on a platform that does anything', () => {
  it('is live only on an open connection that took its subscription, and gets live again in the end', async () => {
    let lives = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 15 }), async (all) => {
        const { connectors, clock, platform, errors, happen, state } = worldOf();
        await connectors.begin();
        await clock.advance(100);
        for (const each of all) {
          await happen(each);
          if (state('prediction') !== 'live') continue;
          lives += 1;
          expect(platform.live.some(({ subscribed }) => subscribed.has(key))).toBe(true);
        }
        await happen({ what: undefined, subscription: 'acknowledge', list: 200, restMs: 0 });
        await clock.advanceUntil(() => state('prediction') === 'live', 300_000);
        expect(state('prediction')).toBe('live');
        await connectors.end();
        // What the platform still has under way: answers, and the end of a half-open socket.
        await clock.advance(3_500);
        expect(clock.armed).toBe(0);
        expect(errors.filter((line) => line.includes('wrong state'))).toEqual([]);
      }),
      { numRuns: 40 },
    );
    expect(lives).toBeGreaterThan(20);
  });
});
