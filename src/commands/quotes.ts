import type { Quote, Quoted } from '../domain/measure-command.ts';

/** The platform's last quotes, as limits need them. Read before the journal's transaction: none waits for the platform. */
export interface Quotes {
  /** With the tokens of the credential that follows the account. Undefined: there is none to be had within 2 s. Never rejects. */
  lastQuote(accountId: string, of: Quoted): Promise<Quote | undefined>;
}
