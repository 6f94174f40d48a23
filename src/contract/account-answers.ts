import { z } from 'zod';
import { instant, int64 } from './normalised-order.ts';
import { count, named, stream } from './words.ts';

const followedAccount = named('FollowedAccount', 'An account on one of its streams, with its state', {
  stream,
  accountId: z.string(),
  isSim: z.boolean(),
  openOrders: z.int(),
  state: z
    .string()
    .optional()
    .describe(
      'connecting, down, unanswered, resyncing, live, frozen, not_enrolled, login_required; not_followed where no login sees the account now; elsewhere where another process follows it and gave no answer',
    ),
  instance: z.string().optional().describe('With `elsewhere`: the process that follows it'),
  since: instant.optional().describe('Since when it is in this state'),
  lastEvent: instant.optional(),
  lastResync: instant.optional().describe('The last complete read after a connection'),
  lastAudit: z
    .object({
      at: instant,
      orders: z.int().describe('Orders that it read'),
      changes: z.int().describe('Of these, changes that were new here'),
      silentLosses: z.int().describe('Of these, changes that the stream lost; known 5 s after the audit'),
    })
    .optional(),
  silentLosses: z.int().optional().describe('Changes that the stream lost and an audit found, in the last hour'),
  lastError: z.string().optional(),
  platformStatus: z
    .string()
    .optional()
    .describe('The platform’s own word for the account, as OPEN or RESTRICTED; left out where it gave none'),
  placeable: z
    .boolean()
    .optional()
    .describe(
      'Whether that word permits placing: OPEN alone does. Left out: the account has not been listed since the start',
    ),
  unlistedSince: instant
    .optional()
    .describe('Since when the platform lists it no longer. It is followed on, and cancels are sent'),
  tokenExpires: instant.optional().describe('End of the token that follows the account; it is renewed before'),
  tokenSecondsLeft: count.optional(),
});

export const accountList = named('AccountList', 'Accounts that are followed', {
  items: z.array(followedAccount),
  next: z.string().optional().describe('`cursor` of the next page; left out on the last'),
  statesKnown: z.boolean().describe('False: this process has no lane yet'),
});
export type AccountListDocument = z.infer<typeof accountList>;

const accountRepair = named('Repair', 'A read of an account that a person asked for', {
  requestId: int64,
  kind: z.enum(['read', 'backfill']),
  stream,
  from: instant.optional(),
  by: z.string().optional().describe('Left out: it was asked for at the command line'),
  reason: z.string().optional(),
  requestedAt: instant,
  state: z.enum(['waiting', 'done', 'failed', 'withdrawn']).describe('`waiting`: it waits, or is under way'),
  detail: z.string().optional(),
  answeredAt: instant.optional(),
});

export const accountRepairList = named('RepairList', 'Reads of an account that people asked for', {
  items: z.array(accountRepair),
});
export type AccountRepairDocument = z.infer<typeof accountRepair>;
