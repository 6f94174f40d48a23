// What a user saw: An account whose store was lost showed not_enrolled, and looks at it said certain.

import { describe, expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { predictionRow } from '../../support/platform/platform-rows.ts';

const lost = { ...predictionRow, certainty: 'unknown_store_lost', updatedAt: '2026-01-05T14:29:00Z' };

describe('an account that is refused while its store is lost', () => {
  it('is certain of nothing, and shows that it is frozen once it is taken again', async () => {
    const rig = connectorsRig({ timings: { notEnrolledMs: 60_000 } });
    await rig.begin();
    await rig.until('prediction', 'live');
    const { platform, connectors, clock } = rig;
    const certain = () => connectors.account('prediction', 'acct-1')?.certain;
    platform.subscription = (stream) => (stream === 'prediction' ? { code: 'FORBIDDEN' } : 'acknowledge');
    platform.emit('prediction', 'acct-1', lost, 1n);
    expect(certain()).toBe(false);
    await rig.until('prediction', 'not_enrolled');
    expect(certain()).toBe(false);
    platform.subscription = () => 'acknowledge';
    const wholeReads: unknown[] = [];
    platform.beforeList = async ({ stream, updatedAfter }) => {
      if (stream === 'prediction' && updatedAfter === undefined) wholeReads.push([rig.state('prediction'), certain()]);
    };
    await clock.advance(70_000);
    expect(wholeReads.slice(0, 2)).toEqual([
      ['frozen', false],
      ['frozen', false],
    ]);
    expect([rig.state('prediction'), certain()]).toEqual(['live', true]);
  });
});
