import type { CommandRequest, Reason } from '../domain/command.ts';
import type { Quote, Quoted } from '../domain/measure-command.ts';

/**
 * The outcome of one attempt (docs/settling.md, "Outcome of a write", table "observed → outcome"). If the platform's reply shows an order, it has gone to
 * ingest by then.
 */
export type EntryResult =
  /** `orderId`: where the answer names one (prediction orders). `answer`: its content, for the evidence; no secrets. */
  | {
      readonly kind: 'accepted' | 'rejected';
      readonly orderId?: string;
      readonly reason?: Reason;
      readonly answer: Readonly<Record<string, unknown>>;
    }
  /** `staleToken`: a 401 for a token that is not the current one any more, or was current and has now been refreshed: one further attempt is allowed. */
  | { readonly kind: 'refused'; readonly reason: Reason; readonly staleToken?: true }
  /**
   * `mayRepeat`: the documented 429 and 503, or a connection that could not be made: the next attempt may succeed. `retryAfterMs`: the platform asks to wait
   * for so long.
   */
  | { readonly kind: 'not_sent'; readonly reason: Reason; readonly mayRepeat: boolean; readonly retryAfterMs?: number }
  | { readonly kind: 'unknown'; readonly reason: Reason };

export interface EntryOptions {
  /**
   * Asked once there is a token and the socket is connected, immediately before the one write. False or a rejection: nothing is written, and the result is
   * `not_sent`.
   */
  readonly mayWrite: () => Promise<boolean>;
  /**
   * Asked once after `mayWrite`, synchronously with the write: nothing is awaited between its answer and the first byte, so that no byte follows a halt that was
   * raised before. False: nothing is written, and the result is `not_sent`.
   */
  readonly mayStillWrite: () => boolean;
  readonly signal: AbortSignal;
}

/** The platform's order entry, one write for each call. Never rejects, never repeats anything. */
export interface OrderEntry {
  /** Sends with the token that reaches the command's account; `not_sent` with code `NO_CREDENTIAL` where there is none. */
  send(request: CommandRequest, attemptId: string, options: EntryOptions): Promise<EntryResult>;
}

/** The platform's last quotes, as limits need them. Read before the journal's transaction: none waits for the platform. */
export interface Quotes {
  /** With the tokens of the credential that follows the account. Undefined: there was none within 2 s. Never rejects. */
  lastQuote(accountId: string, of: Quoted): Promise<Quote | undefined>;
}
