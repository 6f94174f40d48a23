import { beforeEach, describe, expect, it } from 'vitest';
import { createMetrics, type Metrics } from '../../../src/observability/metrics.ts';
import type { AccountState } from '../../../src/service/sources/source-status.ts';
import { SourceGauges, type SourceReading } from '../../../src/service/sources/source-status.ts';

let metrics: Metrics;
let gauges: SourceGauges;
beforeEach(() => {
  metrics = createMetrics();
  gauges = new SourceGauges(metrics.source);
});

async function value(
  gauge: 'state' | 'lastFrame' | 'lastEvent' | 'lastCompleteRead' | 'unrecovered' | 'inDoubt' | 'absentOrders',
  labels: Record<string, string>,
): Promise<number | undefined> {
  const { values } = await metrics.source[gauge].get();
  return values.find((entry) =>
    Object.entries(labels).every(([name, wanted]) => Reflect.get(entry.labels, name) === wanted),
  )?.value;
}

const stream = 'account' as const;
const inStates = (...states: AccountState[]) =>
  states.map((state): SourceReading['accounts'][number] => ({ state, unrecovered: 0, inDoubt: 0, absent: [] }));

describe('the gauges of a stream that several credentials follow', () => {
  it('add up the accounts in each state, and forget a source that is gone', async () => {
    const [one, two] = [{}, {}];
    gauges.set(one, { stream, accounts: inStates('live', 'live'), lastFrameMs: 1000, lastEventMs: 1000 });
    gauges.set(two, { stream, accounts: inStates('live', 'login_required'), lastFrameMs: 1000, lastEventMs: 1000 });
    expect(await value('state', { source: stream, state: 'live' })).toBe(3);
    expect(await value('state', { source: stream, state: 'login_required' })).toBe(1);
    gauges.remove(two);
    expect(await value('state', { source: stream, state: 'live' })).toBe(2);
    expect(await value('state', { source: stream, state: 'login_required' })).toBe(0);
  });

  it('add up what is missing, in doubt and absent', async () => {
    const absent = [{ cause: 'forgotten', orders: 3, orderIds: [] }] as const;
    const account = { state: 'live', unrecovered: 1, inDoubt: 2, absent } as const;
    for (let i = 0; i < 2; i += 1)
      gauges.set({}, { stream, accounts: [account, account], lastFrameMs: 1000, lastEventMs: 1000 });
    expect(await value('unrecovered', { source: stream })).toBe(4);
    expect(await value('inDoubt', { source: stream })).toBe(8);
    expect(await value('absentOrders', { source: stream, cause: 'forgotten' })).toBe(12);
    expect(await value('absentOrders', { source: stream, cause: 'store_lost' })).toBe(0);
  });

  it('count the time of a pause once, however many sources are paused in it', async () => {
    const seconds = async () =>
      (await metrics.source.pausedSeconds.get()).values.find(({ labels }) => labels.source === stream)?.value;
    gauges.paused(stream, 1000, 3000);
    gauges.paused(stream, 1500, 3500);
    gauges.paused('prediction', 1000, 9000);
    expect(await seconds()).toBe(2.5);
    gauges.paused(stream, 3000, 3200);
    gauges.paused(stream, 9000, 9500);
    expect(await seconds()).toBe(3);
  });

  it('show the frame of the one that is silent longest, and the newest event', async () => {
    gauges.set({}, { stream, accounts: inStates('live'), lastFrameMs: 9000, lastEventMs: 9000 });
    gauges.set({}, { stream, accounts: inStates('live'), lastFrameMs: 5000, lastEventMs: 4000 });
    gauges.set({}, { stream, accounts: inStates(), lastFrameMs: 1000, lastEventMs: 0 });
    gauges.set({}, { stream, accounts: inStates('connecting'), lastFrameMs: 0, lastEventMs: 0 });
    expect(await value('lastFrame', { source: stream })).toBe(5);
    expect(await value('lastEvent', { source: stream })).toBe(9);
  });

  it('show the complete read that is longest ago, and none once nothing is live', async () => {
    const [one, two] = [{}, {}];
    const reading = { stream, lastFrameMs: 9000, lastEventMs: 0 } as const;
    const readAt = (lastResyncMs: number, lastAuditMs?: number) =>
      inStates('live').map((account) => ({ ...account, lastResyncMs, lastAuditMs }));
    gauges.set(one, { ...reading, accounts: readAt(1000, 7000) });
    gauges.set(two, { ...reading, accounts: [...readAt(4000), ...readAt(8000)] });
    gauges.set({}, { ...reading, accounts: inStates('down') });
    expect(await value('lastCompleteRead', { source: stream })).toBe(4);
    gauges.remove(two);
    expect(await value('lastCompleteRead', { source: stream })).toBe(7);
    gauges.remove(one);
    expect(await value('lastCompleteRead', { source: stream })).toBe(0);
  });
});
