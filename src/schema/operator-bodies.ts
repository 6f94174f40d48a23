import { z } from 'zod';
import type { OrderSelection } from '../domain/select-orders.ts';
import { plainText, symbolText } from './body-fields.ts';
import { type BodyResult, parseBody } from './parse-body.ts';

/** Recorded with who said it and when. Blank text is no reason. */
export const reasonText = plainText(1, 500)
  .refine((text) => text.trim() !== '', 'must say why')
  .describe('Why: recorded in the audit trail');

/** The outcomes that a person may declare. Not `refused` (the platform's word) or `unknown` (no outcome). */
export const settledOutcomes = ['applied', 'rejected', 'not_sent', 'moot'] as const;
export type SettledOutcome = (typeof settledOutcomes)[number];

/** `POST /v1/commands/{id}/settlement`. */
export const settlementBody = z
  .strictObject({ outcome: z.enum(settledOutcomes), reason: reasonText })
  .meta({ id: 'Settlement', title: 'What a person knows about a command' });

/** `POST /v1/accounts/{id}/halt|resume` and the same for the service. */
export const reasonBody = z.strictObject({ reason: reasonText }).meta({ id: 'OperatorReason', title: 'Why an operator acts' });

/** `POST /v1/accounts/{id}/cancel-all` and the same for the service. */
export const cancelAllBody = z
  .strictObject({
    reason: reasonText,
    onLanding: z
      .enum(['cancel', 'leave'])
      .default('cancel')
      .describe('What becomes of the order of a place that is unresolved now, should it land later'),
    symbol: symbolText(64).optional().describe('Only orders of this symbol'),
    side: z
      .enum(['buy', 'sell'])
      .optional()
      .describe(
        'Only orders of this side, on both streams; SELL_SHORT sells and BUY_TO_COVER buys, an order of several legs has the side of its first',
      ),
    principal: plainText(1, 300).optional().describe('Only orders that this principal has placed here'),
    reference: plainText(1, 64)
      .optional()
      .describe('Only orders with this reference: that of their caller (`callerRef`), or the one that the platform has of them'),
  })
  .meta({ id: 'CancelAll', title: 'Why open orders are to be cancelled, which, and what becomes of those that land later' });

/** `POST /v1/cancel-after`. */
export const cancelAfterBody = z
  .strictObject({
    seconds: z.int().min(0).max(86_400).describe('Cancel when so long no further call has come; 0 disarms'),
    accountIds: z
      .array(z.string().regex(/^[!-~]{1,50}$/, 'must be 1 to 50 visible ASCII characters'))
      .min(1)
      .max(1000)
      .optional()
      .describe('Left out: every account of the token that is followed now'),
  })
  .meta({ id: 'CancelAfter', title: 'A dead man’s switch: silence cancels the open orders of these accounts' });

export function parseCancelAfter(
  body: unknown,
): BodyResult<{ readonly seconds: number; readonly accountIds?: readonly string[] }> {
  return parseBody(cancelAfterBody, body, ({ seconds, accountIds }) => ({
    seconds,
    ...(accountIds !== undefined && { accountIds: [...new Set(accountIds)] }),
  }));
}

interface CancelAllBody {
  readonly reason: string;
  readonly onLanding: 'cancel' | 'leave';
  /** Absent: every order. */
  readonly only?: OrderSelection;
}

export function parseCancelAll(body: unknown): BodyResult<CancelAllBody> {
  return parseBody(cancelAllBody, body, ({ reason, onLanding, symbol, side, principal, reference }) => {
    const only = {
      ...(symbol !== undefined && { symbol }),
      ...(side !== undefined && { side }),
      ...(principal !== undefined && { principal }),
      ...(reference !== undefined && { reference }),
    };
    return { reason: reason.trim(), onLanding, ...(Object.keys(only).length > 0 && { only }) };
  });
}

export function parseSettlement(body: unknown): BodyResult<{ readonly outcome: SettledOutcome; readonly reason: string }> {
  return parseBody(settlementBody, body, (value) => ({ outcome: value.outcome, reason: value.reason.trim() }));
}

export function parseReason(body: unknown): BodyResult<{ readonly reason: string }> {
  return parseBody(reasonBody, body, (value) => ({ reason: value.reason.trim() }));
}
