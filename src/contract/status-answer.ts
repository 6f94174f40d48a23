import { z } from 'zod';
import { doubtNames } from './conditions.ts';
import { troubles } from './fleet-answer.ts';
import { instant, int64 } from './normalised-order.ts';
import { count, named, stream } from './words.ts';

// The service's state, as REST and the admin port show it. Objects are open, as in all answers.

const at = instant.nullable();

const doubt = named('Doubt', 'A reason for which the data may not be as it is shown', {
  name: z.enum(doubtNames),
  detail: z.string().describe('One sentence for people'),
  since: at.describe('Null: not known'),
  runbook: z.string().describe('docs/runbooks/<runbook>.md'),
  link: z.string().describe('The route that shows what it is about'),
});

const trust = named('Trust', 'Whether the data can be trusted', {
  trusted: z.boolean().describe('There is no doubt'),
  doubts: z.array(doubt).describe('The gravest first'),
});

const lane = named('LaneStatus', 'The lane, and the process that holds it', {
  lane: z.int(),
  instance: z.string().describe('This process'),
  role: z.enum(['holder', 'standby']),
  state: z.string(),
  mayAct: z.boolean().describe('Its lease is fresh enough to write and send'),
  drained: z.boolean().describe('An operator drained this process: it holds no accounts while others can'),
  unhealthy: troubles
    .nullable()
    .describe('Why this process gives its accounts to the others for now, as in `GET /v1/fleet`; null: it is healthy'),
  holder: z.string().nullable().describe('The process that holds the lane, this one or another'),
  epoch: int64,
  since: at,
  takeovers: count,
  takeover: named('Takeover', 'How a process came to hold its lane', {
    cause: z.string(),
    from: z.string().nullable(),
    idleMs: z.number(),
    at: instant,
    epoch: int64,
  })
    .nullable()
    .describe('How this process last came to hold the lane'),
  fenced: z.object({ postgres: count, kafka: count }),
});

const millis = z.number().nonnegative().nullable();

const halt = named('HaltSummary', 'A halt in force, in short', {
  scope: z.string().describe('`service`, or an account'),
  cause: z.string(),
  since: instant,
  by: z.string(),
  reason: z.string(),
});

const credential = named('CredentialStatus', 'A login to the platform', {
  credential: z.string(),
  state: z.string(),
  expires: at.describe('When the token in use ends'),
  lastError: z.string().optional(),
});

const source = named('SourceStatus', 'A connection to the platform', {
  credential: z.string(),
  stream,
  connected: z.boolean(),
  paused: z.boolean(),
  lastFrame: at,
  lastEvent: at,
  lastEnd: z.string().nullable().describe('Why the last connection ended'),
  lastEndAt: at,
});

const account = named('AccountStatus', 'An account on one of its streams', {
  account: z.string(),
  credential: z.string(),
  stream,
  state: z.string().describe('connecting, down, unanswered, resyncing, live, frozen, not_enrolled, login_required'),
  since: instant,
  lastEvent: at,
  lastResync: at,
  lastAudit: at,
  sourceEpoch: z.int(),
  unrecovered: count,
  inDoubt: count,
  silentLosses: count.describe('Changes that the stream lost and an audit found, in the last hour'),
  lastError: z.string().nullable(),
  platformStatus: z
    .string()
    .nullable()
    .describe('The platform’s own word for the account; null: it gave none, or has not listed it since the start'),
  placeable: z
    .boolean()
    .nullable()
    .describe('Whether that word permits placing: OPEN alone does. Null: not listed since the start'),
  unlistedSince: at.describe('Since when the platform lists it no longer; null: it is listed'),
});

const absentOrders = named('AbsentOrders', 'Orders that the platform no longer shows', {
  account: z.string(),
  stream,
  what: z.string(),
  orders: count,
  first: z.string().describe('Ids of the first of them'),
});

export const unanswered = z
  .array(named('UnansweredInstance', 'An instance that gave no answer', { instance: z.string(), code: z.string() }))
  .describe('Other instances that gave no answer of theirs: what they hold is not in this one. Left out: none');

const instanceStatus = named('InstanceStatus', 'The part of one process of the fleet', {
  instance: z.string(),
  trusted: z.boolean(),
  updatesPerSecond: z.number().nonnegative(),
  ingestQueued: count,
  relayRows: count,
  unresolved: count.nullable(),
});

export const statusAnswer = named('Status', 'The state of the service, and whether its data can be trusted', {
  version: z.string(),
  at: instant,
  trust,
  latency: z
    .object({ p50Ms: millis, p99Ms: millis })
    .describe('From the socket to the acknowledgement of Kafka, over the last minute; null: nothing came'),
  updatesPerSecond: z.number().nonnegative().describe('Changes that were committed, over the last minute'),
  newestHeartbeat: at.describe('When a heartbeat last came back from Kafka'),
  silentLossesLastHour: count,
  deadLetters: z
    .array(
      named('DeadLetterCount', 'Dead letters, by stream and reason', {
        stream: z.string(),
        reason: z.string(),
        rows: count,
      }),
    )
    .nullable()
    .describe('Rows that wait for a person, as last counted; null: not counted yet'),
  lag: z
    .object({
      ingestQueued: count,
      pendingOldest: at,
      relayRows: count,
      relayOldest: at,
      stateRows: count,
      resultRows: count,
    })
    .describe('Rows that wait on the way: to be committed, and then for Kafka, by topic'),
  lane,
  ingest: z.object({ queued: count, paused: z.boolean() }),
  relay: named('RelayStatus', 'Where what is sent to Kafka comes from', {
    source: z.enum(['log', 'memory']),
    acknowledgedSeq: int64,
    heldRows: count,
  }).nullable(),
  commands: z.object({
    commands: z.enum(['on', 'off']),
    unresolved: count.nullable().describe('Null: only the holder of the lane knows'),
    oldestUnresolved: at,
  }),
  halts: z.array(halt),
  credentials: z.array(credential),
  sources: z.array(source),
  accounts: z.array(account),
  absentOrders: z.array(absentOrders),
  instances: z
    .array(instanceStatus)
    .optional()
    .describe(
      'The processes of the fleet that this answer is of, the one that answers first. Left out: it is of that one alone',
    ),
  unanswered: unanswered.optional(),
});

export const callerAnswer = named('Caller', 'The caller and the rights of its token', {
  principal: z.string(),
  signIn: z.boolean().describe('False: this port needs no token, and everybody who reaches it may do everything'),
  scopes: z.array(z.string()),
  accounts: z.array(z.string()).optional().describe('Left out: every account'),
  commands: z.enum(['on', 'off']).describe('Off: orders cannot be placed, replaced or cancelled here'),
  streams: z.array(stream).optional().describe('Those of the venues that are followed. Left out: an earlier build'),
});

export type CallerDocument = z.infer<typeof callerAnswer>;
export type StatusDocument = z.infer<typeof statusAnswer>;
export type Trust = StatusDocument['trust'];
