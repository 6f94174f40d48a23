import { describe, expect, it } from 'vitest';
import {
  applications,
  applicationsOf,
  faultRule,
  type WriteFault,
  writeFaults,
} from '../../../src/sandbox/faults/fault-shapes.ts';
import { orderClient } from '../../support/commands/order-entry.ts';
import { ask, control, controlLines } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

type OrderClient = Awaited<ReturnType<typeof orderClient>>;

/** What a client sees of a write that meets the fault: a status, or no whole answer. */
const seen: Readonly<Record<WriteFault, number | 'broken' | 'nothing'>> = {
  outcome_unknown: 504,
  status_504: 504,
  at_capacity: 429,
  unavailable: 503,
  status_429: 429,
  status_503: 503,
  status_500: 500,
  status_401: 401,
  html: 502,
  redirect: 302,
  torn: 'broken',
  hang: 'nothing',
  reset: 'broken',
  wrong_order: 202,
};

const combinations = writeFaults.flatMap((fault) => applicationsOf[fault].map((applied) => [fault, applied] as const));

async function statusOf(client: OrderClient, reference: string): Promise<number | 'broken' | 'nothing'> {
  const cut = new AbortController();
  const answer = ask(`${client.at.staging}/v1/predictions/orders`, {
    method: 'POST',
    headers: client.headers,
    body: JSON.stringify({
      accountId: 'SIM-1001',
      symbol: 'FED-CUT-DEC26',
      outcome: 'YES',
      side: 'buy',
      orderType: 'limit',
      timeInForce: 'gtc',
      quantity: '10',
      price: '0.4',
      clientOrderRef: reference,
    }),
    signal: cut.signal,
  }).then(
    ({ status }) => status,
    () => 'broken' as const,
  );
  const hung = eventually(async () => {
    const answers = await controlLines(client.at, '/ledger?kind=answer');
    if (!answers.some((line) => line.fault === 'hang')) throw new Error('not hanging yet');
    return 'nothing' as const;
  });
  const answered = await Promise.race([answer, hung.catch(() => 'broken' as const)]);
  cut.abort();
  return answered;
}

describe('a write that meets a fault', () => {
  it.each(combinations)(
    '%s, applied %s: is answered so, and the ledger says what became of it',
    async (fault, applied) => {
      const client = await orderClient();
      await client.fault({ fault, applied, delayMs: 50 });
      expect(await statusOf(client, 'meets')).toBe(seen[fault]);
      const mine = async () => (await client.decisions()).filter((line) => line.reference === 'meets');
      if (applied === 'no') {
        expect(await mine()).toMatchObject([{ decision: 'not_applied', fault }]);
        expect(await client.byReference('meets')).toEqual([]);
        return;
      }
      await eventually(async () => expect(await client.byReference('meets')).toHaveLength(1));
      const [order] = await client.byReference('meets');
      const accepted = { decision: 'accepted', fault, orderId: order.orderId };
      expect(await mine()).toMatchObject(
        applied === 'yes'
          ? [accepted]
          : [
              { decision: 'deferred', fault },
              { ...accepted, late: true },
            ],
      );
    },
  );

  it('is counted once per acceptance under its reference, whatever answers went out', async () => {
    const client = await orderClient();
    await client.fault({ fault: 'status_500', applied: 'yes' });
    await client.placePrediction({ clientOrderRef: 'counted' });
    await client.placePrediction({ clientOrderRef: 'counted' });
    const accepted = (await client.decisions()).filter(
      (line) => line.decision === 'accepted' && line.reference === 'counted',
    );
    expect(accepted).toHaveLength(2);
    expect(await client.byReference('counted')).toHaveLength(2);
  });

  it('has its request in the ledger with every byte, before its decision and its answer', async () => {
    const client = await orderClient();
    await client.fault({ fault: 'outcome_unknown', applied: 'yes' });
    const body =
      '{"accountId":"SIM-1001", "symbol":"AAPL","side":"BUY","type":"LIMIT","qty":"1","timeInForce":"DAY","price":"2","clientId":"é"}';
    await client.placeRaw(body);
    const lines = await controlLines(client.at, '/ledger?kind=request,decision,answer');
    const request = lines.find(
      (line) => line.kind === 'request' && line.method === 'POST' && line.url === '/v1/orders',
    );
    expect(request).toMatchObject({ body, bytes: Buffer.byteLength(body) });
    const about = lines.filter((line) => line.request === request.seq);
    expect(about).toMatchObject([
      { kind: 'decision', decision: 'accepted', reference: 'é' },
      { kind: 'answer', status: 504, fault: 'outcome_unknown' },
    ]);
  });

  it.each([
    ['outcome_unknown', 504, 'REQUEST_OUTCOME_UNKNOWN', 'timeout'],
    ['at_capacity', 429, 'ORDER_ENTRY_AT_CAPACITY', 'rate_limit'],
    ['unavailable', 503, 'ORDER_ENTRY_UNAVAILABLE', 'unavailable'],
  ])('%s has the documented body on every write of a prediction order', async (fault, status, code, type) => {
    const client = await orderClient();
    const id = await client.working();
    await client.fault({ fault, times: 3 });
    for (const answer of [
      await client.placePrediction(),
      await client.replace(id, { quantity: '20' }),
      await client.cancelPrediction(id),
    ])
      expect(answer).toMatchObject({ status, json: { success: false, error: { code, type } } });
  });

  it.each(['status_429', 'status_503', 'status_504', 'status_500'])(
    '%s has none of the documented bodies',
    async (fault) => {
      const client = await orderClient();
      await client.fault({ fault });
      const { text } = await client.placePrediction();
      expect(text).not.toMatch(/ORDER_ENTRY|OUTCOME_UNKNOWN|success/);
    },
  );

  it('shows another order of the account where the answer is mixed up', async () => {
    const client = await orderClient();
    await client.fault({ fault: 'wrong_order', applied: 'yes', times: 2 });
    const prediction = await client.placePrediction({ clientOrderRef: 'mine' });
    expect(prediction.json.data.clientOrderRef).not.toBe('mine');
    const account = await client.place({ clientId: 'mine' });
    expect(account.status).toBe(200);
    expect(account.json.clOrdId).not.toBe('mine');
    expect(await client.byReference('mine')).toHaveLength(2);
  });

  it('is met only where the rule points: account, stream, kind of write, reference, after those let pass', async () => {
    const client = await orderClient();
    await client.fault({
      fault: 'status_500',
      reference: 'this',
      write: 'place',
      stream: 'account',
      accountId: 'SIM-1001',
      skip: 1,
    });
    const statuses = [];
    for (const clientId of ['other', 'this', 'this', 'this']) statuses.push((await client.place({ clientId })).status);
    statuses.push((await client.placePrediction({ clientOrderRef: 'this' })).status);
    expect(statuses).toEqual([200, 200, 500, 200, 202]);
  });

  it('that is late is judged when it arrives: it lapses when the order is closed by then', async () => {
    const client = await orderClient();
    const id = await client.working();
    await client.fault({ fault: 'outcome_unknown', applied: 'late', delayMs: 600_000 });
    expect((await client.replace(id, { quantity: '20' })).status).toBe(504);
    await client.verb(id, { action: 'cancel' });
    await control(client.at, '/heal');
    expect((await client.decisions()).at(-1)).toMatchObject({
      decision: 'lapsed',
      late: true,
      code: 'ORDER_NOT_ACTIONABLE',
      write: 'replace',
    });
  });

  it('that is late arrives at once when it heals, and not again', async () => {
    const client = await orderClient();
    await client.fault({ fault: 'status_504', applied: 'late', delayMs: 600_000 });
    await client.place({ clientId: 'late' });
    expect(await client.byReference('late')).toEqual([]);
    await control(client.at, '/heal');
    await control(client.at, '/heal');
    expect(await client.byReference('late')).toHaveLength(1);
  });

  it('tears the answer at the byte that was asked for, head included', async () => {
    for (const at of [1, 20, 100, 200]) {
      const client = await orderClient();
      await client.fault({ fault: 'torn', at });
      const bytes = await rawAnswer(client);
      expect(bytes.length).toBe(at);
      expect('HTTP/1.1 200 OK\r\ncontent-type'.startsWith(bytes.slice(0, 20))).toBe(true);
      expect(await client.byReference('raw')).toHaveLength(1);
    }
  });

  it('is drawn by rate from the seed: the same writes meet the same faults', async () => {
    const run = async () => {
      const client = await orderClient({ market: { seed: 7 } });
      await control(client.at, '/faults', { writes: { outcome_unknown: 0.4, status_500: 0.2 }, lateMs: 0 });
      const met: unknown[] = [];
      for (let i = 0; i < 30; i += 1) met.push((await client.place({ clientId: `d${i}` })).status);
      const decisions = (await client.decisions()).filter((line) => line.late !== true);
      return { met, decisions: decisions.map(({ decision, reference }) => [decision, reference]) };
    };
    const first = await run();
    expect(first.met).toContain(504);
    expect(first.met).toContain(200);
    expect(new Set(first.decisions.map(([decision]) => decision))).toEqual(
      new Set(['accepted', 'not_applied', 'deferred']),
    );
    expect(await run()).toEqual(first);
  });

  it('that is late by a range is done after a time from the range, drawn from the seed', async () => {
    const delays = async () => {
      const client = await orderClient({ market: { seed: 11 } });
      await control(client.at, '/faults', {
        rules: [{ on: 'write', fault: 'outcome_unknown', applied: 'late', delayMs: [300_000, 600_000], times: 5 }],
      });
      for (let i = 0; i < 5; i += 1) await client.place({ clientId: `r${i}` });
      return (await client.decisions()).map((line) => line.delayMs as number);
    };
    const drawn = await delays();
    expect(new Set(drawn).size).toBe(5);
    expect(drawn.every((ms) => ms >= 300_000 && ms <= 600_000)).toBe(true);
    expect(await delays()).toEqual(drawn);
  });

  it('that is told its token has grown old is told so once, and nothing was looked at', async () => {
    const client = await orderClient();
    await client.fault({ fault: 'status_401' });
    expect([
      (await client.place({ clientId: 'twice' })).status,
      (await client.place({ clientId: 'twice' })).status,
    ]).toEqual([401, 200]);
    expect(await client.byReference('twice')).toHaveLength(1);
  });

  it('meets nothing after it heals', async () => {
    const client = await orderClient();
    await control(client.at, '/faults', { writes: { status_500: 1 } });
    expect((await client.place()).status).toBe(500);
    await control(client.at, '/heal');
    expect((await client.place()).status).toBe(200);
  });
});

describe('the rule of a write fault', () => {
  it.each(writeFaults)('%s may be applied only as its documented answer leaves open', (fault) => {
    const allowed = applications.filter((applied) => faultRule.safeParse({ on: 'write', fault, applied }).success);
    expect(new Set(allowed)).toEqual(new Set(applicationsOf[fault]));
  });

  it('that promises nothing was sent can never be one that was applied', () => {
    for (const fault of ['at_capacity', 'unavailable'] as const) expect(applicationsOf[fault]).toEqual(['no']);
  });
});

describe('the account store that was lost', () => {
  it('restarts the versions and forgets orders, and writes to the forgotten ones find nothing', async () => {
    const client = await orderClient({ market: { knownOrders: 0, openOrders: 0 } });
    const gone = await client.working();
    const kept = await client.working();
    await control(client.at, '/faults', {
      now: [{ action: 'unknown_store_lost', accountId: 'SIM-1001', forMs: 600_000, forgotten: 1 }],
    });
    expect((await client.replace(gone, { quantity: '20' })).status).toBe(404);
    expect((await client.replace(kept, { quantity: '20' })).status).toBe(409);
    expect(await client.order('prediction', kept)).toMatchObject({
      state: 'unknown',
      certainty: 'unknown_store_lost',
      version: 1,
    });
    await control(client.at, '/heal');
    expect((await client.replace(kept, { quantity: '20' })).status).toBe(202);
  });
});

async function rawAnswer(client: OrderClient): Promise<string> {
  const { connect } = await import('node:net');
  const { hostname, port } = new URL(client.at.platform);
  const body = JSON.stringify({
    accountId: 'SIM-1001',
    symbol: 'AAPL',
    side: 'BUY',
    type: 'LIMIT',
    qty: '1',
    timeInForce: 'DAY',
    price: '2',
    clientId: 'raw',
  });
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /v1/orders HTTP/1.1\r\nhost: x\r\nauthorization: ${client.headers.authorization}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}
