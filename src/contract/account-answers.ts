import { z } from 'zod';
import { instant, int64 } from './normalised-order.ts';
import { stream } from './words.ts';

/** The words in the platform's list of accounts. */
const standingFields = {
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
};

const followedAccount = z
  .object({
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
    ...standingFields,
    tokenExpires: instant.optional().describe('End of the token that follows the account; it is renewed before'),
    tokenSecondsLeft: z.int().nonnegative().optional(),
  })
  .meta({ id: 'FollowedAccount', description: 'An account on one of its streams, with its state' });

export const accountList = z
  .object({
    items: z.array(followedAccount),
    next: z.string().optional().describe('`cursor` of the next page; left out on the last'),
    statesKnown: z.boolean().describe('False: this process has no lane yet'),
  })
  .meta({ id: 'AccountList', description: 'Accounts that are followed' });
export type AccountListDocument = z.infer<typeof accountList>;

const accountRepair = z
  .object({
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
  })
  .meta({ id: 'Repair', description: 'A read of an account that a person asked for' });

export const accountRepairList = z
  .object({ items: z.array(accountRepair) })
  .meta({ id: 'RepairList', description: 'Reads of an account that people asked for' });
export type AccountRepairDocument = z.infer<typeof accountRepair>;
