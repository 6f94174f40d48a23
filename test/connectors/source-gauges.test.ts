import { beforeEach, describe, expect, it } from 'vitest';
import { SourceGauges } from '../../src/connectors/source-gauges.ts';
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts';

let metrics: Metrics;
let gauges: SourceGauges;
beforeEach(() => {
  metrics = createMetrics();
  gauges = new SourceGauges(metrics.source);
});

async function value(
  gauge: 'state' | 'lastFrame' | 'lastEvent' | 'lastCompleteRead',
  labels: Record<string, string>,
): Promise<number | undefined> {
  const { values } = await metrics.source[gauge].get();
  return values.find((entry) => Object.entries(labels).every(([name, wanted]) => Reflect.get(entry.labels, name) === wanted))
    ?.value;
}

const stream = 'account' as const;

describe('the gauges of a stream that several credentials follow', () => {
  it('add up the accounts in each state, and forget a source that is gone', async () => {
    const [one, two] = [{}, {}];
    gauges.set(one, { stream, states: ['live', 'live'], lastFrameMs: 1000, lastEventMs: 1000 });
    gauges.set(two, { stream, states: ['live', 'login_required'], lastFrameMs: 1000, lastEventMs: 1000 });
    expect(await value('state', { source: stream, state: 'live' })).toBe(3);
    expect(await value('state', { source: stream, state: 'login_required' })).toBe(1);
    gauges.remove(two);
    expect(await value('state', { source: stream, state: 'live' })).toBe(2);
    expect(await value('state', { source: stream, state: 'login_required' })).toBe(0);
  });

  it('show the frame of the one that is silent longest, and the newest event', async () => {
    gauges.set({}, { stream, states: ['live'], lastFrameMs: 9000, lastEventMs: 9000 });
    gauges.set({}, { stream, states: ['live'], lastFrameMs: 5000, lastEventMs: 4000 });
    gauges.set({}, { stream, states: [], lastFrameMs: 1000, lastEventMs: 0 });
    gauges.set({}, { stream, states: ['connecting'], lastFrameMs: 0, lastEventMs: 0 });
    expect(await value('lastFrame', { source: stream })).toBe(5);
    expect(await value('lastEvent', { source: stream })).toBe(9);
  });

  it('show the complete read that is longest ago, and none once nothing is live', async () => {
    const [one, two] = [{}, {}];
    const reading = { stream, states: ['live'] as const, lastFrameMs: 9000, lastEventMs: 0 };
    gauges.set(one, { ...reading, oldestReadMs: 7000 });
    gauges.set(two, { ...reading, oldestReadMs: 4000 });
    gauges.set({}, { ...reading, states: ['down'] });
    expect(await value('lastCompleteRead', { source: stream })).toBe(4);
    gauges.remove(two);
    expect(await value('lastCompleteRead', { source: stream })).toBe(7);
    gauges.remove(one);
    expect(await value('lastCompleteRead', { source: stream })).toBe(0);
  });
});
