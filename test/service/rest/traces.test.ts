import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { ask, type RestRigOptions, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody } from '../../support/rest/route-samples.ts';
import { TraceRig } from '../../support/rest/trace-rig.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const callers = { traceparent: `00-${traceId}-${spanId}-01` };

async function start(options: RestRigOptions = {}) {
  const traces = new TraceRig(systemClock);
  const rig = await startRest({ ...options, ports: { tracing: traces.tracing } });
  stops.push(() => rig.server.drain(new AbortController().signal));
  const place = (headers: Record<string, string> = {}) =>
    ask(`${rig.address}/v1/orders`, {
      method: 'POST',
      body: JSON.stringify(accountBody),
      headers: {
        'content-type': 'application/json',
        'idempotency-key': 'key-1',
        'x-request-id': 'request-1',
        ...headers,
      },
    });
  return { ...rig, traces, place };
}

describe('the span of a request for a command', () => {
  it('continues that of the caller, and is given to the command side', async () => {
    const { traces, commands, place } = await start();
    expect((await place(callers)).status).toBe(200);
    const span = traces.named('POST /v1/orders');
    expect(span.kind).toBe(1);
    expect(span.spanContext().traceId).toBe(traceId);
    expect(span.parentSpanContext).toMatchObject({ spanId, isRemote: true });
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/orders',
      'http.response.status_code': 200,
      'tidemark.request.id': 'request-1',
    });
    expect(commands.submissions[0]?.span).toEqual(span.spanContext());
  });

  it('names its route, not the order in its path, and says when the answer is a failure of ours', async () => {
    const { traces, commands, address } = await start();
    commands.submitAnswer = () => ({ kind: 'declined', code: 'STORE_UNAVAILABLE', message: 'the database is away' });
    const path = '/v1/orders/order-1?accountId=ACC-1';
    await ask(address + path, { method: 'DELETE', headers: { 'idempotency-key': 'key-1' } });
    expect(traces.named('DELETE /v1/orders/:orderId').status).toEqual({ code: 2, message: 'HTTP 503' });
  });

  it('has nothing of what a caller may not show: no token, no key, no body', async () => {
    const { traces, place } = await start();
    await place({ authorization: 'Bearer very-secret', 'idempotency-key': 'key-of-the-caller' });
    const text = JSON.stringify(traces.spans.map(({ name, attributes, events }) => [name, attributes, events]));
    expect(text).toContain('POST /v1/orders');
    for (const hidden of ['very-secret', 'key-of-the-caller', accountBody.symbol]) expect(text).not.toContain(hidden);
  });

  it('is continued by the instance to which the request is forwarded', async () => {
    const holder = await start({ instance: 'two' });
    const to = { instance: 'two', address: holder.address };
    const other = await start({ instance: 'one', others: { holderOf: () => to, all: () => [to] } });
    other.commands.submitAnswer = () => ({
      kind: 'declined',
      code: 'NOT_LEADER',
      message: 'another process holds the shard',
    });
    expect((await other.place(callers)).status).toBe(200);
    const [first, second] = [other, holder].map(({ traces }) => traces.named('POST /v1/orders'));
    expect(first?.spanContext().traceId).toBe(traceId);
    expect(second?.spanContext().traceId).toBe(traceId);
    expect(second?.parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
  });
});
