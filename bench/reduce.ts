/**
 * Microseconds per update of what ingest does between two waits: reduce (with `changed` and
 * `fill`), encode the order, the payload and the join. Prints JSON.
 *
 *   npx node bench/reduce.ts [updates a round]
 *
 * The middle of nine rounds after three for warming up. Each round walks the same orders through a
 * life of realistic frames: new, three partial fills, filled.
 */
import { encodeHeadJoin, encodeOrder, encodeUpdate } from '../src/domain/encode-update.ts';
import type { Head } from '../src/domain/head.ts';
import type { Observation } from '../src/domain/observation.ts';
import type { OrderView } from '../src/domain/order.ts';
import { reduce } from '../src/domain/reduce.ts';
import { hashOfValue } from '../src/service/orders/unproven.ts';

const updatesARound = Number(process.argv[2] ?? 100_000);
const lifeLength = 5;
const start = Date.parse('2026-11-21T14:30:00Z');
const at = (ms: number) => new Date(start + ms).toISOString();

const averages = ['191.5', '191.48', '191.4725', '191.46875'];

function accountLife(order: number): Observation[] {
  return Array.from({ length: lifeLength }, (_, step) => {
    const done = step === lifeLength - 1;
    const word = step === 0 ? 'NEW' : done ? 'FILLED' : 'PARTIALLY_FILLED';
    const view: OrderView = {
      stream: 'account',
      orderId: `ord-${order}`,
      accountId: `acct-${order % 8}`,
      instrument: { kind: 'equity', symbol: 'AAPL' },
      side: 'buy',
      orderType: 'limit',
      timeInForce: 'day',
      status: word.toLowerCase() as OrderView['status'],
      statusRaw: word,
      certainty: 'certain',
      pendingAction: 'none',
      quantity: '100',
      working: { quantity: '100', price: '191.5', orderType: 'limit' },
      cumQty: String(step * 25),
      leavesQty: String(100 - step * 25),
      updatedAt: at(order + step * 40),
      price: '191.5',
      ...(step > 0 && { avgPrice: averages[step - 1] as string }),
      clOrdId: `c0ffee00-4c1e-4a53-9d0e-${String(order).padStart(12, '0')}`,
    };
    return {
      kind: 'order',
      cause: 'stream',
      view,
      sourceEpoch: 0,
      observedAtMs: start + order,
      receivedMs: 0,
      bytes: 700,
    };
  });
}

function predictionLife(order: number): Observation[] {
  return Array.from({ length: lifeLength }, (_, step) => {
    const status = step === 0 ? 'new' : step === lifeLength - 1 ? 'filled' : 'partially_filled';
    const view: OrderView = {
      stream: 'prediction',
      orderId: `7d9f0a52-4c1e-4a53-9d0e-${String(order).padStart(12, '0')}`,
      accountId: `acct-${order % 8}`,
      instrument: { kind: 'prediction', symbol: 'FED-CUT-DEC', outcome: 'YES' },
      side: 'buy',
      orderType: 'limit',
      timeInForce: 'gtc',
      status,
      statusRaw: status,
      certainty: 'certain',
      pendingAction: 'none',
      quantity: '100',
      working: { quantity: '100', price: '0.43', orderType: 'limit' },
      cumQty: String(step * 25),
      leavesQty: String(100 - step * 25),
      updatedAt: at(order + step * 40),
      createdAt: at(order),
      price: '0.43',
      ...(step > 0 && { avgPrice: (0.43 - step / 1000).toFixed(3) }),
      clOrdId: `c0ffee00-4c1e-4a53-9d0e-${String(order).padStart(12, '0')}`,
      clientOrderRef: `desk-7:${order}`,
      venueOrderId: `V${order}`,
      placedBy: 'user-1',
      sentAt: at(order + 1),
      firstAckAt: at(order + 2),
    };
    const sourceVersion = 9007199254740993n + BigInt(step);
    return {
      kind: 'order',
      cause: 'stream',
      view,
      sourceVersion,
      sourceEpoch: 0,
      observedAtMs: start + order,
      receivedMs: 0,
      bytes: 1100,
    };
  });
}

interface Round {
  readonly microseconds: number;
  readonly payloadCharacters: number;
}

function round(lives: readonly Observation[][], encode: boolean): Round {
  let characters = 0;
  let count = 0;
  const began = performance.now();
  for (const life of lives) {
    let head: Head | undefined;
    for (const observation of life) {
      const reduction = reduce(head, observation);
      if (reduction.outcome !== 'applied') throw new Error(`expected an update, got ${reduction.outcome}`);
      head = reduction.head;
      count += 1;
      if (encode) characters += encodedLength(observation, reduction);
    }
  }
  return {
    microseconds: ((performance.now() - began) * 1000) / count,
    payloadCharacters: Math.round(characters / count),
  };
}

function encodedLength(
  observation: Observation,
  { head, changed, fill }: Extract<ReturnType<typeof reduce>, { outcome: 'applied' }>,
): number {
  const payload = encodeUpdate({
    head,
    orderJson: encodeOrder(head.order),
    generation: 0,
    cause: observation.cause,
    occurredAt: head.order.updatedAt,
    observedAt: new Date(observation.observedAtMs).toISOString(),
    changed,
    ...(fill === undefined ? {} : { fill }),
  });
  return payload.length + encodeHeadJoin(head).length;
}

/** A repetition of what is known: what an audit costs. */
function repetition(lives: readonly Observation[][]): number {
  const last = lives.map((life) => life.reduce((head: Head | undefined, o) => applied(head, o), undefined));
  const began = performance.now();
  for (const [index, life] of lives.entries()) {
    for (let i = 0; i < lifeLength; i += 1) reduce(last[index], life[lifeLength - 1] as Observation);
  }
  return ((performance.now() - began) * 1000) / (lives.length * lifeLength);
}

function applied(head: Head | undefined, observation: Observation): Head {
  const reduction = reduce(head, observation);
  if (reduction.outcome !== 'applied') throw new Error(`expected an update, got ${reduction.outcome}`);
  return reduction.head;
}

/** What a proof costs for each update. */
function hashing(payloadCharacters: number): number {
  const payloads = Array.from({ length: 1_000 }, (_, i) => String(i).padEnd(payloadCharacters, 'x'));
  const began = performance.now();
  for (let i = 0; i < updatesARound; i += 1) hashOfValue(payloads[i % payloads.length] ?? '');
  return ((performance.now() - began) * 1000) / updatesARound;
}

function middle(measure: () => number): number {
  const all = Array.from({ length: 12 }, measure).slice(3);
  return Number((all.sort((a, b) => a - b)[4] ?? Number.NaN).toFixed(2));
}

function measure(life: (order: number) => Observation[]) {
  const lives = Array.from({ length: Math.ceil(updatesARound / lifeLength) }, (_, order) => life(order));
  return {
    reduceMicroseconds: middle(() => round(lives, false).microseconds),
    reduceAndEncodeMicroseconds: middle(() => round(lives, true).microseconds),
    duplicateMicroseconds: middle(() => repetition(lives)),
    payloadCharacters: round(lives, true).payloadCharacters,
    hashMicroseconds: middle(() => hashing(round(lives, true).payloadCharacters)),
  };
}

console.log(
  JSON.stringify(
    { node: process.version, updatesARound, account: measure(accountLife), prediction: measure(predictionLife) },
    null,
    2,
  ),
);
