import { z } from 'zod';
import { instant } from './normalised-order.ts';

// REST's answers about halts, and about acts that wait for a second principal.

const haltScope = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('service') }).meta({ id: 'HaltOfService', description: 'Of every account' }),
    z
      .object({ kind: z.literal('account'), accountId: z.string() })
      .meta({ id: 'HaltOfAccount', description: 'Of one account' }),
  ])
  .meta({ id: 'HaltScope', description: 'The service, or one account' });

const halt = z
  .object({
    haltId: z.string(),
    scope: haltScope,
    cause: z.string().describe('unresolved, unreadable, late_landing, rate, operator, account_operator, commits_lost'),
    reason: z.string(),
    by: z.string(),
    since: instant,
  })
  .meta({ id: 'Halt', description: 'A halt in force' });

export const haltList = z
  .object({ halts: z.array(halt) })
  .meta({ id: 'HaltList', description: 'Halts in force: placing and replacing are refused there, cancels pass' });

export const haltAnswer = z
  .object({
    ...haltList.shape,
    accountKnown: z
      .boolean()
      .optional()
      .describe(
        'False: no instance has ever followed an account with this id, as far as the database knows. The halt holds all the same; look for a mistyped id. Left out: of the whole service, or where the database did not say within a second',
      ),
  })
  .meta({
    id: 'Halted',
    description: 'Halts in force. Behind this answer no instance sends anything but cancels for what they cover',
  });

export const resumeAnswer = z
  .object({
    ...haltList.shape,
    cleared: z.array(halt).describe('Those that were in force before, and are not any more'),
  })
  .meta({ id: 'Resumed', description: 'Halts that were cleared, and those that stay in force' });

export const haltEvent = z
  .object({
    ...halt.shape,
    inForce: z.boolean(),
    clearedAt: instant.optional(),
    clearedBy: z.string().optional(),
    clearedReason: z.string().optional(),
  })
  .meta({ id: 'HaltEvent', description: 'A halt that was raised, or cleared' });

export type HaltChange = z.infer<typeof haltEvent>;
export type HaltDocument = z.infer<typeof halt>;

const approval = z
  .object({
    approvalId: z.string(),
    action: z
      .looseObject({ kind: z.enum(['resume', 'resolve', 'change_limits']) })
      .describe(
        'What was asked for: the scope of a resume, the command and result of a resolution, the scope and change of limits',
      ),
    accountId: z.string().optional().describe('Left out: it concerns every account'),
    by: z.string().describe('The principal that asked for it, and cannot approve it'),
    reason: z.string(),
    requestedAt: instant,
    expiresAt: instant,
  })
  .meta({ id: 'Approval', description: 'An act that waits for a second principal, or was approved' });

export const approvalAnswer = z
  .object({ approval })
  .meta({ id: 'ApprovalAnswer', description: 'What waits for a second principal, or was approved' });
export const approvalList = z
  .object({ items: z.array(approval) })
  .meta({ id: 'ApprovalList', description: 'What waits for a second principal' });
export type ApprovalDocument = z.infer<typeof approval>;
