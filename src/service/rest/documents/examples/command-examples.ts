import type { z } from 'zod';
import { resolutionBody } from '../../../../contract/command-bodies.ts';
import { commandResultRecord } from '../../../../contract/command-result.ts';
import { commandAnswer, commandHistory, commandPage, probeAnswer } from '../../../../contract/rest-answers.ts';
import { replaceableSecurities } from '../../../../domain/streams.ts';
import { accountId, attemptId, commandId, type Example, example, orderId } from './example.ts';

type Command = z.input<typeof commandAnswer>;

const predictionId = '301c73d7-a906-427d-af06-725ff8476cec';

const sent = {
  attemptId,
  number: 1,
  preparedAt: '2026-11-21T14:30:00.101Z',
  sendingAt: '2026-11-21T14:30:00.104Z',
};
const answeredAt = '2026-11-21T14:30:00.131Z';
const resolvedAt = '2026-11-21T14:30:00.140Z';

const common = {
  commandId,
  accountId,
  unresolved: false,
  presumedAbsent: false,
  principal: 'desk',
  idempotencyKey: 'mine-1',
  version: 3,
  misses: 0,
  createdAt: '2026-11-21T14:30:00.100Z',
  updatedAt: resolvedAt,
  deadlineAt: '2026-11-21T14:30:10.100Z',
  links: { self: `/v1/commands/${commandId}` },
};

const placed: Command = {
  ...common,
  kind: 'place',
  stream: 'account',
  orderId,
  orderStatus: 'new',
  result: 'applied',
  state: 'applied',
  terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '187.5' },
  callerRef: 'mine-7',
  resolvedAt,
  attempts: [{ ...sent, epoch: '3', state: 'accepted', answeredAt }],
  links: { self: `/v1/commands/${commandId}`, order: `/v1/orders/account/${orderId}` },
};

const { orderId: _order, orderStatus: _status, resolvedAt: _resolved, ...unplaced } = placed;

/** 200, since it has an id: the platform was asked, and refused. */
const refused: Command = {
  ...unplaced,
  result: 'refused',
  state: 'refused',
  reason: { code: 'REJECTED_BY_PLATFORM', message: 'Insufficient buying power', status: 422 },
  resolvedAt,
  attempts: [{ ...sent, epoch: '3', state: 'refused', answeredAt }],
  links: common.links,
};

const unknown: Command = {
  ...unplaced,
  result: 'unknown',
  state: 'unknown',
  unresolved: true,
  reason: { code: 'TIMEOUT', message: 'the platform did not answer in time' },
  attempts: [{ ...sent, epoch: '3', state: 'unknown' }],
  nextProbe: { at: '2026-11-21T14:30:07.000Z', by: 'reference' },
  advice: `Do not send it under another key: it could then be there twice. The service is finding out, and asks the platform next at 2026-11-21T14:30:07.000Z. Its result will be at /v1/commands/${commandId}.`,
  links: common.links,
};

const ofPrediction = {
  ...common,
  stream: 'prediction',
  orderId: predictionId,
  orderStatus: 'partially_filled',
  result: 'applied',
  state: 'applied',
  baseline: {
    revision: 1,
    sourceVersion: '9007199254740991',
    sourceEpoch: 0,
    status: 'new',
    working: { quantity: '92', price: '0.42', orderType: 'limit' },
    cumQty: '0',
    pendingAction: 'none',
  },
  resolvedAt,
  attempts: [{ ...sent, epoch: '3', state: 'accepted', answeredAt }],
  links: { self: `/v1/commands/${commandId}`, order: `/v1/orders/prediction/${predictionId}` },
} satisfies Partial<Command>;

const replaced: Command = { ...ofPrediction, kind: 'replace', terms: { price: '0.46' } };
const [stream] = replaceableSecurities;
/** The order is the one that it made. */
const succeeded: Command = {
  ...placed,
  kind: 'replace',
  stream,
  terms: { price: '187.6' },
  baseline: { ...ofPrediction.baseline, sourceVersion: undefined, working: { quantity: '10', price: '187.5' } },
  links: { self: `/v1/commands/${commandId}`, order: `/v1/orders/${stream}/${orderId}` },
};
const cancelled: Command = { ...ofPrediction, kind: 'cancel', orderStatus: 'canceled' };

const answer = {
  number: 1,
  kind: 'answer' as const,
  code: 'accepted',
  attemptId,
  at: answeredAt,
  detail: { status: 200 },
};
const landed = {
  number: 2,
  kind: 'update' as const,
  code: 'landed',
  attemptId,
  at: resolvedAt,
  detail: {
    stream: 'account',
    orderId,
    matches: true,
    revision: 1,
    cause: 'stream',
    status: 'new',
    certainty: 'certain',
    cumQty: '0',
  },
};
const timeout = {
  number: 1,
  kind: 'note' as const,
  code: 'timeout',
  attemptId,
  at: '2026-11-21T14:30:05.104Z',
  detail: {},
};

const began = [
  { what: 'prepared' as const, at: sent.preparedAt, attemptId, number: 1 },
  { what: 'sending' as const, at: sent.sendingAt, attemptId, number: 1 },
];

/** Commands, as each kind is answered. */
export const commandExamples: readonly Example[] = [
  example(commandAnswer, 'applied', placed),
  example(commandAnswer, 'refused', refused),
  example(commandAnswer, 'unknown', unknown, { status: 202 }),
  example(commandAnswer, 'applied', replaced, { operationId: 'replacePredictionOrder', status: 200 }),
  example(commandAnswer, 'applied', succeeded, { operationId: 'replaceOrder', status: 200 }),
  example(commandAnswer, 'applied', cancelled, { operationId: 'cancelPredictionOrder', status: 200 }),
  example(commandPage, 'page', { items: [placed, unknown], next: 'eyJ2IjoxfQ' }),
  example(commandHistory, 'applied', {
    ...placed,
    evidence: [answer, landed],
    recomputed: {
      state: 'applied',
      because: 'landed',
      rule: 'an order with our reference, account and side is there',
      agrees: true,
      complete: true,
    },
    timeline: [
      ...began,
      { what: 'answered', at: answeredAt, attemptId, number: 1, state: 'accepted' },
      { what: 'evidence', ...answer },
      { what: 'evidence', ...landed },
    ],
  }),
  example(
    commandHistory,
    'unknown',
    {
      ...unknown,
      evidence: [timeout],
      recomputed: {
        state: 'unknown',
        because: 'answer',
        rule: 'nothing says yet whether the write arrived',
        agrees: true,
        complete: true,
      },
      timeline: [...began, { what: 'evidence', ...timeout }],
    },
    { status: 202 },
  ),
  example(resolutionBody, 'applied', {
    result: 'applied',
    reason: 'the venue shows order v-90118 with our reference',
  }),
  example(probeAnswer, 'resolved', {
    unresolved: 0,
    probes: 1,
    resolved: [{ commandId, result: 'applied' }],
    plan: [{ accountId, stream: 'account', read: 'account', commands: [commandId] }],
  }),
  example(commandResultRecord, 'applied', {
    eventId: `${commandId}:3`,
    schema: 'tidemark.command-result.v1',
    commandId,
    version: 3,
    kind: 'place',
    stream: 'account',
    accountId,
    orderId,
    orderStatus: 'new',
    callerRef: 'mine-7',
    result: 'applied',
    state: 'applied',
    terms: placed.terms,
    attempts: [{ ...sent, state: 'accepted', answeredAt }],
    createdAt: common.createdAt,
    at: resolvedAt,
    resolvedAt,
  }),
];
