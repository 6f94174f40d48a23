import { measurePlace } from '../../domain/measure-command.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { JournalPreview } from '../../store/commands/journal-preview.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import type { Answer, Declined } from './answer.ts';
import { placeObjections, rateUsedUp, storeUnavailable } from './check-submission.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandOptions } from './command-options.ts';
import type { PlaceAsked, Preview } from './commands.ts';
import type { Halts } from './halts.ts';
import { allQuotes, callerRefReused, judgedOf, limitedBecause, notSuperseded, readQuotes } from './judge-submission.ts';
import type { Quotes } from './order-entry.ts';
import type { Budgets } from './rate-budget.ts';

interface PreviewDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly journal: Pick<CommandJournal, 'preview'>;
  readonly accounts: FollowedAccounts;
  readonly quotes: Quotes;
  readonly book: CommandBook;
  readonly halts: Halts;
  readonly budgets: Budgets;
}

/**
 * What a place would come to just now: its value, the quotes, the limits, and all objections, in
 * the order a place meets them. So the place would get the first refusal as its answer, and without
 * one it would be journaled. Takes no turn, no place token, no key and no lock; writes nothing.
 * Never rejects.
 */
export async function previewPlace(
  deps: PreviewDeps,
  options: CommandOptions,
  asked: PlaceAsked,
): Promise<Answer<Preview>> {
  const { accounts, budgets, clock, log } = deps;
  const { request } = asked;
  const { accountId } = request;
  const waitMs = budgets.previews.take(accountId);
  if (waitMs !== undefined) return rateUsedUp('previews', waitMs);
  const [first] = placeObjections(deps, options, asked);
  // There is nothing to measure it against.
  if (first?.code === 'ACCOUNT_NOT_FOUND') return first;
  const quotes = await readQuotes(deps.quotes, request);
  // The account may have left meanwhile: it is described as it is when it is judged.
  const before = [...placeObjections(deps, options, asked)];
  if (before[0]?.code === 'ACCOUNT_NOT_FOUND') return before[0];
  const found = allQuotes(quotes);
  const judged = judgedOf(accounts, options, asked, {
    atMs: clock.nowMs(),
    ...(found !== undefined && { quotes: found }),
  });
  let said: JournalPreview;
  try {
    said = await deps.journal.preview(judged);
  } catch (err) {
    log.warn({ err, requestId: asked.requestId }, 'an order could not be checked against the journal');
    return storeUnavailable;
  }
  const rateMs = budgets.places.waitMs(accountId);
  const refusals: readonly Declined[] = [
    ...before,
    ...(rateMs > 0 ? [rateUsedUp('commands', rateMs)] : []),
    ...(said.callerRefReused ? [callerRefReused] : []),
    ...(said.notSuperseded && before.every(({ code }) => code !== notSuperseded.code) ? [notSuperseded] : []),
    ...said.limits
      .filter(({ broken }) => broken)
      .map(({ broken: _broken, ...breach }) => limitedBecause(breach, accountId)),
  ];
  return { kind: 'done', measure: measurePlace(request, found), quotes, limits: said.limits, refusals };
}
