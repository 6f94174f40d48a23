import { describe, expect, it } from 'vitest';
import type { CommittedBatch, LogRow } from '../../../src/domain/committed-batch.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { UpdateTraces } from '../../../src/service/log/update-traces.ts';
import { TraceRig } from '../../support/rest/trace-rig.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function rig(every: number, sampler: 'always_on' | 'always_off' | 'parentbased_always_off' = 'always_on') {
  const clock = new VirtualClock();
  const traces = new TraceRig(clock, { sampler });
  const { tracing } = traces;
  return { clock, traces, tracing, updates: new UpdateTraces({ tracing, random: seededRandom(3) }, { every }) };
}

/** Received at 10 ms, committed at 14. */
function batch(rows: readonly Partial<LogRow>[]): CommittedBatch {
  const full = rows.map(
    (row, i) => ({ topic: 'updates', key: `prediction:${i}`, payload: '{}', accountId: 'ACC-1', ...row }) as const,
  );
  const isMark = full.map(({ topic }) => topic === 'watermarks');
  return {
    number: 7n,
    lastSeq: 9n,
    rows: full,
    receivedMs: isMark.map((mark) => (mark ? Number.NaN : 10)),
    streams: isMark.map((mark) => (mark ? 'watermarks' : 'prediction')),
    committedMs: 14,
    bytes: 2 * full.length,
  };
}

describe('a traced update', () => {
  it('has a span from its frame to the acknowledgement, and in it the commit and the send', async () => {
    const { clock, traces, updates } = rig(1);
    await clock.advance(20);
    const send = updates.begin([batch([{}])]);
    await clock.advance(5);
    send?.end();
    const [update, commit, publish] = ['update', 'commit', 'publish update'].map((name) => traces.named(name));
    const times = [update, commit, publish].map(
      (span) => span && TraceRig.times(span).map((ms) => ms - clock.nowMs() + 25),
    );
    expect(times).toEqual([
      [10, 25],
      [10, 14],
      [20, 25],
    ]);
    for (const span of [commit, publish]) expect(span?.parentSpanContext?.spanId).toBe(update?.spanContext().spanId);
    expect(update?.attributes).toEqual({
      'tidemark.order.key': 'prediction:0',
      'tidemark.stream': 'prediction',
      'tidemark.account.id': 'ACC-1',
      'tidemark.batch': '7',
    });
    const { traceId, spanId } = publish?.spanContext() ?? { traceId: '', spanId: '' };
    expect(send?.rows.map(({ traceparent }) => traceparent)).toEqual([`00-${traceId}-${spanId}-01`]);
  });

  it('says that Kafka did not acknowledge it', () => {
    const { traces, updates } = rig(1);
    updates.begin([batch([{}])])?.end('not acknowledged');
    expect(traces.named('publish update').status).toEqual({ code: 2, message: 'not acknowledged' });
    expect(traces.named('update').status).toEqual({ code: 2, message: 'not acknowledged' });
  });
});

describe('which updates are traced', () => {
  it('one in so many on average, wherever the batches begin; the other rows go as they are', () => {
    const { updates } = rig(50);
    let traced = 0;
    for (let i = 0; i < 100; i += 1) {
      const batches = [batch(Array.from({ length: 70 }, () => ({}))), batch(Array.from({ length: 30 }, () => ({})))];
      const rows = updates.begin(batches)?.rows ?? [];
      if (rows.length > 0)
        expect(rows.map(({ key }) => key)).toEqual(batches.flatMap((each) => each.rows.map(({ key }) => key)));
      traced += rows.filter(({ traceparent }) => traceparent !== undefined).length;
    }
    expect(traced).toBeGreaterThan(150);
    expect(traced).toBeLessThan(250);
  });

  it('none where the sampler takes none, and never a watermark', () => {
    expect(rig(1, 'always_off').updates.begin([batch([{}, {}])])).toBeUndefined();
    expect(rig(1).updates.begin([batch([{ topic: 'watermarks' }])])).toBeUndefined();
    expect(rig(0).updates.begin([batch(Array.from({ length: 5000 }, () => ({})))])).toBeUndefined();
  });

  it('the first 16 of an order that a traced command placed, in the trace of the command', () => {
    const { tracing, traces, updates } = rig(0, 'parentbased_always_off');
    const parent = tracing.callersSpan({ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' });
    const command = tracing.begin('command place', { parent });
    tracing.rememberCommand('command-1', command.context);
    const rows = [{ commandId: 'command-2' }, ...Array.from({ length: 20 }, () => ({ commandId: 'command-1' }))];
    const send = updates.begin([batch(rows)]);
    send?.end();
    expect(send?.rows.map(({ traceparent }) => traceparent !== undefined)).toEqual(
      rows.map((_, i) => i > 0 && i <= 16),
    );
    const spans = traces.spans.filter(({ name }) => name === 'update');
    for (const span of spans) {
      expect(span.parentSpanContext?.spanId).toBe(command.context.spanId);
      expect(span.attributes['tidemark.command.id']).toBe('command-1');
    }
  });
});
