import type { Command } from './command.ts';
import { parseVersion } from './version.ts';

/**
 * Where an accepted replace or cancel counts as seen pending: at the version of the platform's 202 (docs/settling.md, "Outcome of a write"). The stream may have told
 * a later version before the reply came; without this, that one would show old terms that were never seen pending, and prove nothing.
 *
 * Undefined where the reply names no version, and where it names none above the baseline: then it was given under another source epoch, and can't be compared.
 * `answer`: what is kept of the reply as evidence; int64 as text.
 */
export function pendingByAnswer(
  { request, baseline }: Pick<Command, 'request' | 'baseline'>,
  answer: Readonly<Record<string, unknown>>,
): Command['seenPendingAt'] {
  if (request.kind === 'place' || request.stream !== 'prediction' || baseline === undefined) return undefined;
  const { version } = answer;
  const sourceVersion = typeof version === 'string' ? parseVersion(version) : undefined;
  if (sourceVersion === undefined || (baseline.sourceVersion !== undefined && sourceVersion <= baseline.sourceVersion))
    return undefined;
  return { revision: baseline.revision, sourceVersion };
}
