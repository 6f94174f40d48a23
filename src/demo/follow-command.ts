import type { CliIo } from '../cli/io/io.ts';
import { type Fact, factLine } from './fact-text.ts';
import type { ShownRest } from './shown-rest.ts';

interface FollowOptions {
  /** Printed before each line: the command's name. */
  readonly name: string;
  readonly say: (line: string) => void;
  readonly limitMs: number;
  /** The number of facts shown before. */
  readonly known?: number;
  /** A fact's line; undefined: none. */
  readonly lineOf?: (fact: Fact) => string | undefined;
  /** Ends the waiting early. */
  readonly enough?: (state: FollowedCommand) => boolean;
  readonly signal: AbortSignal;
}

export interface FollowedCommand {
  readonly commandId: string;
  readonly result: string;
  readonly presumedAbsent: boolean;
  /** Its attempts' ids. The platform knows the order by them. */
  readonly references: readonly string[];
  /** Complete reads that did not show it. */
  readonly misses: number;
  /** Its evidence so far; all of it is shown. */
  readonly evidence: readonly Fact[];
}

const everyMs = 200;

/**
 * Shows each piece of a command's evidence as it comes, until the command is resolved or the time
 * limit is reached.
 */
export async function followCommand(
  io: Pick<CliIo, 'clock'>,
  show: ShownRest,
  commandId: string,
  options: FollowOptions,
): Promise<FollowedCommand> {
  const { name, say, limitMs, known = 0, lineOf = factLine, enough, signal } = options;
  const deadline = io.clock.monotonicMs() + limitMs;
  let shown = known;
  for (;;) {
    const { body } = await show.ask({ method: 'GET', path: `/v1/commands/${commandId}` });
    const evidence: readonly Fact[] = Array.isArray(body['evidence']) ? body['evidence'] : [];
    for (const line of evidence.slice(shown).map(lineOf)) if (line !== undefined) say(`  ${name}  ${line}`);
    shown = evidence.length;
    const state = { ...stateOf(commandId, body), evidence };
    const over =
      isResolved(state.result) || enough?.(state) === true || signal.aborted || io.clock.monotonicMs() > deadline;
    if (over) {
      say(`  ${name}  ⇒ ${state.result}${state.presumedAbsent ? ', presumed absent' : ''}`);
      return state;
    }
    await io.clock.sleep(everyMs, signal);
  }
}

export function isResolved(result: string): boolean {
  return result !== 'unknown' && result !== 'accepted' && result !== 'conflict';
}

function stateOf(commandId: string, body: Readonly<Record<string, unknown>>): Omit<FollowedCommand, 'evidence'> {
  const attempts: readonly Readonly<Record<string, unknown>>[] = Array.isArray(body['attempts'])
    ? body['attempts']
    : [];
  return {
    commandId,
    result: String(body['result']),
    presumedAbsent: body['presumedAbsent'] === true,
    references: attempts.map(({ attemptId }) => String(attemptId)),
    misses: Number(body['misses'] ?? 0),
  };
}
