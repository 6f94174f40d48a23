import { settleCancel } from './settle-cancel.ts';
import { settlePlace } from './settle-place.ts';
import { settleReplace } from './settle-replace.ts';
import type { Finding, Settling } from './settling.ts';

/**
 * What the updates say of a command (docs/settling.md, "Settling unknown"): the same rules for unknown and for accepted ones, for those in flight, and for those
 * that are over (late landings). Pure: equal sets of updates give equal findings, in whatever order and however often they came. Ask again after each step:
 * what an open command may not conclude, an answered one may.
 */
export function settleCommand(settling: Settling): Finding {
  const { kind } = settling.command.request;
  if (kind === 'place') return settlePlace(settling);
  return kind === 'replace' ? settleReplace(settling) : settleCancel(settling);
}
