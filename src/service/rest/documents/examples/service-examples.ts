import type { z } from 'zod';
import {
  deadLetterAnswer,
  deadLetterJobAnswer,
  deadLetterJobBody,
  deadLetterJobList,
  deadLetterJobSize,
  deadLettersPage,
} from '../../../../contract/dead-letter-bodies.ts';
import { fleetAnswer } from '../../../../contract/fleet-answer.ts';
import { consumersAnswer, historyAnswer } from '../../../../contract/pipeline-answers.ts';
import { callerAnswer, statusAnswer } from '../../../../contract/status-answer.ts';
import { accountId, type Example, example, orderId } from './example.ts';

const at = '2026-11-21T14:31:00.000Z';
const startedAt = '2026-11-21T13:00:00.000Z';
const lostAt = '2026-11-21T14:30:41.000Z';
const lastEvent = '2026-11-21T14:30:01.010Z';

const row: z.input<typeof deadLettersPage>['items'][number] = {
  id: '17',
  stream: 'account',
  accountId,
  orderId,
  reason: 'bad_decimal',
  detail: 'price is not a decimal',
  observedAt: lastEvent,
  recordedAt: '2026-11-21T14:30:01.020Z',
};

const job: z.input<typeof deadLetterJobAnswer>['job'] = {
  jobId: '7a1f0c52-0d3b-4f6f-9e1d-3a5b7c9d1e20',
  action: 'retry',
  filter: { stream: 'account', reason: 'bad_decimal' },
  reason: 'the new build reads it',
  by: 'desk',
  state: 'running',
  askedAt: at,
  total: 412,
  done: 120,
  failed: 3,
  withdrawn: 0,
  failures: [{ detail: 'it names no order: check it and discard it, or read its account whole', rows: 3 }],
};

const status: z.input<typeof statusAnswer> = {
  version: '1.0.0',
  at,
  trust: {
    trusted: false,
    doubts: [
      {
        name: 'account_not_live',
        detail: '1 of 2 account streams not live; account SIM-1001 is down',
        since: lostAt,
        runbook: 'SourceNeverLive',
        link: '/v1/accounts',
      },
    ],
  },
  latency: { p50Ms: 6.1, p99Ms: 14.8 },
  updatesPerSecond: 42.5,
  newestHeartbeat: '2026-11-21T14:30:55.000Z',
  silentLossesLastHour: 0,
  deadLetters: [],
  lag: { ingestQueued: 0, pendingOldest: null, relayRows: 0, relayOldest: null, stateRows: 4, resultRows: 0 },
  lane: {
    lane: 0,
    instance: 'tidemark-1',
    role: 'holder',
    state: 'leading',
    mayAct: true,
    drained: false,
    unhealthy: null,
    holder: 'tidemark-1',
    epoch: '3',
    since: startedAt,
    takeovers: 1,
    takeover: { cause: 'expired', from: 'tidemark-0', idleMs: 8200, at: startedAt, epoch: '3' },
    fenced: { postgres: 0, kafka: 0 },
  },
  ingest: { queued: 0, paused: false },
  relay: { source: 'memory', acknowledgedSeq: '48211', heldRows: 0 },
  commands: { commands: 'on', unresolved: 0, oldestUnresolved: null },
  halts: [],
  credentials: [{ credential: 'desk', state: 'held', expires: '2026-11-21T15:00:00.000Z' }],
  sources: [
    {
      credential: 'desk',
      stream: 'account',
      connected: false,
      paused: false,
      lastFrame: '2026-11-21T14:30:40.000Z',
      lastEvent,
      lastEnd: 'closed by the platform',
      lastEndAt: lostAt,
    },
  ],
  accounts: [
    {
      account: accountId,
      credential: 'desk',
      stream: 'account',
      state: 'down',
      since: lostAt,
      lastEvent,
      lastResync: '2026-11-21T13:00:02.000Z',
      lastAudit: '2026-11-21T14:29:00.000Z',
      sourceEpoch: 0,
      unrecovered: 0,
      inDoubt: 0,
      silentLosses: 0,
      lastError: null,
      platformStatus: 'OPEN',
      placeable: true,
      unlistedSince: null,
    },
  ],
  absentOrders: [],
};

/** The service itself, and its dead letters. */
export const serviceExamples: readonly Example[] = [
  example(callerAnswer, 'desk', {
    principal: 'desk',
    signIn: true,
    scopes: ['orders:read', 'orders:write', 'ops:read'],
    accounts: [accountId],
    commands: 'on',
  }),
  example(statusAnswer, 'doubt', status),
  example(historyAnswer, 'samples', {
    everyMs: 10_000,
    samples: [
      {
        at,
        updatesPerSecond: 42.5,
        p50Ms: 6.1,
        p99Ms: 14.8,
        ingestQueued: 0,
        ingestAgeMs: 0,
        relayRows: 0,
        relayAgeMs: 0,
        stateRows: 4,
        stateAgeMs: 800,
        resultRows: 0,
        resultAgeMs: 0,
        heartbeatAgeMs: 5000,
      },
    ],
  }),
  example(fleetAnswer, 'takeover', {
    at,
    verdict: '16 shards, 1 process, lane 1 without a process (8 shards)',
    allHeld: false,
    shards: 16,
    free: [],
    pinned: [3],
    lanes: [
      {
        lane: 0,
        state: 'live',
        holder: 'desk-1-4fae12c9',
        since: '2026-11-21T09:00:04.310Z',
        weight: 1,
        drained: false,
        unhealthy: null,
        shards: [0, 1, 2, 3, 4, 5, 6, 7],
        address: 'http://desk-1:8080',
        version: '1.0.0',
      },
      {
        lane: 1,
        state: 'without_process',
        holder: null,
        since: '2026-11-21T14:30:52.118Z',
        weight: 0,
        drained: false,
        unhealthy: null,
        shards: [8, 9, 10, 11, 12, 13, 14, 15],
        address: null,
        version: null,
      },
    ],
  }),
  example(consumersAnswer, 'groups', {
    at,
    items: [
      { groupId: 'risk', topics: [{ topic: 'tidemark.order-updates.v1', lag: '41', partitions: 12, uncommitted: 0 }] },
    ],
    unread: [],
    notAsked: 0,
  }),
  example(deadLettersPage, 'page', { items: [row], next: 'eyJ2IjoxfQ' }),
  example(deadLetterAnswer, 'row', { ...row, raw: '{"ordId":"5450dc1c-6f0e-4f5c-9b0a-2f1f6a3f9d11","price":"1e3"}' }),
  example(deadLetterJobBody, 'retry', {
    action: 'retry',
    filter: { stream: 'account', reason: 'bad_decimal' },
    reason: 'the new build reads it',
  }),
  example(deadLetterJobAnswer, 'running', { job }),
  example(deadLetterJobList, 'jobs', { items: [job] }),
  example(deadLetterJobSize, 'size', { total: 412, nameless: 3 }),
];
