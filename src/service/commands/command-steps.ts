import { awaitsVenue, type Command, isDoubtful, isFinal } from '../../domain/command.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Act } from '../../runtime/lease.ts';
import type { CommandJournal, CommandStep } from '../../store/commands/command-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandOptions } from './command-options.ts';
import type { Decide, Decision } from './decide-step.ts';
import type { Halts } from './halts.ts';
import { Turns } from './turns.ts';
import { untilAnswered } from './until-answered.ts';

interface CommandStepsDeps extends Ambient {
  readonly journal: CommandJournal;
  readonly book: CommandBook;
  readonly halts: Pick<Halts, 'adopt'>;
  readonly metrics: Metrics['commands'];
  readonly onStep: (made: MadeStep) => void;
  /**
   * Begins a generation if the database lacks this step, after it had acknowledged it. Rejects when
   * it can't be asked. Left out: nothing begins.
   */
  readonly noticeLost?: (act: Act) => Promise<void>;
}

/** A step that is committed. */
export interface MadeStep {
  readonly before: Command;
  readonly after: Command;
  readonly decision: Decision;
  /** Monotonic time at which it was given to the journal. */
  readonly startedMs: number;
}

type CommitResult =
  | { readonly kind: 'stepped'; readonly command: Command; readonly decision: Decision }
  /**
   * Nothing was left to decide on its newest version. `notWaiting`: or the approval that it was
   * decided under does not wait any more.
   */
  | { readonly kind: 'nothing'; readonly command: Command; readonly notWaiting?: true }
  /**
   * The term is over, through a later holder or our own end: the
   * unresolved commands are the next holder's.
   */
  | { readonly kind: 'over' };

/**
 * Each time the journal says another writer stepped first, one step has been made: more than this
 * many in a row is a bug of ours.
 */
const maxTries = 50;

/**
 * The only way to change a command: decide on the newest version known, write by compare-and-set,
 * and decide again if another step came first.
 *
 * Invariant: a change counts only once the journal has committed it, and a step's halts are of the
 * same commit.
 */
export class CommandSteps {
  private readonly turns = new Turns();
  private readonly deps: CommandStepsDeps;
  private readonly options: CommandOptions;

  constructor(deps: CommandStepsDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * Rejects when the journal can't be reached, or its commit's result is not known. Asking again
   * is safe, since a written step is then found.
   */
  async commit(command: Command, decide: Decide, term: Term): Promise<CommitResult> {
    // One at a time for each command: otherwise an answer and an update coming together would
    // decide on the same version, and one write would fail.
    using _turn = await this.turns.take(command.commandId);
    return await this.steps(command, decide, term);
  }

  /** The same, repeated with backoff until it is written or the term is over. Never rejects. */
  async commitUntilOver(command: Command, decide: Decide, term: Term): Promise<CommitResult> {
    const { commandId } = command;
    const onFailure = (err: unknown) =>
      this.deps.log.warn({ err, commandId }, 'a step of a command could not be written; trying again');
    const asking = { ...this.options, over: term.over, onFailure };
    return (await untilAnswered(this.deps, () => this.commit(command, decide, term), asking)) ?? { kind: 'over' };
  }

  private async steps(command: Command, decide: Decide, term: Term): Promise<CommitResult> {
    const { journal, book, halts, noticeLost } = this.deps;
    const known = book.get(command.commandId)?.command;
    let newest = known !== undefined && known.version > command.version ? known : command;
    for (let tries = 0; tries < maxTries; tries += 1) {
      if (term.over.aborted) return { kind: 'over' };
      const decision = decide(newest);
      if (decision === undefined) return { kind: 'nothing', command: newest };
      const { commandId, version } = newest;
      const startedMs = this.deps.clock.monotonicMs();
      const mayWait = this.isUnawaited(newest, decision);
      const step = { ...decision.step, commandId, version, mayWait, ...this.haltsOf(newest, decision) };
      const result = await journal.step(step, term.fence);
      if (result.kind === 'fenced') return { kind: 'over' };
      if (result.kind === 'not_waiting') return { kind: 'nothing', command: newest, notWaiting: true };
      if (result.kind === 'stepped') {
        this.reportStep(newest, result.command, decision);
        book.adopt(result.command);
        if (result.halts !== undefined) halts.adopt(result.halts);
        this.deps.onStep({ before: newest, after: result.command, decision, startedMs });
        return { kind: 'stepped', command: result.command, decision };
      }
      // The version we know was acknowledged, so it is lost. The next step would be given its
      // number again, with other content, and result consumers would pass over it.
      if (result.command.version < version) await noticeLost?.(['step', commandId, version, newest.updatedAtMs]);
      newest = result.command;
      book.adopt(newest);
    }
    throw new Error(`the steps of command ${command.commandId} do not come to an end`);
  }

  /**
   * For the next step of a place that was answered as accepted. Not of a replace: it makes room for
   * the order's next one.
   */
  private isUnawaited({ commandId, state, request }: Command, { step, evidence }: Decision): boolean {
    const isFollowed = request.kind === 'place' && state === 'accepted' && !isDoubtful(step.to);
    const isSeen = evidence !== 'person' && evidence !== 'answer';
    return isFollowed && isSeen && !this.deps.book.isAwaited(commandId);
  }

  private haltsOf(
    { commandId, presumedAbsent, state }: Command,
    { step, lateLanding }: Decision,
  ): Pick<CommandStep, 'haltAt' | 'lateLanding'> {
    const was = presumedAbsent ? 'presumed absent' : state;
    return {
      ...(isDoubtful(step.to) && { haltAt: this.options.haltAt }),
      ...(lateLanding && { lateLanding: `an order of command ${commandId} appeared after it was ${was}` }),
    };
  }

  private reportStep(before: Command, after: Command, decision: Decision): void {
    const { metrics, log, clock, book } = this.deps;
    const { kind, accountId } = after.request;
    const { commandId, state: result } = after;
    if (decision.lateLanding) {
      metrics.lateLandings.inc({ kind });
      log.error({ commandId, accountId, orderId: after.orderId, was: before.state }, 'an order landed late');
    }
    if (decision.alarm !== undefined) log.error({ commandId, accountId, orderId: after.orderId }, decision.alarm);
    if (before.state === 'open') return;
    const resolves = before.state !== after.state && (isFinal(result) || result === 'conflict');
    const sentAtMs = book.get(commandId)?.sentAtMs;
    // The doubt ends when the order appears; the time that its venue then takes does not count.
    if (sentAtMs !== undefined && !awaitsVenue(before) && (resolves || awaitsVenue(after)))
      metrics.resolveSeconds.observe((clock.monotonicMs() - sentAtMs) / 1000);
    if (!resolves) return;
    metrics.resolutions.inc({ kind, result, evidence: decision.evidence });
    log.info(
      { commandId, accountId, orderId: after.orderId, result, was: before.state, by: decision.evidence },
      'a command is resolved',
    );
  }
}
