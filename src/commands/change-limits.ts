import { isDeepStrictEqual } from 'node:util';
import { type Bounds, type BoundsChange, changedBounds, type LimitRow, type LimitScope, loosens } from '../domain/limits.ts';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import type { CommandJournal } from './command-journal.ts';
import type { LimitsResult, OperatorWord, Requested } from './commands.ts';

export interface ChangeLimitsDeps {
  readonly journal: Pick<CommandJournal, 'limits' | 'changeLimits'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** People who change the same row at the same moment. */
const mostTries = 5;

/** Every row of limits as it is now. Never rejects. */
export async function readLimits({ journal, log }: Pick<ChangeLimitsDeps, 'journal' | 'log'>): Promise<LimitsResult> {
  return journal.limits().then(
    (limits): LimitsResult => ({ kind: 'done', limits }),
    (err: unknown) => {
      log.warn({ err }, 'the limits could not be read');
      return unreachable;
    },
  );
}

/**
 * Changes the bounds of one scope that `change` names and leaves the others. In force for each command that is journaled once this has answered, in every process: none keeps a
 * copy. `secondOf` is asked where the change lets more through: its answer, if any, is that of the call, and nothing is changed. Never rejects.
 */
export async function changeLimits(
  { journal, clock, log }: ChangeLimitsDeps,
  scope: LimitScope,
  change: BoundsChange,
  word: OperatorWord,
  secondOf: () => Promise<Requested | Extract<LimitsResult, { kind: 'declined' }> | undefined>,
): Promise<LimitsResult | Requested> {
  try {
    for (let left = mostTries; left > 0; left -= 1) {
      const rows = await journal.limits();
      const before = boundsOf(rows, scope);
      const bounds = changedBounds(before, change);
      if (isDeepStrictEqual(before, bounds)) return { kind: 'done', limits: rows };
      const waits = loosens(before, bounds) ? await secondOf() : undefined;
      if (waits !== undefined) return waits;
      const { ofSomeAccounts: _of, ...said } = word;
      if (await journal.changeLimits({ ...scope, before, bounds, ...said, atMs: clock.nowMs() })) {
        log.warn({ ...scope, before, bounds, by: word.by, reason: word.reason }, 'limits were changed');
        return { kind: 'done', limits: await journal.limits() };
      }
    }
  } catch (err) {
    log.warn({ err, ...scope }, 'limits could not be changed');
  }
  return unreachable;
}

function boundsOf(rows: readonly LimitRow[], { principal, accountId }: LimitScope): Bounds {
  return rows.find((row) => row.principal === principal && row.accountId === accountId)?.bounds ?? {};
}

const unreachable = {
  kind: 'declined',
  code: 'STORE_UNAVAILABLE',
  message: 'the database could not be reached; ask for the limits to learn whether they were changed',
} as const;
