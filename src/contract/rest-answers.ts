import { z } from 'zod';
import { evidenceKinds } from '../domain/command.ts';
import { decimal, instant, int64, normalisedOrder } from './normalised-order.ts';
import { unanswered } from './status-answer.ts';
import { updateRecord } from './update-record.ts';
import { attemptState, commandKind, commandState, orderStatus, result, stream } from './words.ts';

// REST's answers. Objects are open: a field added by a later minor version must not break a reader
// of this one.

/** Why something is as it is. */
export const reason = z
  .object({
    code: z.string().describe('Short and stable'),
    message: z.string(),
    status: z.int().optional().describe("The platform's HTTP status, where there was one"),
  })
  .meta({ id: 'Reason', description: 'Why something is as it is' });

export const orderAnswer = z
  .object({
    stream,
    orderId: z.string(),
    accountId: z.string(),
    revision: z.int().positive().describe('The ETag of the order'),
    sourceVersion: int64.optional().describe("The platform's version, int64 as text"),
    order: normalisedOrder,
  })
  .meta({ id: 'Order', description: 'An order in its newest state' });

const next = z.string().optional().describe('Cursor of the next page; absent on the last');

export const orderPage = z
  .object({
    items: z.array(orderAnswer),
    unreadable: z
      .array(z.object({ stream, orderId: z.string(), accountId: z.string() }))
      .optional()
      .describe('Orders of this page whose stored state is damaged; a read of the platform brings each back'),
    next,
  })
  .meta({ id: 'OrderPage', description: 'A page of orders' });

export const orderCounts = z
  .object({
    items: z.array(
      z
        .object({ status: orderStatus, orders: z.int().positive() })
        .meta({ id: 'StatusCount', description: 'How many orders have a status' }),
    ),
    complete: z.boolean().describe('False: of closed orders only the newest were counted'),
  })
  .meta({ id: 'OrderCounts', description: 'Orders by status' });

export const updatePage = z
  .object({
    items: z.array(updateRecord),
    recordedAt: z.array(instant).describe('When each of them was stored, by the clock of the database'),
    next: z.string().optional().describe('`after` of the next page; absent on the last'),
  })
  .meta({ id: 'UpdatePage', description: 'Updates of one order by revision, oldest first' });

const attempt = z
  .object({
    attemptId: z.string().describe('Our reference on the order: clientId, clientOrderRef'),
    number: z.int().positive(),
    state: attemptState,
    epoch: int64.describe('Term of the shard under which it was prepared'),
    preparedAt: instant,
    sendingAt: instant.optional().describe('Committed before the one write'),
    answeredAt: instant.optional(),
    reason: reason.optional(),
  })
  .meta({ id: 'Attempt', description: 'One write to the platform' });

/** Named, so each client has one class for it, although two shapes have the field. */
const evidenceDetail = z
  .record(z.string(), z.unknown())
  .meta({ id: 'EvidenceDetail', description: 'The facts of a piece of evidence, by its code' });

const evidence = z
  .object({
    number: z.int().describe('Rises within a command'),
    kind: z.enum(evidenceKinds),
    code: z.string().describe('Short and stable'),
    attemptId: z.string().optional(),
    at: instant,
    detail: evidenceDetail,
  })
  .meta({ id: 'Evidence', description: 'One fact that is known about a command' });

const position = {
  revision: z.int().nonnegative().describe('0: nothing of the order was known yet'),
  sourceVersion: int64.optional(),
};

const baseline = z
  .object({
    ...position,
    sourceEpoch: z.int(),
    status: normalisedOrder.shape.status,
    working: normalisedOrder.shape.working,
    cumQty: decimal,
    pendingAction: z.string(),
    rejectReason: z.string().optional(),
    rejectText: z.string().optional(),
  })
  .meta({ id: 'Baseline', description: 'An order as it was when its replace or cancel was journaled' });

const links = z
  .object({ self: z.string(), order: z.string().optional() })
  .meta({ id: 'Links', description: 'Paths of the command and of its order' });

export const replacedOrderId = z.string().describe('The order before, of a replace that has made a new one');

const commandFields = z.object({
  commandId: z.string(),
  kind: commandKind,
  stream,
  accountId: z.string(),
  orderId: z.string().optional().describe('Placed: once an order with our reference was observed'),
  orderStatus: orderStatus.optional().describe('Of that order, as it is now'),
  replaces: replacedOrderId.optional(),
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
    z
      .object({ what: z.literal('prepared'), ...ofAttempt })
      .meta({ id: 'AttemptPrepared', description: 'An attempt was journaled' }),
    z
      .object({ what: z.literal('sending'), ...ofAttempt })
      .meta({ id: 'AttemptSending', description: 'The one write of an attempt begins' }),
    z
      .object({ what: z.literal('answered'), ...ofAttempt, state: attemptState, reason: reason.optional() })
      .meta({ id: 'AttemptAnswered', description: 'An attempt was answered, or will not be' }),
    z
      .object({ what: z.literal('evidence'), ...evidence.shape })
      .meta({ id: 'TimelineEvidence', description: 'A piece of evidence, with its place in time' }),
  ])
  .meta({ id: 'TimelineEntry', description: 'A step of an attempt, or a piece of evidence' });

const recomputed = z
  .object({
    state: commandState,
    because: z.string().describe('Short and stable: the rule of resolving, `person`, `answer` or `refused_here`'),
    rule: z.string().describe('The same for people'),
    agrees: z
      .boolean()
      .describe(
        'False: it is not the state that is stored. For a moment that is so between an update and the step that follows from it',
      ),
    complete: z.boolean().describe('False: some updates of the order were not at hand, so a difference proves nothing'),
  })
  .meta({
    id: 'RecomputedVerdict',
    description: 'The verdict computed again, from the evidence and the updates of the order alone',
  });

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

export const commandPage = z
  .object({
    items: z.array(commandAnswer),
    unreadable: z
      .array(z.object({ commandId: z.string() }))
      .optional()
      .describe('Commands of this page whose stored row is damaged: their accounts are halted'),
    next,
  })
  .meta({ id: 'CommandPage', description: 'A page of commands, newest first' });

export type CommandAnswer = z.infer<typeof commandAnswer>;
export type CommandHistory = z.infer<typeof commandHistory>;

const exposureRow = z
  .object({
    accountId: z.string(),
    stream,
    symbol: z.string(),
    outcome: z.string().optional().describe('Prediction markets only'),
    side: z.string().describe('As orders write it'),
    openOrders: z.int(),
    openQuantity: decimal.describe('Sum of leavesQty of open orders'),
    unresolvedCommands: z.int(),
    unresolvedQuantity: decimal.describe('What unresolved places and replaces would add, had they been applied'),
  })
  .meta({ id: 'ExposureRow', description: 'Open and unresolved quantity of one instrument and side' });

export const exposureList = z
  .object({ items: z.array(exposureRow) })
  .meta({ id: 'ExposureList', description: 'Open and unresolved as if live' });
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

const sweptOrder = z
  .object({ accountId: z.string(), stream, orderId: z.string(), ...sweptCancel })
  .meta({ id: 'CancelAllOrder', description: 'An order that was open, and its cancel' });

const sweptPlace = z
  .object({
    accountId: z.string(),
    stream,
    commandId: z.string(),
    result,
    state: commandState.optional().describe('Left out where the journal did not say'),
    orderId: z.string().optional().describe('The order that it placed, once that is known'),
    cancel: z.object(sweptCancel).optional().describe('The cancel of that order'),
  })
  .meta({ id: 'CancelAllPlace', description: 'A place that was unresolved, and the cancel of its order' });

export const cancelAfterAnswer = z
  .object({
    accountIds: z.array(z.string()).describe('Whose timers were set, or ended'),
    firesAt: z
      .string()
      .optional()
      .describe('When their open orders are cancelled unless a further call comes; absent: disarmed'),
  })
  .meta({ id: 'CancelAfterState', description: 'A dead man’s switch as it is set now' });

export const cancelAllAnswer = z
  .object({
    open: z.boolean().describe('Something may be open that no cancel is in hand for'),
    inForce: z
      .boolean()
      .describe('It goes on: cancels are under way, or places are unresolved whose orders are cancelled as they land'),
    orders: z.array(sweptOrder),
    places: z.array(sweptPlace).describe('Places that were unresolved, whose orders had not been seen'),
    unread: z
      .array(
        z
          .object({
            accountId: z.string(),
            stream,
            code: z.enum(['NOT_LIVE', 'NOT_READ', 'UNCERTAIN']),
            detail: z.string(),
          })
          .meta({ id: 'UnreadAccount', description: 'An account of which orders may be open that are not known' }),
      )
      .describe('Accounts of which orders may be open that are not known'),
    declined: z
      .array(
        z
          .object({ accountId: z.string(), code: z.string(), detail: z.string() })
          .meta({ id: 'DeclinedAccount', description: 'An account of which nothing was cancelled' }),
      )
      .describe('Accounts of which nothing was cancelled'),
    unanswered: unanswered.optional(),
  })
  .meta({ id: 'CancelAllResult', description: 'A cancel for each open order' });
export type CancelAllDocument = z.infer<typeof cancelAllAnswer>;

export const probeAnswer = z
  .object({
    unresolved: z.int(),
    probes: z.int(),
    resolved: z.array(
      z
        .object({ commandId: z.string(), result })
        .meta({ id: 'ResolvedCommand', description: 'A command that this look resolved' }),
    ),
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
  })
  .meta({ id: 'ProbeResult', description: 'One look of the resolver' });

const fault = z
  .object({ path: z.string(), message: z.string() })
  .meta({ id: 'Fault', description: 'One fault of a body or of a parameter' });

export const problemAnswer = z
  .object({
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
  })
  .meta({ id: 'Problem', description: 'Problem (RFC 9457)' });
