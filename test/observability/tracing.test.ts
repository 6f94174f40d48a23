import { describe, expect, it } from 'vitest';
import { TraceRig } from '../support/rest/trace-rig.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

const startMs = Date.parse('2026-11-23T08:00:00Z');
const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

function rig(options?: ConstructorParameters<typeof TraceRig>[1]) {
  const clock = new VirtualClock(startMs);
  const traces = new TraceRig(clock, options);
  return { clock, traces, tracing: traces.tracing };
}

describe('a span', () => {
  it('has the times of our clock, also where it began before it was made', async () => {
    const { clock, traces, tracing } = rig();
    await clock.advance(500);
    const span = tracing.begin('late', { sinceMs: clock.monotonicMs() - 200 });
    await clock.advance(100);
    span.end();
    expect(TraceRig.times(traces.named('late'))).toEqual([startMs + 300, startMs + 600]);
  });

  it('takes the end that it is given, and says why it failed', async () => {
    const { clock, traces, tracing } = rig();
    await clock.advance(100);
    tracing.begin('commit', { sinceMs: 20 }).end({ atMs: 70, failed: 'the database is away' });
    const span = traces.named('commit');
    const [began, ended] = TraceRig.times(span);
    expect(ended - began).toBe(50);
    expect(span.status).toEqual({ code: 2, message: 'the database is away' });
  });

  it('has ids from our random numbers', () => {
    const ids = [rig(), rig()].map(({ tracing }) => tracing.begin('a').context);
    expect(ids[0]).toEqual(ids[1]);
    expect(ids[0]).toMatchObject({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  it('that follows another is in its trace, and linked to it', () => {
    const { traces, tracing } = rig();
    const first = tracing.begin('first');
    first.end();
    tracing.begin('verdict', { parent: first.context, follows: true }).end();
    const verdict = traces.named('verdict');
    expect(verdict.parentSpanContext?.spanId).toBe(first.context.spanId);
    expect(verdict.spanContext().traceId).toBe(first.context.traceId);
    expect(verdict.links.map(({ context }) => context.spanId)).toEqual([first.context.spanId]);
  });
});

describe('the headers of a caller', () => {
  it('are continued, with its decision whether the trace is recorded', () => {
    const { traces, tracing } = rig();
    for (const flags of ['01', '00']) {
      const parent = tracing.callersSpan({ traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: 'vendor=1' });
      const span = tracing.begin(`flags ${flags}`, { parent });
      expect(span.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-${flags}$`));
      span.end();
    }
    expect(traces.names).toEqual(['flags 01']);
    expect(traces.named('flags 01').spanContext().traceState?.serialize()).toBe('vendor=1');
  });

  it('of a later version are continued', () => {
    const { tracing } = rig();
    expect(tracing.callersSpan({ traceparent: `01-${traceId}-${spanId}-01-more` })).toMatchObject({ traceId, spanId });
  });

  it.each([
    ['nothing', {}],
    ['no trace', { traceparent: 'hello' }],
    ['zeros', { traceparent: `00-${'0'.repeat(32)}-${spanId}-01` }],
    ['more than version 00 has', { traceparent: `00-${traceId}-${spanId}-01-more` }],
    ['version ff', { traceparent: `ff-${traceId}-${spanId}-01` }],
    ['two of them', { traceparent: `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01` }],
  ])('with %s begin a trace of our own', (_what, headers) => {
    expect(rig().tracing.callersSpan(headers)).toBeUndefined();
  });
});

describe('the sampler', () => {
  it.each([
    ['always_on', true, true],
    ['always_off', false, false],
    ['parentbased_always_off', false, true],
    ['traceidratio', false, false],
    ['parentbased_traceidratio', false, true],
  ] as const)('%s, with the ratio 0: records a root %s, and under a recorded caller %s', (sampler, root, child) => {
    const { tracing } = rig({ sampler, ratio: 0 });
    const parent = tracing.callersSpan({ traceparent: `00-${traceId}-${spanId}-01` });
    expect([tracing.begin('root').sampled, tracing.begin('child', { parent }).sampled]).toEqual([root, child]);
  });

  it('takes about its ratio of our ids', () => {
    const { tracing } = rig({ sampler: 'traceidratio', ratio: 0.25 });
    const taken = Array.from({ length: 4000 }, () => tracing.begin('root')).filter(({ sampled }) => sampled).length;
    expect(taken).toBeGreaterThan(850);
    expect(taken).toBeLessThan(1150);
  });
});

describe('the commands that are remembered', () => {
  it('are the newest 10,000 that are recorded', () => {
    const { tracing } = rig();
    const { context } = tracing.begin('command place');
    for (let i = 0; i < 10_001; i += 1) tracing.rememberCommand(`command-${i}`, context);
    tracing.rememberCommand('unrecorded', { ...context, traceFlags: 0 });
    expect(tracing.ofCommand('command-0')).toBeUndefined();
    expect(tracing.ofCommand('command-1')).toEqual(context);
    expect(tracing.ofCommand('command-10000')).toEqual(context);
    expect(tracing.ofCommand('unrecorded')).toBeUndefined();
  });
});
