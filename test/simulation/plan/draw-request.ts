import type { CommandRequest, ReplaceTerms } from '../../../src/domain/command.ts';
import { decodeHead } from '../../../src/domain/head.ts';
import type { Order, Stream } from '../../../src/domain/order.ts';
import { isTerminal } from '../../../src/domain/order.ts';
import { type StreamWith, traits } from '../../../src/domain/streams.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { below, happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { SimulatedVenue } from '../venues/simulated-venue.ts';
import type { MemoryDatabase } from '../world/memory-database.ts';

/** Few of each, so that equal terms meet. */
const equities = ['AAPL', 'KO'] as const;
const markets = ['FED-CUT-DEC26', 'BTC-100K-2026'] as const;

export function drawPlace(random: Random, stream: Stream, accountId: string): CommandRequest {
  const quantity = String(5 * (1 + below(random, 4)));
  if (stream !== 'prediction') {
    const limited = happens(random, 0.7);
    const terms = {
      symbol: oneOf(random, equities),
      side: oneOf(random, ['BUY', 'SELL']),
      type: limited ? 'LIMIT' : 'MARKET',
      qty: quantity,
      timeInForce: oneOf(random, ['DAY', 'GTC']),
      ...(limited && { price: `${100 + below(random, 3)}` }),
    };
    return { kind: 'place', stream, accountId, terms };
  }
  const terms = {
    symbol: oneOf(random, markets),
    outcome: oneOf(random, ['YES', 'NO']),
    side: oneOf(random, ['buy', 'sell']),
    orderType: 'limit',
    timeInForce: oneOf(random, ['day', 'gtc']),
    quantity,
    price: `0.${4 + below(random, 3)}`,
  };
  return { kind: 'place', stream, accountId, terms };
}

/**
 * A replace of an order that this system knows and did not see
 * end; sometimes of one that has ended.
 */
export function drawReplace(
  random: Random,
  database: MemoryDatabase,
  { streamOf }: Pick<SimulatedVenue, 'streamOf'>,
): CommandRequest | undefined {
  const stream = streamOf('prediction');
  if (!canReplace(stream)) return undefined;
  const order = drawOrder(random, database, stream);
  if (order === undefined) return undefined;
  const { accountId, orderId } = order;
  return { kind: 'replace', stream, accountId, orderId, terms: drawTerms(random, order) };
}

export function drawCancel(
  random: Random,
  database: MemoryDatabase,
  { streamOf }: Pick<SimulatedVenue, 'streamOf'>,
): CommandRequest | undefined {
  const order = drawOrder(random, database, streamOf(happens(random, 0.5) ? 'account' : 'prediction'));
  return order && { kind: 'cancel', stream: order.stream, accountId: order.accountId, orderId: order.orderId };
}

/**
 * Its own orders: nobody else's, whose owners amend them as well, so that what
 * the venue says of an amend is said of ours.
 */
function drawOrder(random: Random, database: MemoryDatabase, stream: Stream): Order | undefined {
  const ours = [...database.heads.values()].filter(
    (head) => head.stream === stream && head.state.includes('"origin":"tidemark"'),
  );
  const orders = ours
    .map((head) => decodeHead(head).order)
    .filter(({ status }) => !isTerminal(status) || happens(random, 0.1));
  return orders.length === 0 ? undefined : oneOf(random, orders);
}

function canReplace(stream: Stream): stream is StreamWith<'replaces', 'in_place' | 'new_order'> {
  return traits[stream].replaces !== 'no';
}

function drawTerms(random: Random, order: Order): ReplaceTerms {
  const isPrediction = traits[order.stream].market === 'predictions';
  const price = { price: isPrediction ? `0.${4 + below(random, 4)}` : `${100 + below(random, 4)}` };
  const { quantity: worked = '0' } = order.working;
  const quantity = { quantity: String(Number(worked) + oneOf(random, [-4, -1, 1, 3, 10])) };
  return oneOf<ReplaceTerms>(random, [
    price,
    quantity,
    { ...price, ...quantity },
    { timeInForce: order.timeInForce === 'day' ? 'gtc' : 'day' },
    { ...price, timeInForce: 'gtc' },
    // Changes nothing.
    { quantity: worked },
  ]);
}
