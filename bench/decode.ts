import { decodeFrame } from '../src/service/sources/decode-frame.ts';
import { decodeOrder, type RowOrigin } from '../src/service/sources/decode-order.ts';
import { parseJson } from '../src/venue/platform/parse-json.ts';
import { accountOrderEventData } from '../src/venue/platform/wire/account-order.ts';
import { predictionOrder } from '../src/venue/platform/wire/prediction-order.ts';

/**
 * Microseconds from the text of a frame to an observation, best and median of rounds, beside the
 * same with zod, and the parsing alone. Prints JSON. Run: npm exec -- node bench/decode.ts
 */
const perRound = 20_000;
const rounds = 15;

const predictionFrames = Array.from({ length: 500 }, (_, i) => {
  const row = {
    orderId: `7d9f0a52-4c1e-4a53-9d0e-${String(i).padStart(12, '0')}`,
    accountId: 'acct-000001',
    symbol: 'FED-CUT-2026-12',
    outcome: 'YES',
    side: 'buy',
    orderType: 'limit',
    timeInForce: 'gtc',
    quantity: '1200',
    workingQuantity: '1200',
    state: 'partially_filled',
    cumQty: String(i),
    leavesQty: String(1200 - i),
    avgPx: '0.415',
    createdAt: '2026-11-21T14:30:00.123456Z',
    updatedAt: '2026-11-21T14:31:07.654321Z',
    certainty: 'certain',
    clOrdId: `b1946ac9-2c39-4c0a-8f35-${String(i).padStart(12, '0')}`,
    clientOrderRef: `desk-7:strategy-4:${i}`,
    firstAckAt: '2026-11-21T14:30:00.223456Z',
    pendingAction: 'none',
    price: '0.42',
    sentAt: '2026-11-21T14:30:00.143456Z',
    venueOrderId: `V-20261121-${i}`,
    workingOrderType: 'limit',
    workingPrice: '0.42',
    placedBy: 'user-000017',
  };
  const data = JSON.stringify(row).replace(
    '"certainty"',
    `"version":${9_007_199_254_740_993n + BigInt(i)},"certainty"`,
  );
  return `{"type":"event","timestamp":"2026-11-21T14:31:07.655Z","payload":{"topic":"prediction","name":"prediction.order","target":"account:acct-000001","data":${data}}}`;
});

const accountFrames = Array.from({ length: 500 }, (_, i) => {
  const data = {
    ordId: `3f9f0a52-4c1e-4a53-9d0e-${String(i).padStart(12, '0')}`,
    clOrdId: `b1946ac9-2c39-4c0a-8f35-${String(i).padStart(12, '0')}`,
    symbol: 'AAPL',
    side: 'BUY',
    type: 'STOP_LIMIT',
    timeInForce: 'GTC',
    qty: '1000',
    stopPrice: '191.20',
    price: '191.50',
    ordStatus: 'PARTIALLY_FILLED',
    cumQty: String(i),
    leavesQty: String(1000 - i),
    avgPrice: '191.44',
    securityType: 'CS',
    category: 'equity',
    updatedAt: '2026-11-21T14:31:07.654321Z',
  };
  return JSON.stringify({
    type: 'event',
    timestamp: '2026-11-21T14:31:07.655Z',
    payload: { topic: 'account', name: 'account.order', target: 'account:acct-000001', data },
  });
});

function origin(stream: 'account' | 'prediction', bytes: number): RowOrigin {
  return { stream, cause: 'stream', accountId: 'acct-000001', sourceEpoch: 0, observedAtMs: 0, receivedMs: 0, bytes };
}

function decode(text: string): unknown {
  const frame = decodeFrame(text);
  if (frame.kind !== 'event') throw new Error('the benchmark decodes events only');
  const item = decodeOrder(frame.row, origin(frame.stream, text.length), () => text);
  if (item.kind !== 'order') throw new Error('the benchmark frame is not readable');
  return item;
}

function measure(frames: readonly string[], work: (text: string) => unknown) {
  const samples: number[] = [];
  let kept: unknown;
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    for (let i = 0; i < perRound; i += 1) kept = work(frames[i % frames.length] ?? '');
    samples.push(((performance.now() - started) * 1000) / perRound);
  }
  if (kept === undefined) throw new Error('nothing was measured');
  samples.sort((a, b) => a - b);
  return { bestUs: round2(samples[0] ?? 0), medianUs: round2(samples[samples.length >> 1] ?? 0) };
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}

const data = (text: string) => (parseJson(text) as { payload: { data: unknown } }).payload.data;
const escaped = predictionFrames.map((text) => text.replace('FED-CUT', 'FED\\u002dCUT'));
console.log(
  JSON.stringify(
    {
      node: process.version,
      predictionFrameBytes: predictionFrames[0]?.length,
      accountFrameBytes: accountFrames[0]?.length,
      prediction: measure(predictionFrames, decode),
      account: measure(accountFrames, decode),
      predictionJsonParseAlone: measure(predictionFrames, JSON.parse),
      predictionParseJson: measure(predictionFrames, parseJson),
      predictionParseJsonReviver: measure(escaped, parseJson),
      predictionZodInstead: measure(predictionFrames, (text) => predictionOrder.parse(data(text))),
      accountZodInstead: measure(accountFrames, (text) => accountOrderEventData.parse(data(text))),
    },
    null,
    2,
  ),
);
