import type { z } from 'zod';
import { accountList, accountRepairList } from '../../../../contract/account-answers.ts';
import { backfillBody, readAccountBody } from '../../../../contract/account-bodies.ts';
import { cancelAfterBody, cancelAllBody, reasonBody } from '../../../../contract/command-bodies.ts';
import {
  approvalAnswer,
  approvalList,
  haltAnswer,
  haltEvent,
  haltList,
  resumeAnswer,
} from '../../../../contract/halt-answers.ts';
import { limitList, limitsBody } from '../../../../contract/limit-bodies.ts';
import { previewAnswer } from '../../../../contract/preview-answer.ts';
import { cancelAfterAnswer, cancelAllAnswer, exposureList } from '../../../../contract/rest-answers.ts';
import { accountId, type Example, example, orderId } from './example.ts';

const bounds = { maxQuantity: '500', collarPercent: '5' };
const closing = 'smaller size until the close';
const missing = 'the venue shows an order that we do not';
const wrongFeed = 'the price feed looks wrong';
const rightFeed = 'the feed is right again';
const cancelId = '9d3f6f1c-2f0b-4c8e-8a44-1f6f2a7b9e01';
const at = '2026-11-21T14:31:00.000Z';

const halt = {
  haltId: '42',
  scope: { kind: 'account' as const, accountId },
  cause: 'operator',
  reason: wrongFeed,
  by: 'desk',
  since: at,
};

const approval: z.input<typeof approvalAnswer>['approval'] = {
  approvalId: '0b1d8c55-3a51-4a52-9f0c-6c6d3f1e8a10',
  action: { kind: 'resume', scope: { kind: 'service' } },
  by: 'desk',
  reason: rightFeed,
  requestedAt: '2026-11-21T14:40:00.000Z',
  expiresAt: '2026-11-21T15:40:00.000Z',
};

/** Operators' acts, and their answers. */
export const operatorExamples: readonly Example[] = [
  example(reasonBody, 'reason', { reason: wrongFeed }),
  example(haltList, 'halted', { halts: [halt] }),
  example(haltAnswer, 'halted everywhere', { halts: [halt] }),
  example(resumeAnswer, 'resumed', { halts: [], cleared: [halt] }),
  example(haltEvent, 'raised', { ...halt, inForce: true }),
  example(haltEvent, 'cleared', {
    ...halt,
    inForce: false,
    clearedAt: '2026-11-21T14:40:00.000Z',
    clearedBy: 'desk',
    clearedReason: rightFeed,
  }),
  example(approvalAnswer, 'waiting', { approval }),
  example(approvalList, 'waiting', { items: [approval] }),
  example(cancelAllBody, 'symbol', { reason: 'no more longs of it', symbol: 'AAPL', side: 'buy' }),
  example(cancelAllAnswer, 'cancelled', {
    open: false,
    inForce: false,
    orders: [
      {
        accountId,
        stream: 'account',
        orderId,
        commandId: cancelId,
        result: 'applied',
        state: 'applied',
        links: { self: `/v1/commands/${cancelId}` },
      },
    ],
    places: [],
    unread: [],
    declined: [],
  }),
  example(previewAnswer, 'a limit that refuses', {
    stream: 'account',
    accountId,
    terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '600', timeInForce: 'DAY', price: '187.5' },
    quantity: '600',
    value: '112500',
    quotes: [{ kind: 'equity', symbol: 'AAPL', bid: '187.48', ask: '187.52', last: '187.51', ageMs: 212 }],
    limits: [
      { limit: 'maxQuantity', bound: '500', value: '600', broken: true },
      { limit: 'collarPercent', bound: '5', value: '0.0054', broken: false },
    ],
    refusals: [
      { code: 'LIMIT_EXCEEDED', message: 'the limit maxQuantity is 500, and with this command it would be 600' },
    ],
    at,
  }),
  example(cancelAfterBody, 'armed', { seconds: 30, accountIds: [accountId] }),
  example(cancelAfterAnswer, 'armed', { accountIds: [accountId], firesAt: '2026-11-21T14:31:30.000Z' }),
  example(limitsBody, 'change', {
    accountId,
    bounds: { ...bounds, ordersPerMinute: null },
    reason: closing,
  }),
  example(limitList, 'limits', {
    items: [
      {
        accountId,
        bounds,
        changedBy: 'desk',
        reason: closing,
        changedAt: '2026-11-21T14:00:00.000Z',
      },
    ],
  }),
  example(accountList, 'accounts', {
    items: [
      {
        stream: 'account',
        accountId,
        isSim: true,
        openOrders: 12,
        state: 'live',
        since: '2026-11-21T13:00:02.000Z',
        lastEvent: '2026-11-21T14:30:01.010Z',
        lastResync: '2026-11-21T13:00:02.000Z',
        lastAudit: { at: '2026-11-21T14:29:00.000Z', orders: 240, changes: 0, silentLosses: 0 },
        silentLosses: 0,
        tokenExpires: '2026-11-21T15:00:00.000Z',
        tokenSecondsLeft: 1740,
      },
    ],
    statesKnown: true,
  }),
  example(readAccountBody, 'read', { reason: missing, stream: 'account' }),
  example(backfillBody, 'month', { reason: 'the account was moved to us', from: '2026-11-01T00:00:00Z' }),
  example(accountRepairList, 'repairs', {
    items: [
      {
        requestId: '117',
        kind: 'read',
        stream: 'account',
        by: 'desk',
        reason: missing,
        requestedAt: at,
        state: 'waiting',
      },
    ],
  }),
  example(exposureList, 'exposure', {
    items: [
      {
        accountId,
        stream: 'account',
        symbol: 'AAPL',
        side: 'buy',
        openOrders: 1,
        openQuantity: '6',
        unresolvedCommands: 1,
        unresolvedQuantity: '10',
      },
    ],
  }),
];
