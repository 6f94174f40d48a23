import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { openTracing } from '../../src/observability/open-tracing.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { eventually } from '../support/runs/poll.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';
import { startOtlpReceiver } from '../support/servers/otlp-receiver.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

function open(endpoint: string, { clock = systemClock, ...over }: { headers?: Secret; clock?: Clock } = {}) {
  const lines: { msg: string; lostSpans?: number }[] = [];
  const log = pino(
    new Writable({
      write: (line: Buffer, _encoding, done) => {
        lines.push(JSON.parse(line.toString()));
        done();
      },
    }),
  );
  const opened = openTracing(
    { clock, random: systemRandom, log },
    { endpoint, serviceName: 'desk', version: '1.2.3', sampler: 'parentbased_always_on', ratio: 1, ...over },
  );
  return { ...opened, lines };
}

async function collector() {
  const receiver = await startOtlpReceiver();
  stops.push(() => receiver.close());
  return receiver;
}

/** A port on which nothing listens. */
async function deadAddress(): Promise<string> {
  const { address, close } = await startOtlpReceiver();
  await close();
  return address;
}

describe('traces over OTLP/HTTP', () => {
  it('are sent at the end, with the headers of the setting and the name of the service', async () => {
    const receiver = await collector();
    const { tracing, drain, lines } = open(receiver.address, { headers: new Secret('api-key=a%20b, x-tenant=desk') });
    const span = tracing.begin('one', { attributes: { 'tidemark.stream': 'account' } });
    span.end();
    await drain(new AbortController().signal);
    expect(receiver.spans).toMatchObject([
      {
        name: 'one',
        traceId: span.context.traceId,
        about: { 'tidemark.stream': 'account' },
        resource: { 'service.name': 'desk', 'service.version': '1.2.3' },
      },
    ]);
    expect(receiver.requests).toMatchObject([
      { path: '/v1/traces', headers: { 'api-key': 'a b', 'x-tenant': 'desk' } },
    ]);
    expect(lines).toEqual([]);
  });

  it('cost one warning while the collector refuses them, and one line when it takes them again', async () => {
    const receiver = await collector();
    receiver.status = 400;
    const { tracing, lines } = open(receiver.address);
    for (let i = 0; i < 2; i += 1) {
      const asked = receiver.requests.length;
      tracing.begin('lost').end();
      await eventually(() => expect(receiver.requests.length).toBeGreaterThan(asked));
    }
    receiver.status = 200;
    tracing.begin('sent').end();
    await eventually(() => expect(lines.length).toBe(2));
    expect(lines[0]?.msg).toContain('is OTEL_EXPORTER_OTLP_ENDPOINT the OTLP/HTTP port of the collector');
    expect(lines[1]).toMatchObject({ msg: 'traces are sent again', lostSpans: 2 });
    expect(receiver.spans.map(({ name }) => name)).toEqual(['sent']);
  });

  it('wait in a bounded queue: what does not fit is dropped', async () => {
    const receiver = await collector();
    const { tracing, drain } = open(receiver.address);
    for (let i = 0; i < 20_000; i += 1) tracing.begin('many').end();
    await drain(new AbortController().signal);
    // Those of the queue, and one batch that had left it.
    expect(receiver.spans.length).toBe(2048 + 512);
  });

  it('hold up the end of the process for two seconds at most', async () => {
    const clock = new VirtualClock();
    const { tracing, drain } = open(await deadAddress(), { clock });
    tracing.begin('late').end();
    const drained = drain(new AbortController().signal);
    await clock.advance(2_000);
    // Otherwise this waits for the exporter, which tries for ten seconds of real time, and fails by
    // the deadline of the test.
    await drained;
    expect(clock.monotonicMs()).toBe(2_000);
  });
});
