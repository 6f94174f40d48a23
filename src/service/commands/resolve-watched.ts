import type { Command } from '../../domain/command.ts';
import { resolveCommand } from '../../domain/resolve-command.ts';
import type { Finding } from '../../domain/resolving.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import { decideFinding } from './decide-step.ts';
import { catchUp } from './follow-orders.ts';
import { untilAnswered } from './until-answered.ts';
import type { Watched } from './watched.ts';

interface ResolveWatchedDeps extends CommandParts {
  /** A replace's order has ended: the caller has to look whether another order took its place. */
  readonly onLookForSuccessor: (entry: Watched, reference: string | undefined) => void;
  /**
   * A second order carries a place's reference: the caller reads the first, which may have been
   * replaced by it, and has the place judged again.
   */
  readonly onSecondOrder: (entry: Watched) => void;
}

interface Run {
  again: boolean;
  readonly done: Promise<void>;
}

/**
 * Judges watched commands by all updates through ingest, one judgement at a time for each command.
 *
 * Invariant: once `resolve` resolves, everything from before the call is judged, or the entry's
 * term is over. Nothing is concluded from memory with a gap: an entry `behind` is first caught up
 * from the journal, and the read is tried until it works.
 */
export class ResolveWatched {
  private readonly runs = new Map<Watched, Run>();
  private readonly deps: ResolveWatchedDeps;
  private readonly options: CommandOptions;

  constructor(deps: ResolveWatchedDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Never rejects. */
  resolve(entry: Watched): Promise<void> {
    const running = this.runs.get(entry);
    if (running !== undefined) {
      running.again = true;
      return running.done;
    }
    const run: Run = { again: true, done: Promise.resolve().then(() => this.work(entry, run)) };
    this.runs.set(entry, run);
    return run.done;
  }

  private async work(entry: Watched, run: Run): Promise<void> {
    const { journal, book, log } = this.deps;
    const { over } = entry.term;
    const { commandId } = entry.command;
    const onFailure = (err: unknown) => log.warn({ err, commandId }, 'a command could not be judged; trying again');
    const judge = async () => {
      run.again = false;
      if (entry.behind) await catchUp(journal, book, [entry]);
      await this.conclude(entry, run);
    };
    while ((run.again || entry.behind) && !over.aborted)
      await untilAnswered(this.deps, judge, { ...this.options, over, onFailure });
    this.runs.delete(entry);
  }

  private async conclude(entry: Watched, run: Run): Promise<void> {
    const { steps, clock } = this.deps;
    let finding: Finding = { kind: 'nothing' };
    const decide = (command: Command) => {
      finding = findingOf(entry, command);
      return decideFinding(command, finding, clock.nowMs());
    };
    const result = await steps.commit(entry.command, decide, entry.term);
    // The step may allow more: an answered command may conclude more than an open one, and one seen
    // pending more than another.
    if (result.kind === 'stepped') run.again = true;
    if (result.kind === 'nothing') this.logFinding(entry, finding);
  }

  private logFinding(entry: Watched, finding: Finding): void {
    if (finding.kind === 'look_for_successor') this.deps.onLookForSuccessor(entry, finding.reference);
    if (finding.kind !== 'flagged' && finding.kind !== 'second_order' && finding.kind !== 'successor') return;
    const { journal, log, clock } = this.deps;
    const { commandId, request } = entry.command;
    const { code } = finding.evidence;
    const orderId = finding.kind === 'flagged' ? entry.command.orderId : finding.orderId;
    const about = `${code} ${orderId}`;
    if (entry.warnings.has(about)) return;
    if (finding.kind === 'second_order' && !entry.warnings.has(`looked ${orderId}`)) {
      entry.warnings.add(`looked ${orderId}`);
      this.deps.onSecondOrder(entry);
      return;
    }
    entry.warnings.add(about);
    const fields = { commandId, accountId: request.accountId, orderId, code };
    if (finding.kind === 'successor')
      log.info(fields, 'another program amended the order of a command: this one took its place');
    else log.error(fields, 'a person has to look at this command');
    journal.addEvidence(commandId, [{ ...finding.evidence, atMs: clock.nowMs() }]).catch((err: unknown) => {
      log.warn({ err, commandId, code }, 'a fact about a command could not be recorded');
    });
  }
}

/** The finding from all we know about the entry by now. */
export function findingOf({ updates, bound, successor, rivals, stillEnded }: Watched, command: Command): Finding {
  const known = { command, updates, bound, rivals: rivals.size > 0, stillEnded };
  return resolveCommand({ ...known, ...(successor !== undefined && { successor }) });
}
