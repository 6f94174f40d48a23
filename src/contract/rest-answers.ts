import { z } from 'zod';
import { evidenceKinds } from '../domain/command.ts';
import { decimal, instant, int64, normalisedOrder } from './normalised-order.ts';
import { unanswered } from './status-answer.ts';
import { updateRecord } from './update-record.ts';
import { attemptState, commandKind, commandState, count, named, next, orderStatus, result, stream } from './words.ts';

// REST's answers. Objects are open: a field added by a later minor version must not break a reader
// of this one.

/** Why something is as it is. */
const reason = named('Reason', 'Why something is as it is', {
  code: z.string().describe('Short and stable'),
  message: z.string(),
  status: z.int().optional().describe("The platform's HTTP status, where there was one"),
});

export const orderAnswer = named('Order', 'An order in its newest state', {
  stream,
  orderId: z.string(),
  accountId: z.string(),
  revision: z.int().positive().describe('The ETag of the order'),
  sourceVersion: int64.optional().describe("The platform's version, int64 as text"),
  order: normalisedOrder,
});

export const orderPage = named('OrderPage', 'A page of orders', {
  items: z.array(orderAnswer),
  unreadable: z
    .array(z.object({ stream, orderId: z.string(), accountId: z.string() }))
    .optional()
    .describe('Orders of this page whose stored state is damaged; a read of the platform brings each back'),
  next,
});

export const orderCounts = named('OrderCounts', 'Orders by status', {
  items: z.array(
    named('StatusCount', 'How many orders have a status', { status: orderStatus, orders: z.int().positive() }),
  ),
  complete: z.boolean().describe('False: of closed orders only the newest were counted'),
});

export const updatePage = named('UpdatePage', 'Updates of one order by revision, oldest first', {
  items: z.array(updateRecord),
  recordedAt: z.array(instant).describe('When each of them was stored, by the clock of the database'),
  next: z.string().optional().describe('`after` of the next page; absent on the last'),
});

export const attempt = named('Attempt', 'One write to the platform', {
  attemptId: z.string().describe('Our reference on the order: clientId, clientOrderRef'),
  number: z.int().positive(),
  state: attemptState,
  epoch: int64.describe('Term of the shard under which it was prepared'),
  preparedAt: instant,
  sendingAt: instant.optional().describe('Committed before the one write'),
  answeredAt: instant.optional(),
  reason: reason.optional(),
});

/** Named, so each client has one class for it, although two shapes have the field. */
const evidenceDetail = z
  .record(z.string(), z.unknown())
  .meta({ id: 'EvidenceDetail', description: 'The facts of a piece of evidence, by its code' });

const evidence = named('Evidence', 'One fact that is known about a command', {
  number: z.int().describe('Rises within a command'),
  kind: z.enum(evidenceKinds),
  code: z.string().describe('Short and stable'),
  attemptId: z.string().optional(),
  at: instant,
  detail: evidenceDetail,
});

const position = {
  revision: count.describe('0: nothing of the order was known yet'),
  sourceVersion: int64.optional(),
};

const baseline = named('Baseline', 'An order as it was when its replace or cancel was journaled', {
  ...position,
  sourceEpoch: z.int(),
  status: normalisedOrder.shape.status,
  working: normalisedOrder.shape.working,
  cumQty: decimal,
  pendingAction: z.string(),
  rejectReason: z.string().optional(),
  rejectText: z.string().optional(),
});

const links = named('Links', 'Paths of the command and of its order', {
  self: z.string(),
  order: z.string().optional(),
});

const commandFields = z.object({
  commandId: z.string(),
  kind: commandKind,
  stream,
  accountId: z.string(),
  orderId: z.string().optional().describe('Placed: once an order with our reference was observed'),
  orderStatus: orderStatus.optional().describe('Of that order, as it is now'),
  replaces: z.string().optional().describe('The order before, of a replace that has made a new one'),
  result,
  state: commandState,
  unresolved: z.boolean().describe('Its result is not known, or a person has to resolve it'),
  presumedAbsent: z
    .boolean()
    .describe('Enough complete reads missed it: a new command may supersede it, nothing else follows'),
  reason: reason.optional(),
  terms: z.record(z.string(), z.unknown()).optional().describe('What was asked for; decimals in canonical form'),
  callerRef: z.string().optional(),
  supersedes: z.string().optional(),
  principal: z.string(),
  idempotencyKey: z.string(),
  version: z.int().describe('Rises by one with every step'),
  misses: z.int().describe('Complete reads that did not show it, since the last possible send'),
  baseline: baseline.optional().describe('Replace and cancel: what the order was. Only what is above it is evidence'),
  seenPendingAt: z
    .object(position)
    .optional()
    .describe('Replace and cancel: where the platform was first seen to have it in hand'),
  createdAt: instant,
  updatedAt: instant,
  deadlineAt: instant.describe(
    'Until then attempts that were not sent may be followed by others. A cancel of a cancel-all that waits for requests of its venue goes on for ten minutes',
  ),
  resolvedAt: instant.optional(),
  attempts: z.array(attempt),
  evidence: z.array(evidence).optional(),
  nextProbe: z
    .object({
      at: instant.describe('In the past while it is under way'),
      by: z.enum(['reference', 'order', 'account']).describe('`account`: a complete read of the account'),
    })
    .optional()
    .describe(
      'When the platform is asked about it next. Left out: it is not asked, or another process holds its shard',
    ),
  advice: z.string().optional().describe('Unresolved: what its caller is to do, and what not'),
  links,
});

export const commandAnswer = commandFields.meta({ id: 'Command', description: 'A command and where it stands' });

const ofAttempt = { at: instant, attemptId: z.string(), number: z.int().positive() };

const timelineEntry = z
  .discriminatedUnion('what', [
    named('AttemptPrepared', 'An attempt was journaled', { what: z.literal('prepared'), ...ofAttempt }),
    named('AttemptSending', 'The one write of an attempt begins', { what: z.literal('sending'), ...ofAttempt }),
    named('AttemptAnswered', 'An attempt was answered, or will not be', {
      what: z.literal('answered'),
      ...ofAttempt,
      state: attemptState,
      reason: reason.optional(),
    }),
    named('TimelineEvidence', 'A piece of evidence, with its place in time', {
      what: z.literal('evidence'),
      ...evidence.shape,
    }),
  ])
  .meta({ id: 'TimelineEntry', description: 'A step of an attempt, or a piece of evidence' });

const recomputed = named(
  'RecomputedVerdict',
  'The verdict computed again, from the evidence and the updates of the order alone',
  {
    state: commandState,
    because: z.string().describe('Short and stable: the rule of resolving, `person`, `answer` or `refused_here`'),
    rule: z.string().describe('The same for people'),
    agrees: z
      .boolean()
      .describe(
        'False: it is not the state that is stored. For a moment that is so between an update and the step that follows from it',
      ),
    complete: z.boolean().describe('False: some updates of the order were not at hand, so a difference proves nothing'),
  },
);

export const commandHistory = commandFields
  .extend({
    evidence: z.array(evidence),
    hints: z
      .array(z.string())
      .optional()
      .describe(
        'Unknown places: ids of orders with the same terms and no reference that explains them. Never a verdict: another caller may have placed the same',
      ),
    recomputed,
    timeline: z.array(timelineEntry).describe('Attempts and evidence in one order of time'),
  })
  .meta({ id: 'CommandHistory', description: 'A command with everything that is known about it' });

export const commandPage = named('CommandPage', 'A page of commands, newest first', {
  items: z.array(commandAnswer),
  unreadable: z
    .array(z.object({ commandId: z.string() }))
    .optional()
    .describe('Commands of this page whose stored row is damaged: their accounts are halted'),
  next,
});

export type CommandAnswer = z.infer<typeof commandAnswer>;
export type CommandHistory = z.infer<typeof commandHistory>;

const exposureRow = named('ExposureRow', 'Open and unresolved quantity of one instrument and side', {
  accountId: z.string(),
  stream,
  symbol: z.string(),
  outcome: z.string().optional().describe('Prediction markets only'),
  side: z.string().describe('As orders write it'),
  openOrders: z.int(),
  openQuantity: decimal.describe('Sum of leavesQty of open orders'),
  unresolvedCommands: z.int(),
  unresolvedQuantity: decimal.describe('What unresolved places and replaces would add, had they been applied'),
});

export const exposureList = named('ExposureList', 'Open and unresolved as if live', { items: z.array(exposureRow) });
export type ExposureLine = z.infer<typeof exposureRow>;

const sweptCancel = {
  commandId: z.string().optional(),
  result: result.optional(),
  state: commandState.optional(),
  attempts: z.array(attempt).optional(),
  links: links.optional(),
  code: z.string().optional().describe('Why there is no command; UNDER_WAY: its cancel has not come to an answer yet'),
  detail: z.string().optional().describe('The same for people'),
};

const sweptOrder = named('CancelAllOrder', 'An order that was open, and its cancel', {
  accountId: z.string(),
  stream,
  orderId: z.string(),
  ...sweptCancel,
});

const sweptPlace = named('CancelAllPlace', 'A place that was unresolved, and the cancel of its order', {
  accountId: z.string(),
  stream,
  commandId: z.string(),
  result,
  state: commandState.optional().describe('Left out where the journal did not say'),
  orderId: z.string().optional().describe('The order that it placed, once that is known'),
  cancel: z.object(sweptCancel).optional().describe('The cancel of that order'),
});

export const cancelAfterAnswer = named('CancelAfterState', 'A dead man’s switch as it is set now', {
  accountIds: z.array(z.string()).describe('Whose timers were set, or ended'),
  firesAt: z
    .string()
    .optional()
    .describe('When their open orders are cancelled unless a further call comes; absent: disarmed'),
});

export const cancelAllAnswer = named('CancelAllResult', 'A cancel for each open order', {
  open: z.boolean().describe('Something may be open that no cancel is in hand for'),
  inForce: z
    .boolean()
    .describe('It goes on: cancels are under way, or places are unresolved whose orders are cancelled as they land'),
  orders: z.array(sweptOrder),
  places: z.array(sweptPlace).describe('Places that were unresolved, whose orders had not been seen'),
  unread: z
    .array(
      named('UnreadAccount', 'An account of which orders may be open that are not known', {
        accountId: z.string(),
        stream,
        code: z.enum(['NOT_LIVE', 'NOT_READ', 'UNCERTAIN']),
        detail: z.string(),
      }),
    )
    .describe('Accounts of which orders may be open that are not known'),
  declined: z
    .array(
      named('DeclinedAccount', 'An account of which nothing was cancelled', {
        accountId: z.string(),
        code: z.string(),
        detail: z.string(),
      }),
    )
    .describe('Accounts of which nothing was cancelled'),
  unanswered: unanswered.optional(),
});
export type CancelAllDocument = z.infer<typeof cancelAllAnswer>;

export const probeAnswer = named('ProbeResult', 'One look of the resolver', {
  unresolved: z.int(),
  probes: z.int(),
  resolved: z.array(named('ResolvedCommand', 'A command that this look resolved', { commandId: z.string(), result })),
  plan: z
    .array(z.object({ accountId: z.string(), stream: z.string(), read: z.string(), commands: z.array(z.string()) }))
    .describe('What would be read, or was'),
  left: z
    .array(z.object({ accountId: z.string(), commands: z.array(z.string()) }))
    .optional()
    .describe(
      'Of all accounts: commands that were open when it was asked for, and that no look covers. No process has held their account for some seconds, its process has no room for them, or their write is under way. Left out: every one was looked at',
    ),
  unanswered: unanswered.optional(),
});

const fault = named('Fault', 'One fault of a body or of a parameter', { path: z.string(), message: z.string() });

export const problemAnswer = named('Problem', 'Problem (RFC 9457)', {
  type: z.literal('about:blank'),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe('One sentence for people'),
  code: z.string().describe('Short and stable'),
  retryable: z.boolean().describe('True: the same request may succeed later'),
  requestId: z.string(),
  faults: z.array(fault).optional().describe('Each fault of the body or the parameters'),
  breach: z
    .object({ limit: z.string(), value: z.string().optional(), bound: z.string() })
    .optional()
    .describe('The limit that a command breaks; without a value it can’t be evaluated'),
  commandId: z.string().optional().describe('The command that stands in the way, where the token may see it'),
  advice: z.string().optional().describe('With commandId: what its caller is to do, and what not'),
});
