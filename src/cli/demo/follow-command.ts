import type { CliIo } from '../io.ts';
import { printable } from '../printable.ts';
import type { RestTeller } from './rest-teller.ts';

export interface FollowOptions {
  /** Before each line: which command it is about. */
  readonly name: string;
  readonly say: (line: string) => void;
  readonly limitMs: number;
  /** Facts that were shown before. */
  readonly known?: number;
  /** Ends the waiting early. */
  readonly enough?: (state: FollowedCommand) => boolean;
  readonly signal: AbortSignal;
}

export interface FollowedCommand {
  readonly commandId: string;
  readonly outcome: string;
  readonly presumedAbsent: boolean;
  /** Ids of its attempts, by which the platform knows the order. */
  readonly references: readonly string[];
  /** Complete reads that did not show it. */
  readonly misses: number;
  /** Facts of its evidence so far, all of them shown. */
  readonly known: number;
}

const everyMs = 200;

/** Shows each piece of evidence of a command as it comes, until the command is settled. What never comes is not waited for beyond the limit. */
export async function followCommand(
  io: Pick<CliIo, 'clock'>,
  teller: RestTeller,
  commandId: string,
  options: FollowOptions,
): Promise<FollowedCommand> {
  const { name, say, limitMs, known = 0, enough, signal } = options;
  const deadline = io.clock.monotonicMs() + limitMs;
  let shown = known;
  for (;;) {
    const { body } = await teller.ask({ method: 'GET', path: `/v1/commands/${commandId}` });
    const evidence: readonly Readonly<Record<string, unknown>>[] = Array.isArray(body['evidence']) ? body['evidence'] : [];
    for (const fact of evidence.slice(shown)) say(`  ${name}  ${factLine(fact)}`);
    shown = evidence.length;
    const state = { ...stateOf(commandId, body), known: shown };
    const over = settled(state.outcome) || enough?.(state) === true || signal.aborted || io.clock.monotonicMs() > deadline;
    if (over) {
      say(`  ${name}  ⇒ ${state.outcome}${state.presumedAbsent ? ', presumed absent' : ''}`);
      return state;
    }
    await io.clock.sleep(everyMs, signal);
  }
}

export function settled(outcome: string): boolean {
  return outcome !== 'unknown' && outcome !== 'accepted' && outcome !== 'conflict';
}

function stateOf(commandId: string, body: Readonly<Record<string, unknown>>): Omit<FollowedCommand, 'known'> {
  const attempts: readonly Readonly<Record<string, unknown>>[] = Array.isArray(body['attempts']) ? body['attempts'] : [];
  return {
    commandId,
    outcome: String(body['outcome']),
    presumedAbsent: body['presumedAbsent'] === true,
    references: attempts.map(({ attemptId }) => String(attemptId)),
    misses: Number(body['misses'] ?? 0),
  };
}

function factLine({ at, kind, code, detail }: Readonly<Record<string, unknown>>): string {
  const facts = typeof detail === 'object' && detail !== null ? Object.entries(detail) : [];
  const told = facts
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
  return printable(`${String(at).slice(11, 23)}  ${String(kind)} ${String(code)}${told === '' ? '' : `: ${told}`}`).slice(0, 200);
}
