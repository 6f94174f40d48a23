import type { CommandRequest, Reason } from '../domain/command.ts';
import type { Quote, Quoted } from '../domain/measure-command.ts';

/** What became of one attempt (table "observed → outcome"). The platform's own reply, where it shows an order, has gone to ingest by then. */
export type EntryResult =
  /** `orderId`: where the answer names one (prediction orders). `answer`: what it said, for the evidence; no secrets. */
  | {
      readonly kind: 'accepted' | 'rejected';
      readonly orderId?: string;
      readonly reason?: Reason;
      readonly answer: Readonly<Record<string, unknown>>;
    }
  /** `staleToken`: a 401 for a token that is not the current one any more, or was the current one and has now been refreshed: one further attempt is allowed. */
  | { readonly kind: 'refused'; readonly reason: Reason; readonly staleToken?: true }
  /** `mayRepeat`: the documented 429 and 503, or a connection that could not be made: the next attempt may succeed. `retryAfterMs`: not before, says the platform. */
  | { readonly kind: 'not_sent'; readonly reason: Reason; readonly mayRepeat: boolean; readonly retryAfterMs?: number }
  | { readonly kind: 'unknown'; readonly reason: Reason };

export interface EntryOptions {
  /** Asked once a token is there and the socket stands, immediately before the one write. False or a rejection: nothing is written, and the result is `not_sent`. */
  readonly mayWrite: () => Promise<boolean>;
  /**
   * Asked once behind `mayWrite`, in the very turn of the write: nothing is awaited between its answer and the first byte, so that a halt which was raised before is
   * never overtaken. False: nothing is written, and the result is `not_sent`.
   */
  readonly mayStillWrite: () => boolean;
  readonly signal: AbortSignal;
}

/** The platform's order entry, one write a call. Never rejects, never repeats anything. */
export interface OrderEntry {
  /** The command's accounts are asked for by the token that reaches them; `not_sent` with code `NO_CREDENTIAL` where there is none. */
  send(request: CommandRequest, attemptId: string, options: EntryOptions): Promise<EntryResult>;
}

/** The platform's last quotes, as limits need them. Read before the journal's transaction: none waits for the platform. */
export interface Quotes {
  /** With the tokens of the credential that follows the account. Undefined: there is none to be had within 2 s. Never rejects. */
  lastQuote(accountId: string, of: Quoted): Promise<Quote | undefined>;
}
