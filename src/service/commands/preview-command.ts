import type { JournalPreview } from '../../store/commands/command-journal.ts';
import type { Answer, Declined } from './answer.ts';
import { objections, orderNotFound, rateUsedUp, readNamed, storeUnavailable } from './check-submission.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import type { Preview, PreviewAsked } from './commands.ts';
import {
  allQuotes,
  callerRefReused,
  judgedOf,
  limitedBecause,
  notSuperseded,
  readQuotes,
  releasedBy,
} from './judge-submission.ts';

type PreviewDeps = Pick<
  CommandParts,
  'journal' | 'accounts' | 'quotes' | 'book' | 'halts' | 'budgets' | 'clock' | 'log'
>;

/**
 * What a place or a replace would come to just now: its value, the quotes, the limits, and all
 * objections, in the order the command meets them. So the command would get the first refusal as
 * its answer, and without one it would be journaled. Takes no turn, no place token, no key and no
 * lock; writes nothing. Never rejects.
 */
export async function previewCommand(
  deps: PreviewDeps,
  options: CommandOptions,
  asked: PreviewAsked,
): Promise<Answer<Preview>> {
  const waitMs = deps.budgets.previews.take(asked.request.accountId);
  if (waitMs !== undefined) return rateUsedUp('previews', waitMs);
  const [first] = objections(deps, options, asked);
  // There is nothing to measure it against.
  if (first?.code === 'ACCOUNT_NOT_FOUND') return first;
  try {
    return await weigh(deps, options, asked);
  } catch (err) {
    deps.log.warn({ err, requestId: asked.requestId }, 'an order could not be checked against the journal');
    return storeUnavailable;
  }
}

/** Rejects when the journal can't be read. */
async function weigh(deps: PreviewDeps, options: CommandOptions, asked: PreviewAsked): Promise<Answer<Preview>> {
  const { accounts, book, budgets, clock, journal } = deps;
  const { request, supersedes } = asked;
  const { accountId } = request;
  const quotes = await readQuotes(deps.quotes, request);
  const named = request.kind === 'replace' ? await readNamed(deps, request) : undefined;
  // The account may have left meanwhile: it is described as it is when it is judged.
  const before = [...objections(deps, options, asked, named)];
  if (before[0]?.code === 'ACCOUNT_NOT_FOUND') return before[0];
  if (request.kind === 'replace' && named === undefined) return before[0] ?? orderNotFound;
  const found = allQuotes(quotes);
  const judged = judgedOf(accounts, options, asked, {
    atMs: clock.nowMs(),
    order: named?.held.order,
    released: releasedBy(book, supersedes),
    ...(found !== undefined && { quotes: found }),
  });
  if (judged.measure === undefined) throw new Error('a place or a replace has no measure');
  const said = await journal.preview(judged);
  const refusals = [...before, ...refusalsBy(said, { before, accountId, rateMs: budgets.places.waitMs(accountId) })];
  return { kind: 'done', measure: judged.measure, quotes, limits: said.limits, refusals };
}

/** By budget and journal. */
function refusalsBy(
  { callerRefReused: isReused, notSuperseded: isNot, limits }: JournalPreview,
  {
    before,
    accountId,
    rateMs,
  }: { readonly before: readonly Declined[]; readonly accountId: string; readonly rateMs: number },
): readonly Declined[] {
  return [
    ...(rateMs > 0 ? [rateUsedUp('commands', rateMs)] : []),
    ...(isReused ? [callerRefReused] : []),
    ...(isNot && before.every(({ code }) => code !== notSuperseded.code) ? [notSuperseded] : []),
    ...limits.filter(({ broken }) => broken).map(({ broken: _broken, ...breach }) => limitedBecause(breach, accountId)),
  ];
}
