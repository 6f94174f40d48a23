import type { CommandRequest } from '../../domain/command.ts';
import type { Quote, Quoted } from '../../domain/measure-command.ts';
import type { WriteOptions, WriteResult } from '../../venue/write-result.ts';

/**
 * The platform's order entry, one write for each call. Never rejects, never repeats anything. If
 * the answer shows an order, it has gone to ingest by then.
 */
export interface OrderEntry {
  /**
   * Sends with the token for the command's account; `not_sent` with code `NO_CREDENTIAL` if there
   * is none.
   */
  send(request: CommandRequest, attemptId: string, options: WriteOptions): Promise<WriteResult>;
}

/** An instrument the command would trade, with its quote if the platform gave one in time. */
export interface QuoteRead extends Quoted {
  readonly quote?: Quote;
}

/**
 * The platform's last quotes, as limits need them. Read before the journal's
 * transaction: none waits for the platform.
 */
export interface Quotes {
  /**
   * With the tokens from the account's credential. Undefined: there was none within 2 s. Never
   * rejects.
   */
  lastQuote(accountId: string, of: Quoted): Promise<Quote | undefined>;
}
