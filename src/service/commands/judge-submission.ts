import type { CommandRequest, ReplaceTerms } from '../../domain/command.ts';
import { describeBreach, type LimitBreach } from '../../domain/limits.ts';
import { type Measure, measurePlace, measureReplace, type Quote, quotedBy } from '../../domain/measure-command.ts';
import type { Order } from '../../domain/order.ts';
import type { JudgedCommand } from '../../store/commands/command-journal.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import { type Declined, declined } from './answer.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandOptions } from './command-options.ts';
import type { Submission } from './commands.ts';
import type { QuoteRead, Quotes } from './order-entry.ts';

// What a command is judged by, in one place: a place and its
// preview must never come to another answer.

/**
 * What the journal looks at before it writes the command. `order`: the one that a replace names.
 */
export function judgedOf(
  accounts: FollowedAccounts,
  { callerRefOnce }: CommandOptions,
  { principal, request, callerRef, supersedes }: Pick<Submission, 'principal' | 'request' | 'callerRef' | 'supersedes'>,
  {
    atMs,
    order,
    released,
    quotes,
  }: {
    readonly atMs: number;
    readonly order?: Order | undefined;
    readonly released?: readonly ReplaceTerms[];
    readonly quotes?: readonly Quote[];
  },
): JudgedCommand {
  return {
    ...{ principal, request, atMs },
    ...(callerRef !== undefined && { callerRef, callerRefOnce }),
    ...(supersedes !== undefined && { supersedes }),
    ...limitedBy(accounts, request, measureOf(request, order, quotes, released)),
  };
}

function limitedBy(accounts: FollowedAccounts, request: CommandRequest, measure: Measure | undefined) {
  if (request.kind === 'cancel') return {};
  // An account not known to be simulated counts as real: this permits less.
  const isSim = accounts.account(request.stream, request.accountId)?.isSim === true;
  return { ...(measure !== undefined && { measure }), ...(!isSim && { limitsRequired: true as const }) };
}

/** The terms of the unresolved replaces that a command supersedes, each by the one before it. */
export function releasedBy(book: Pick<CommandBook, 'get'>, supersedes: string | undefined): ReplaceTerms[] {
  const command = supersedes === undefined ? undefined : book.get(supersedes)?.command;
  if (command?.request.kind !== 'replace') return [];
  return [command.request.terms, ...releasedBy(book, command.supersedes)];
}

export function measureOf(
  request: CommandRequest,
  order?: Order,
  quotes?: readonly Quote[],
  released?: readonly ReplaceTerms[],
): Measure | undefined {
  if (request.kind === 'place') return measurePlace(request, quotes);
  return request.kind === 'replace' && order !== undefined ? measureReplace(request, order, released) : undefined;
}

/**
 * Asks for a quote for every instrument the command would trade; none where the platform has no
 * quote. Never rejects.
 */
export function readQuotes(quotes: Quotes, request: CommandRequest): Promise<readonly QuoteRead[]> {
  return Promise.all(
    quotedBy(request).map(async (of) => {
      const quote = await quotes.lastQuote(request.accountId, of);
      return { ...of, ...(quote !== undefined && { quote }) };
    }),
  );
}

/** Undefined unless each instrument has one: a part of the legs measures nothing. */
export function allQuotes(read: readonly QuoteRead[]): readonly Quote[] | undefined {
  const found = read.flatMap(({ quote }) => (quote === undefined ? [] : [quote]));
  return found.length > 0 && found.length === read.length ? found : undefined;
}

export function limitedBecause(breach: LimitBreach, accountId: string): Declined {
  const { limit, value } = breach;
  const code =
    limit === 'required' ? 'LIMITS_REQUIRED' : value === undefined ? 'LIMIT_NOT_EVALUATED' : 'LIMIT_EXCEEDED';
  return { ...declined(code, describeBreach(breach, accountId)), breach };
}

export const callerRefReused = declined(
  'CALLER_REF_REUSED',
  'the reference is that of another command of yours: GET /v1/commands?callerRef= finds it',
);
export const notSuperseded = declined(
  'SUPERSEDED_NOT_ABSENT',
  'the command to be superseded is not presumed absent, or was superseded already',
);
