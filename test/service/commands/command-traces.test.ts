import { describe, expect, it } from 'vitest';
import { CommandRig, placePrediction, refused, unknown } from '../../support/commands/command-rig.ts';
import { TraceRig } from '../../support/rest/trace-rig.ts';
import type { VirtualClock } from '../../support/runs/virtual-clock.ts';

async function traced() {
  const made: TraceRig[] = [];
  const tracing = (clock: VirtualClock) => {
    const rig = new TraceRig(clock);
    made.push(rig);
    return rig.tracing;
  };
  const rig = await CommandRig.leading({ tracing });
  const [traces] = made;
  if (traces === undefined) throw new Error('the rig made no traces');
  return { rig, traces };
}

describe('the trace of a command', () => {
  it('has the journal, the platform and the answer, within the span of the command', async () => {
    const { rig, traces } = await traced();
    const caller = traces.tracing.begin('POST /v1/predictions/orders');
    const command = await rig.send(placePrediction, { span: caller.context });
    const whole = traces.named('command place');
    expect(whole.parentSpanContext?.spanId).toBe(caller.context.spanId);
    const parts = ['journal command', 'platform place', 'command accepted'].map((name) => traces.named(name));
    const [began, ended] = TraceRig.times(whole);
    for (const part of parts) {
      expect(part.parentSpanContext?.spanId, part.name).toBe(whole.spanContext().spanId);
      const [from, to] = TraceRig.times(part);
      expect(from >= began && to <= ended, part.name).toBe(true);
    }
    const { commandId, attempts } = command;
    expect(whole.attributes).toEqual({
      'tidemark.command.id': commandId,
      'tidemark.command.kind': 'place',
      'tidemark.command.state': 'accepted',
      'tidemark.stream': 'prediction',
      'tidemark.account.id': 'acct-1',
      'tidemark.request.id': 'request-1',
      'tidemark.replayed': false,
    });
    expect(traces.named('platform place').attributes).toEqual({
      'tidemark.attempt.id': attempts[0]?.attemptId,
      'tidemark.attempt.answer': 'accepted',
    });
    expect(traces.named('command accepted').links).toEqual([]);
  });

  it('has one span for each attempt, with the status that the platform answered', async () => {
    const { rig, traces } = await traced();
    rig.entry.scripts.push({ result: refused(401, true) }, { result: refused(422) });
    await rig.send(placePrediction);
    const attempts = traces.spans.filter(({ name }) => name === 'platform place');
    expect(attempts.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([401, 422]);
    expect(new Set(attempts.map(({ attributes }) => attributes['tidemark.attempt.id'])).size).toBe(2);
  });

  it('that is unknown gets a verdict minutes later as a span of its own, linked to the first, and none is open until then', async () => {
    const { rig, traces } = await traced();
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placePrediction);
    const whole = traces.named('command place');
    expect(traces.named('platform place').status).toMatchObject({ code: 2, message: 'its result is not known' });
    expect(traces.named('command unknown').attributes['tidemark.evidence']).toBe('answer');
    await rig.clock.advance(180_000);
    expect(traces.names).toContain('command evidence');
    const before = traces.spans.length;
    const { orderId } = rig.land(commandId);
    await rig.clock.advance(50);
    const verdict = traces.named('command applied');
    expect(traces.spans.length).toBe(before + 1);
    expect(verdict.links.map(({ context }) => context)).toEqual([whole.spanContext()]);
    expect(verdict.spanContext().traceId).toBe(whole.spanContext().traceId);
    expect(verdict.attributes).toMatchObject({
      'tidemark.command.was': 'unknown',
      'tidemark.command.final': true,
      'tidemark.evidence': 'stream',
      'tidemark.order.id': orderId,
    });
    const [, answered] = TraceRig.times(whole);
    const [from, to] = TraceRig.times(verdict);
    expect(from - answered).toBeGreaterThanOrEqual(180_000);
    expect(to - from).toBeLessThan(1_000);
  });

  it('that was declined says why, and nothing was journaled', async () => {
    const { rig, traces } = await traced();
    rig.probes.now = { ...rig.probes.now, known: false };
    await rig.declined(placePrediction);
    expect(traces.names).toEqual(['command place']);
    expect(traces.named('command place').attributes['tidemark.declined']).toBe('ACCOUNT_NOT_FOUND');
  });
});
