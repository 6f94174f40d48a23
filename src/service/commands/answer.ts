import type { Command } from '../../domain/command.ts';
import type { LimitBreach } from '../../domain/limits.ts';

/** Why nothing was done. REST answers each with one status (`rest/problem-codes.ts`). */
export const declineCodes = [
  'ACCOUNT_NOT_FOUND',
  'ACCOUNT_NOT_OPEN',
  'ACCOUNT_NOT_TRADED',
  'ALREADY_RESOLVED',
  'APPROVAL_NOT_FOUND',
  'CALLER_REF_REUSED',
  'COMMANDS_OFF',
  'COMMAND_NOT_FOUND',
  'DRAINING',
  'EVERY_ACCOUNT_NEEDED',
  'IDEMPOTENCY_KEY_REUSED',
  'LIMITS_REQUIRED',
  'LIMIT_EXCEEDED',
  'LIMIT_NOT_EVALUATED',
  'NOT_LEADER',
  'NO_CHANGE',
  'ORDER_ACTION_PENDING',
  'ORDER_CLOSED',
  'ORDER_NOT_FOUND',
  'PLACING_HALTED',
  'QUANTITY_BELOW_FILLED',
  'RATE_LIMITED',
  'REVISION_MISMATCH',
  'SECOND_PRINCIPAL_NEEDED',
  'SOURCE_NOT_LIVE',
  'STORE_UNAVAILABLE',
  'SUPERSEDED_NOT_ABSENT',
  'TOO_MANY_APPROVALS',
  'UNRESOLVED_PRIOR_COMMAND',
] as const;
export type DeclineCode = (typeof declineCodes)[number];

export interface Declined {
  readonly kind: 'declined';
  readonly code: DeclineCode;
  readonly message: string;
  readonly retryAfterMs?: number;
  /** The limit it breaks. */
  readonly breach?: LimitBreach;
  /** The command that stands in its way; its account may be another one. */
  readonly prior?: Command;
}

/** What came of a call, or why it did nothing. That is expected: it is returned, not thrown. */
export type Answer<T> = T | Declined;

export type Done<T = unknown> = { readonly kind: 'done' } & Readonly<T>;

export function declined(code: DeclineCode, message: string, retryAfterMs?: number): Declined {
  return { kind: 'declined', code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

export function isDeclined(answer: { readonly kind: string }): answer is Declined {
  return answer.kind === 'declined';
}

/** Declined for a reason of this process alone: another one may do it. */
export function isOfThisProcess(code: string): boolean {
  return code === 'NOT_LEADER' || code === 'DRAINING';
}

/** Why this process sends nothing just now; asked again, a caller may reach one able to. */
export const anotherLeads = declined(
  'NOT_LEADER',
  'another process holds the shard of the account, or its commands are being taken over',
  2_000,
);
export const ending = declined('DRAINING', 'the service is ending', 2_000);
