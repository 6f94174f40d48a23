import type { z } from 'zod';
import { placeAccountBody, placePredictionBody } from '../../../../contract/command-bodies.ts';
import type { normalisedOrder } from '../../../../contract/normalised-order.ts';
import { replaceAccountBody, replaceBody } from '../../../../contract/replace-bodies.ts';
import { orderAnswer, orderCounts, orderPage, updatePage } from '../../../../contract/rest-answers.ts';
import { updateRecord, watermarkRecord } from '../../../../contract/update-record.ts';
import { replaceableSecurities } from '../../../../domain/streams.ts';
import { accountId, attemptId, commandId, type Example, example, orderId } from './example.ts';

/** Both orders have these. */
const shared = {
  accountId,
  side: 'buy',
  orderType: 'limit',
  status: 'partially_filled' as const,
  certainty: 'certain',
  pendingAction: 'none',
};

const equity: z.input<typeof normalisedOrder> = {
  ...shared,
  stream: 'account',
  orderId,
  instrument: { kind: 'equity', symbol: 'AAPL' },
  timeInForce: 'day',
  statusRaw: 'PARTIALLY_FILLED',
  quantity: '10',
  price: '187.5',
  working: { quantity: '10', price: '187.5', orderType: 'limit' },
  cumQty: '4',
  leavesQty: '6',
  avgPrice: '187.45',
  clOrdId: attemptId,
  commandId,
  callerRef: 'mine-7',
  origin: 'tidemark',
  createdAt: '2026-11-21T14:30:00.120Z',
  updatedAt: '2026-11-21T14:30:01.004Z',
};

/** Replaced from 0.42: the submitted price stays, the venue works on the new one. */
const prediction: z.input<typeof normalisedOrder> = {
  ...shared,
  stream: 'prediction',
  orderId: '301c73d7-a906-427d-af06-725ff8476cec',
  instrument: { kind: 'prediction', symbol: 'FED-CUT-DEC26', outcome: 'YES' },
  timeInForce: 'gtc',
  statusRaw: 'partially_filled',
  quantity: '92',
  price: '0.42',
  working: { quantity: '92', price: '0.46', orderType: 'limit' },
  cumQty: '14',
  leavesQty: '78',
  avgPrice: '0.46',
  venueOrderId: 'v-90118',
  origin: 'external',
  createdAt: '2026-11-21T13:28:40.000Z',
  updatedAt: '2026-11-21T13:28:55.545Z',
};

/** As records and answers name an order: with its key and revision. */
function named(order: typeof equity, revision: number) {
  const { stream, orderId, accountId } = order;
  return { stream, orderId, accountId, revision, order };
}

const change = {
  schema: 'tidemark.order-update.v1' as const,
  generation: 1,
  cause: 'stream' as const,
  changed: ['status', 'statusRaw', 'cumQty', 'leavesQty', 'avgPrice', 'updatedAt'],
};

const equityUpdate: z.input<typeof updateRecord> = {
  ...named(equity, 3),
  ...change,
  eventId: `account:${orderId}:3`,
  lane: 0,
  batch: '40199',
  occurredAt: '2026-11-21T14:30:01.004Z',
  observedAt: '2026-11-21T14:30:01.010Z',
  fill: { quantity: '4', price: '187.45', inferred: true },
};

const predictionUpdate: z.input<typeof updateRecord> = {
  ...named(prediction, 2),
  ...change,
  eventId: `prediction:${prediction.orderId}:2`,
  sourceVersion: '9007199254740993',
  occurredAt: '2026-11-21T13:28:55.545Z',
  observedAt: '2026-11-21T13:28:55.551Z',
  fill: { quantity: '14', price: '0.46', inferred: false },
};

const equityAnswer: z.input<typeof orderAnswer> = named(equity, 3);
const predictionAnswer = { ...named(prediction, 2), sourceVersion: '9007199254740993' };

const mark = {
  schema: 'tidemark.watermarks.v1',
  stream: 'account',
} as const;

/** Orders and their records, and the bodies that place and replace them. */
export const orderExamples: readonly Example[] = [
  example(placeAccountBody, 'limit', {
    accountId,
    symbol: 'AAPL',
    side: 'BUY',
    type: 'LIMIT',
    qty: '10',
    price: '187.50',
    timeInForce: 'DAY',
    clientId: 'mine-7',
  }),
  example(placeAccountBody, 'spread', {
    accountId,
    symbol: 'AAPL',
    side: 'BUY',
    type: 'LIMIT',
    qty: '1',
    price: '2.35',
    timeInForce: 'DAY',
    legs: [
      { symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' },
      { symbol: 'AAPL261218C00210000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' },
    ],
  }),
  example(placePredictionBody, 'limit', {
    accountId,
    symbol: 'FED-CUT-DEC26',
    outcome: 'YES',
    side: 'buy',
    orderType: 'limit',
    timeInForce: 'gtc',
    quantity: '92',
    price: '0.42',
    clientOrderRef: 'mine-8',
  }),
  example(replaceAccountBody, 'price', { accountId, stream: replaceableSecurities[0], price: '187.6' }),
  example(replaceBody, 'price', { accountId, price: '0.46' }),
  example(orderAnswer, 'equity', equityAnswer),
  example(orderAnswer, 'prediction', predictionAnswer),
  example(orderPage, 'page', { items: [equityAnswer, predictionAnswer], next: 'eyJ2IjoxfQ' }),
  example(orderCounts, 'counts', {
    items: [
      { status: 'new', orders: 12 },
      { status: 'partially_filled', orders: 3 },
    ],
    complete: true,
  }),
  example(updatePage, 'history', { items: [equityUpdate], recordedAt: ['2026-11-21T14:30:01.013Z'] }),
  example(updateRecord, 'equity', equityUpdate),
  example(updateRecord, 'prediction', predictionUpdate),
  example(watermarkRecord, 'heartbeat', {
    ...mark,
    eventId: 'f2c9a6b0-51c7-4b9c-8e5e-0d6f4a1b2c3d',
    accountIds: [accountId, 'SIM-1002', 'SIM-1003'],
    event: 'heartbeat',
    at: '2026-11-21T14:31:00.000Z',
    proof: { lane: 0, generation: 1, after: '40181', upTo: '40207', count: 541, hash: '07d4a1c9e35b' },
  }),
  example(watermarkRecord, 'resynchronised', {
    ...mark,
    eventId: '0e7d5c4b-93a1-4f7e-b6d2-8c9b0a1f2e3d',
    accountIds: [accountId],
    event: 'resynchronised',
    at: '2026-11-21T14:30:59.120Z',
    from: '2026-11-21T14:30:41.000Z',
    to: '2026-11-21T14:30:59.120Z',
    ordersRead: 4,
    ordersRepaired: 1,
    repairedOrderIds: [orderId],
  }),
];
