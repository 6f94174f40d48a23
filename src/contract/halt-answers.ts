import { z } from 'zod';
import { instant } from './normalised-order.ts';
import { named } from './words.ts';

// REST's answers about halts, and about acts that wait for a second principal.

const haltScope = z
  .discriminatedUnion('kind', [
    named('HaltOfService', 'Of every account', { kind: z.literal('service') }),
    named('HaltOfAccount', 'Of one account', { kind: z.literal('account'), accountId: z.string() }),
  ])
  .meta({ id: 'HaltScope', description: 'The service, or one account' });

const halt = named('Halt', 'A halt in force', {
  haltId: z.string(),
  scope: haltScope,
  cause: z.string().describe('unresolved, unreadable, late_landing, rate, operator, account_operator, commits_lost'),
  reason: z.string(),
  by: z.string(),
  since: instant,
});

export const haltList = named('HaltList', 'Halts in force: placing and replacing are refused there, cancels pass', {
  halts: z.array(halt),
});

export const haltAnswer = named(
  'Halted',
  'Halts in force. Behind this answer no instance sends anything but cancels for what they cover',
  {
    ...haltList.shape,
    accountKnown: z
      .boolean()
      .optional()
      .describe(
        'False: no instance has ever followed an account with this id, as far as the database knows. The halt holds all the same; look for a mistyped id. Left out: of the whole service, or where the database did not say within a second',
      ),
  },
);

export const resumeAnswer = named('Resumed', 'Halts that were cleared, and those that stay in force', {
  ...haltList.shape,
  cleared: z.array(halt).describe('Those that were in force before, and are not any more'),
});

export const haltEvent = named('HaltEvent', 'A halt that was raised, or cleared', {
  ...halt.shape,
  inForce: z.boolean(),
  clearedAt: instant.optional(),
  clearedBy: z.string().optional(),
  clearedReason: z.string().optional(),
});

export type HaltChange = z.infer<typeof haltEvent>;
export type HaltDocument = z.infer<typeof halt>;

const approval = named('Approval', 'An act that waits for a second principal, or was approved', {
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
});

export const approvalAnswer = named('ApprovalAnswer', 'What waits for a second principal, or was approved', {
  approval,
});
export const approvalList = named('ApprovalList', 'What waits for a second principal', { items: z.array(approval) });
export type ApprovalDocument = z.infer<typeof approval>;
