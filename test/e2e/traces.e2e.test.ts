import { Kafka, logLevel } from 'kafkajs';
import { expect, it, onTestFinished } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { atEnd } from '../support/commands/at-end.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { callAt } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';
import { type ReceivedSpan, startOtlpReceiver } from '../support/servers/otlp-receiver.ts';

const accountId = 'SIM-1001';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

/** The `traceparent` of each record, with its key, as a consumer reads them. */
async function followTraceparents(brokers: readonly string[], topics: readonly string[]) {
  const consumer = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).consumer({
    groupId: `traces-${topics[0]}`,
  });
  const records: { topic: string; key: string; traceparent: string | undefined }[] = [];
  await consumer.connect();
  await consumer.subscribe({ topics: [...topics], fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ topic, message: { key, headers } }) => {
      records.push({ topic, key: String(key), traceparent: headers?.['traceparent']?.toString() });
    },
  });
  onTestFinished(() => consumer.disconnect());
  return records;
}

it('shows a command from the caller to its verdict in one trace, and its updates to the record on Kafka', async () => {
  const collector = await startOtlpReceiver();
  atEnd(() => collector.close());
  const { description: sandbox } = await runningSandbox({ market: { rate: 20 } });
  const env = {
    TIDEMARK_COMMANDS: 'on',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.address,
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=very-secret',
    OTEL_SERVICE_NAME: 'tidemark-desk',
    TIDEMARK_TRACE_UPDATES_EVERY: '5',
  };
  const world = await World.create({ platform: platformSettings(sandbox), env });
  const records = await followTraceparents(world.brokers, [world.topics.updates, world.topics.results]);
  const service = await world.serve();
  await service.waitLive();

  await control(sandbox, '/faults', {
    rules: [{ on: 'write', fault: 'outcome_unknown', write: 'place', applied: 'late', delayMs: 2000 }],
  });
  const body = { accountId, symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
  const placed = await callAt(await service.restAddress(), 'POST', '/v1/orders', { body, traceparent });
  expect(placed.body.result).toBe('unknown');
  const { commandId, attempts } = placed.body;

  const ofCommand = () => collector.spans.filter((span) => span.traceId === traceId);
  const named = (name: string): ReceivedSpan => {
    const [span] = ofCommand().filter((each) => each.name === name);
    if (span === undefined) throw new Error(`no span "${name}" among ${ofCommand().map((each) => each.name)}`);
    return span;
  };
  await eventually(() => named('command applied'), { deadlineMs: 60_000 });
  const request = named('POST /v1/orders');
  expect(request).toMatchObject({ parentSpanId: 'b7ad6b7169203331', resource: { 'service.name': 'tidemark-desk' } });
  const command = named('command place');
  expect(command).toMatchObject({ parentSpanId: request.spanId, about: { 'tidemark.command.id': commandId } });
  for (const name of ['journal command', 'platform place', 'command unknown', 'command applied'])
    expect(named(name).parentSpanId, name).toBe(command.spanId);
  expect(named('platform place').about).toMatchObject({
    'tidemark.attempt.id': attempts[0].attemptId,
    'tidemark.attempt.answer': 'unknown',
  });
  const verdict = named('command applied');
  expect(verdict.links.map(({ spanId }) => spanId)).toEqual([command.spanId]);
  expect(BigInt(verdict.startTimeUnixNano)).toBeGreaterThan(BigInt(command.endTimeUnixNano));

  // The update of its order, and the records of its steps: a
  // consumer continues the trace of the caller.
  const update = await eventually(() => named('update'), { deadlineMs: 30_000 });
  expect(update.about).toMatchObject({ 'tidemark.command.id': commandId, 'tidemark.stream': 'account' });
  const sends = await eventually(() => {
    const spans = ofCommand().filter(({ name }) => name === 'publish update' || name === 'publish result');
    expect(new Set(spans.map(({ name }) => name)).size).toBe(2);
    return spans;
  });
  await eventually(() => {
    for (const span of sends) {
      const key = span.about['messaging.kafka.message.key'];
      expect(records).toContainEqual({
        topic: span.name === 'publish update' ? world.topics.updates : world.topics.results,
        key,
        traceparent: `00-${traceId}-${span.spanId}-01`,
      });
    }
  });
  expect(records.find(({ topic }) => topic === world.topics.results)?.key).toBe(commandId);

  // Updates that no command of ours caused: about one in five.
  const others = () =>
    records.filter((record) => record.topic === world.topics.updates && !record.traceparent?.includes(traceId));
  await eventually(
    () => expect(others().filter((record) => record.traceparent !== undefined).length).toBeGreaterThan(3),
    {
      deadlineMs: 60_000,
    },
  );
  expect(others().filter((record) => record.traceparent === undefined).length).toBeGreaterThan(3);
  expect(await service.stop()).toBe(0);
  const joined = others().filter((record) => {
    const span = collector.spans.find(({ spanId }) => record.traceparent?.split('-')[2] === spanId);
    return record.traceparent !== undefined && span?.about['messaging.kafka.message.key'] !== record.key;
  });
  expect(joined, 'traced records without their span').toEqual([]);
  expect(collector.requests.every(({ headers }) => headers['api-key'] === 'very-secret')).toBe(true);
  expect(JSON.stringify(collector.spans)).not.toContain('very-secret');
}, 240_000);
