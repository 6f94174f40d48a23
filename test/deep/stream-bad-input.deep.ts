import { deflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { accountRow, eventText, predictionRow, type Row } from '../../src/venue/platform/fixtures/rows.ts';
import { nowText, type PlatformStyle, ScriptedPlatformServer } from '../support/platform/scripted-platform-server.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { rawFrame } from './parts/raw-frame.ts';

interface Scene {
  readonly platform: ScriptedPlatformServer;
  readonly world: World;
  readonly service: RunningService;
}

/** A live service on a platform that does what the test says. */
async function scene(style: Partial<PlatformStyle> = {}): Promise<Scene> {
  const platform = await ScriptedPlatformServer.start({ accounts: ['acct-1'], ...style });
  const world = await World.create({ platform: platform.settings });
  const service = await world.serve();
  await service.waitLive();
  return { platform, world, service };
}

interface Order {
  readonly status: string;
  readonly revision: string;
  readonly version: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: the state as it stands in the database
  readonly state: any;
}

async function order({ world }: Scene, orderId: string): Promise<Order | undefined> {
  const [found] = await world.query<Order>(
    'select status, revision::text, source_version::text as version, state from current_orders where order_id = $1',
    [orderId],
  );
  return found;
}

function untilStored(at: Scene, orderId: string, wanted: Partial<Order> = {}): Promise<Order> {
  return eventually(async () => {
    const found = await order(at, orderId);
    if (found === undefined) throw new Error(`${orderId} is not stored`);
    expect(found).toMatchObject(wanted);
    return found;
  });
}

async function deadLetters({ world }: Scene): Promise<{ reason: string; order_id: string | null; raw: string }[]> {
  return world.query('select reason, order_id, raw from dead_letters order by id');
}

let made = 0;

/** A row of a new order, changed just now. */
function fresh(row: Row, changes: Row = {}): Row {
  made += 1;
  const id = `7d9f0a52-4c1e-4a53-9d0e-${String(made).padStart(12, '0')}`;
  const now = nowText();
  return { ...row, ...('ordId' in row ? { ordId: id } : { orderId: id }), createdAt: now, updatedAt: now, ...changes };
}

/**
 * The proof that the lane still moves: an order that nobody has seen yet comes through on both
 * streams, and on to Kafka.
 */
async function expectGoodUpdatesGoThrough(at: Scene): Promise<void> {
  const account = fresh(accountRow);
  const prediction = fresh(predictionRow);
  await eventually(async () => {
    at.platform.emit('account', account);
    at.platform.emit('prediction', prediction, '1');
    expect(await order(at, String(account['ordId']))).toBeDefined();
    expect(await order(at, String(prediction['orderId']))).toBeDefined();
  });
  await eventually(async () =>
    expect(sumOf(await at.service.metrics(), 'tidemark_log_pending', { topic: 'updates' })).toBe(0),
  );
}

/**
 * Invariant 4: what came in on the stream = what was applied, ignored or a dead letter, and what
 * was dropped because it was foreign.
 */
function expectNothingVanished(at: Scene): Promise<void> {
  return eventually(async () => {
    const samples = await at.service.metrics();
    const frames = (type: string) => sumOf(samples, 'tidemark_source_frames_total', { type });
    const resolved = sumOf(samples, 'tidemark_observations_total', { cause: 'stream' });
    expect(resolved).toBe(frames('event') + frames('unreadable') - frames('foreign'));
  });
}

it('of two versions that are one double, the higher stays', async () => {
  const at = await scene();
  const row = fresh(predictionRow);
  const id = String(row['orderId']);
  at.platform.emit(
    'prediction',
    { ...row, cumQty: '3', leavesQty: '7', state: 'partially_filled' },
    '9007199254740993',
  );
  at.platform.emit('prediction', row, '9007199254740992');
  at.platform.emit(
    'prediction',
    { ...row, cumQty: '9', leavesQty: '1', state: 'partially_filled' },
    '9007199254740992',
  );
  await eventually(async () =>
    expect(sumOf(await at.service.metrics(), 'tidemark_observations_total', { result: 'stale' })).toBe(2),
  );
  expect(await order(at, id)).toMatchObject({ version: '9007199254740993', revision: '1', state: { cumQty: '3' } });
  await expectGoodUpdatesGoThrough(at);
});

it('what is no int64 version, no JSON or no event is kept as a dead letter, and the order that it names is asked for', async () => {
  const at = await scene();
  const row = fresh(predictionRow);
  const id = String(row['orderId']);
  at.platform.put('prediction', row, '7');
  for (const version of ['9223372036854775808', '1.0', '1e3', '-1', 'null', '""', undefined]) {
    at.platform.emit('prediction', row, version);
  }
  // One of each kind is kept.
  for (let i = 0; i < 5; i += 1) at.platform.send('prediction', 'acct-1', '{"type":"rebalance"}');
  for (const text of ['not json', '<html></html>', '[1,2,3]', '', '{"type":"rebalance"}', '{"type":"event"}']) {
    at.platform.send('prediction', 'acct-1', text);
  }
  at.platform.send('prediction', 'acct-1', eventText('prediction', 'acct-1', row, '8').slice(0, 200));
  at.platform.emit('prediction', { ...row, cumQty: '1e' }, '9');
  at.platform.emit('prediction', { ...row, updatedAt: '2026-02-30T00:00:00Z' }, '9');

  await eventually(async () => expect(await deadLetters(at)).toHaveLength(16));
  const reasons = (await deadLetters(at)).map(({ reason }) => reason);
  expect(reasons.filter((reason) => reason === 'bad_version')).toHaveLength(4);
  // Null and the empty text are ways to leave it out.
  expect(reasons.filter((reason) => reason === 'missing_version')).toHaveLength(3);
  expect(new Set(reasons)).toEqual(
    new Set([
      ...['bad_version', 'missing_version', 'not_json', 'not_an_object', 'unknown_message', 'missing_field'],
      ...['bad_decimal', 'bad_instant'],
    ]),
  );
  // The stream never said anything of the order that could be read: the one GET did.
  await untilStored(at, id, { version: '7' });
  expect(at.platform.requests).toContain(`GET /v1/predictions/orders/${id}`);
  await expectGoodUpdatesGoThrough(at);
  await expectNothingVanished(at);
});

it('one version with two contents becomes a dead letter and is counted as a conflict, and the state stays', async () => {
  const at = await scene();
  const row = fresh(predictionRow);
  const id = String(row['orderId']);
  at.platform.emit('prediction', row, '5');
  at.platform.emit('prediction', { ...row, cumQty: '4', leavesQty: '6', state: 'partially_filled' }, '5');
  at.platform.emit('prediction', row, '5');
  await at.service.waitMetric('tidemark_observations_total', { stream: 'prediction', result: 'conflict' }, 1);
  await at.service.waitMetric('tidemark_observations_total', { stream: 'prediction', result: 'duplicate' }, 1);
  expect(await deadLetters(at)).toMatchObject([{ reason: 'same_version_other_content', order_id: id }]);
  expect(await order(at, id)).toMatchObject({ revision: '1', state: { cumQty: '0' } });
  await expectGoodUpdatesGoThrough(at);
});

it('an event of an account that is not ours is dropped and told once, whether its target or its row names it', async () => {
  const at = await scene();
  const foreign = fresh(predictionRow, { accountId: 'acct-9' });
  const disguised = fresh(predictionRow, { accountId: 'acct-9' });
  at.platform.send('prediction', 'acct-1', eventText('prediction', 'acct-9', foreign, '1'));
  at.platform.emit('prediction', disguised, '1', 'acct-1');
  await at.service.waitMetric('tidemark_source_frames_total', { source: 'prediction', type: 'foreign' }, 2);
  await expectGoodUpdatesGoThrough(at);
  expect(await at.world.query(`select from orders where account_id = 'acct-9'`)).toEqual([]);
  expect(await deadLetters(at)).toEqual([]);
  const told = at.service.process.log().filter(({ level, msg }) => level === 'error' && /dropped, counted/.test(msg));
  expect(told).toHaveLength(2);
  await expectNothingVanished(at);
});

it('account orders are joined whatever is claimed: fills beyond the quantity, cumQty falling, NEW after FILLED', async () => {
  const at = await scene();
  const over = fresh(accountRow, { ordStatus: 'FILLED', cumQty: '150', leavesQty: '0', avgPrice: '191.5' });
  const falling = fresh(accountRow, {
    ordStatus: 'PARTIALLY_FILLED',
    cumQty: '40',
    leavesQty: '60',
    avgPrice: '191.5',
  });
  const back = fresh(accountRow, { ordStatus: 'FILLED', cumQty: '100', leavesQty: '0', avgPrice: '191.5' });
  for (const row of [over, falling, back]) {
    at.platform.put('account', row);
    at.platform.emit('account', row);
  }
  const soon = nowText(50);
  at.platform.emit('account', { ...falling, cumQty: '10', leavesQty: '90', updatedAt: soon });
  at.platform.emit('account', {
    ...back,
    ordStatus: 'NEW',
    cumQty: '0',
    leavesQty: '100',
    avgPrice: undefined,
    updatedAt: soon,
  });
  await untilStored(at, String(over['ordId']));
  await untilStored(at, String(back['ordId']));
  await expectGoodUpdatesGoThrough(at);
  await expectNothingVanished(at);
  expect(await order(at, String(over['ordId']))).toMatchObject({
    status: 'filled',
    state: { cumQty: '150', leavesQty: '0' },
  });
  expect(await order(at, String(falling['ordId']))).toMatchObject({
    status: 'partially_filled',
    state: { cumQty: '40' },
  });
  expect(await order(at, String(back['ordId']))).toMatchObject({ status: 'filled', state: { cumQty: '100' } });
});

it('NUL and lone surrogates are replaced, long texts are cut, and a reject text of a megabyte never comes back to haunt the lane', async () => {
  const at = await scene();
  const text = fresh(predictionRow, { state: 'rejected', rejectText: 'no\u0000pe \ud800', rejectReason: 'R' });
  const long = fresh(predictionRow, { state: 'rejected', rejectText: 'é'.repeat(25_000) });
  const huge = fresh(predictionRow, { state: 'rejected', rejectText: 'x'.repeat(1_000_000) });
  at.platform.emit('prediction', text, '2');
  at.platform.emit('prediction', long, '2');
  expect((await untilStored(at, String(text['orderId']))).state.rejectText).toBe('no\ufffdpe \ufffd');
  expect((await untilStored(at, String(long['orderId']))).state.rejectText).toMatch(/^é{1000,4096}$/);

  // As an event it exceeds the largest frame, which ends the connection;
  // as a row of the list it is taken, and cut.
  at.platform.put('prediction', huge, '2');
  at.platform.emit('prediction', huge, '2');
  await at.service.waitMetric('tidemark_source_reconnects_total', { source: 'prediction', reason: 'oversize' }, 1);
  expect((await untilStored(at, String(huge['orderId']))).state.rejectText).toMatch(/^x{1000,4096}$/);
  await at.service.waitLive();
  await expectGoodUpdatesGoThrough(at);
  expect(await deadLetters(at)).toEqual([]);
});

const bomb = rawFrame(1, deflateRawSync(Buffer.alloc(32 * 1024 * 1024)).subarray(0, 32_000), { compressed: true });
const fragment = (opcode: number) => rawFrame(opcode, Buffer.from('{"type":'), { final: false });
const transportFaults: readonly (readonly [what: string, reason: string, bytes: Buffer])[] = [
  ['a binary frame that is no text', 'binary', rawFrame(2, Buffer.of(0xff, 0xfe))],
  ['bad UTF-8', 'bad_utf8', rawFrame(1, Buffer.from([0x7b, 0xc3, 0x28, 0x7d]))],
  ['a frame of 64 KiB and one byte', 'oversize', rawFrame(1, Buffer.alloc(64 * 1024 + 1, 'x'))],
  ['fragments without end', 'protocol', Buffer.concat([fragment(1), ...Array.from({ length: 65 }, () => fragment(0))])],
  [
    'a flood of pings',
    'ping_flood',
    Buffer.concat(Array.from({ length: 500 }, () => rawFrame(9, Buffer.from('flood')))),
  ],
  ['a deflate bomb that nobody agreed to', 'protocol', bomb],
];

it('frames that break the rules of WebSocket end the connection, and the next one reads everything again', async () => {
  const at = await scene();
  const seen = new Map<string, number>();
  for (const [what, reason, bytes] of transportFaults) {
    // What the stream does not say must come by the read that follows.
    const row = fresh(accountRow);
    at.platform.put('account', row);
    for (const { raw } of at.platform.following('account', 'acct-1')) raw.write(bytes);
    const count = (seen.get(reason) ?? 0) + 1;
    seen.set(reason, count);
    await at.service.waitMetric('tidemark_source_reconnects_total', { source: 'account', reason }, count);
    await untilStored(at, String(row['ordId']));
    await eventually(() => expect(at.platform.following('account', 'acct-1'), what).toHaveLength(1), {
      deadlineMs: 120_000,
    });
  }
  await at.service.waitLive();
  await expectGoodUpdatesGoThrough(at);
}, 240_000);

it('HTML in answer to the upgrade, events ahead of the acknowledgement and one that never comes only delay it', async () => {
  const early = fresh(accountRow);
  const html = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>';
  const at = await scene({
    refuseUpgrade: (count) => (count <= 4 ? html : undefined),
    onSubscribe: (count, { socket }) => {
      socket.send(eventText('account', 'acct-1', early));
      return count <= 2 ? 'ignore' : 'acknowledge';
    },
  });
  const samples = await at.service.metrics();
  expect(sumOf(samples, 'tidemark_source_reconnects_total', { reason: 'refused' })).toBe(4);
  expect(sumOf(samples, 'tidemark_source_reconnects_total', { reason: 'ack_timeout' })).toBe(2);
  await untilStored(at, String(early['ordId']), { revision: '1' });
  await expectGoodUpdatesGoThrough(at);
}, 240_000);

it('on a stream of heartbeats that has lost its data, the audit finds what changed', async () => {
  const at = await scene();
  const row = fresh(predictionRow);
  at.platform.emit('prediction', row, '1');
  await untilStored(at, String(row['orderId']), { version: '1' });
  const filled = { ...row, state: 'filled', cumQty: '10', leavesQty: '0', avgPx: '0.4', updatedAt: nowText() };
  at.platform.put('prediction', filled, '2');
  at.platform.send('prediction', 'acct-1', `{"type":"heartbeat","timestamp":"${nowText()}"}`);
  await untilStored(at, String(row['orderId']), { version: '2', status: 'filled' });
  await at.service.waitMetric('tidemark_source_silent_losses_total', { source: 'prediction' }, 1);
  await expectGoodUpdatesGoThrough(at);
});
