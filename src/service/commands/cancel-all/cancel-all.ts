import { createHash } from 'node:crypto';
import { present } from '../../../domain/present.ts';
import { Backoff } from '../../../runtime/backoff.ts';
import type { CancelAllSelection, NewCancelAll } from '../../../store/commands/cancel-all-journal.ts';
import type { Term } from '../../../store/commands/term.ts';
import { type Answer, anotherLeads, declined } from '../answer.ts';
import type { CommandOptions } from '../command-options.ts';
import type { CommandParts, SendingTerm } from '../command-parts.ts';
import type { CancelAll, CancelAllScope, CancelAllWord } from '../commands.ts';
import { untilAnswered } from '../until-answered.ts';
import { CancelAllRun, type CancelAllRunDeps } from './cancel-all-run.ts';
import { type ListDeps, listCancelAll } from './list-cancel-all.ts';

interface CancelAllsDeps extends CommandParts, ListDeps {
  readonly submit: CancelAllRunDeps['submit'];
  /** The term to send under, or why nothing may be sent. */
  readonly maySend: (shard: number) => Answer<SendingTerm>;
}

/**
 * Cancels every open order in a shard's account, or in the named accounts, or the selected ones
 * among them, with one command for each.
 *
 * States: written down → in force (carried out by the shard's present holder) → ended, once each
 * order has its cancel and each place is resolved. Invariant: a key covers the orders open, and the
 * places unresolved, when it was first seen. They are in the journal before the first cancel. The
 * same key again cancels nothing else, however late it comes. The answer names every order in the
 * scope known to be open, perhaps.
 */
export class CancelAlls {
  private readonly runs = new Map<string, { readonly run: CancelAllRun; readonly shard: number }>();
  private readonly deps: CancelAllsDeps;
  private readonly options: CommandOptions;

  constructor(deps: CancelAllsDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Carries out the cancel-alls that are in force in the journal, in the background. */
  begin(term: Term): void {
    void this.takeUp(term);
  }

  /** The shard's term is over: the next holder takes up the rest. */
  end(shard: number): void {
    for (const [id, { run, shard: of }] of this.runs) if (of === shard && this.runs.delete(id)) run.stop();
  }

  /** Never rejects. Declined as a whole means this call sent nothing. */
  async run(shard: number, scope: CancelAllScope, word: CancelAllWord): Promise<Answer<CancelAll>> {
    const { journal, log, maySend } = this.deps;
    const { by, requestId, idempotencyKey } = word;
    try {
      const known = await journal.findCancelAll(shard, by, idempotencyKey);
      if (known !== undefined && known.requestHash !== hashOf(scope, word)) return keyReused;
      const under = maySend(shard);
      // The result of a known one is in the journal, so a process
      // that may send nothing can report it too.
      if ('code' in under) return known === undefined ? under : this.awaitReport(known, true);
      const opened = known === undefined ? await this.open(scope, word, under.term) : { record: known, replayed: true };
      return 'code' in opened ? opened : this.awaitReport(opened.record, opened.replayed, under.term);
    } catch (err) {
      log.warn({ err, requestId }, 'a cancel-all could not be written down, or the answer was lost');
      const message =
        'the database could not be reached: nothing was sent so far, it is tried again, and the same key tells what became of it';
      return declined('STORE_UNAVAILABLE', message, 1_000);
    }
  }

  /** Waits for the first answer of each order, or for as long as a caller should wait. */
  private async awaitReport(record: NewCancelAll, replayed: boolean, term?: Term): Promise<Answer<CancelAll>> {
    const run = this.carryOut(record, term);
    const waited = new AbortController();
    await Promise.race([run.answered, this.deps.clock.sleep(this.options.cancelAllAnswerMs, waited.signal)]);
    waited.abort();
    await run.refresh();
    return run.report(replayed);
  }

  private async open(
    scope: CancelAllScope,
    word: CancelAllWord,
    term: Term,
  ): Promise<Answer<{ readonly record: NewCancelAll; readonly replayed: boolean }>> {
    const { journal, random, clock, record: note } = this.deps;
    const { by: principal, reason, requestId, idempotencyKey, onLanding = 'cancel' } = word;
    const list = await listCancelAll(this.deps, scope, { ...this.options, over: term.over });
    if ('code' in list) return list;
    const wanted: NewCancelAll = {
      cancelAllId: random.uuid(),
      ...{ principal, idempotencyKey, requestHash: hashOf(scope, word), reason, onLanding },
      selection: selectionOf(scope),
      ...list,
      atMs: clock.nowMs(),
    };
    const result = await journal.openCancelAll(wanted, term.fence).catch((error: unknown) => {
      void this.openLater(wanted, term);
      throw error;
    });
    if (result.kind === 'fenced') return anotherLeads;
    if (result.kind === 'key_reused') return keyReused;
    const { cancelAll: record } = result;
    const replayed = result.kind === 'replayed';
    if (!replayed) {
      const { accountId, ...only } = record.selection;
      const { orders, places, unread } = record;
      const detail = { ...only, orders: orders.length, places: places.length, unread: unread.length };
      note(present({ principal, action: 'cancel_all', requestId, reason, detail, accountId }));
    }
    return { record, replayed };
  }

  /**
   * Whether the cancel-all was written down is not known, and may be decided later than any read.
   * So the same key is written again until the journal answers: then it is carried out in this
   * term, and a caller repeating the key finds it.
   */
  private async openLater(wanted: NewCancelAll, term: Term): Promise<void> {
    const { journal, clock, random } = this.deps;
    const { over, fence } = term;
    await clock.sleep(new Backoff(random, this.options.journalBackoff).nextMs(), over);
    if (over.aborted) return;
    const ask = () => journal.openCancelAll(wanted, fence);
    const result = await untilAnswered(this.deps, ask, { ...this.options, over });
    if (result !== undefined && 'cancelAll' in result) this.carryOut(result.cancelAll, term);
  }

  private carryOut(record: NewCancelAll, term: Term | undefined): CancelAllRun {
    const { cancelAllId } = record;
    const known = this.runs.get(cancelAllId);
    if (known !== undefined) return known.run;
    const run = new CancelAllRun(this.deps, record, term, this.options);
    if (term !== undefined && !term.over.aborted) this.runs.set(cancelAllId, { run, shard: term.fence.shard });
    void run.carryOut().then(() => this.runs.get(cancelAllId)?.run === run && this.runs.delete(cancelAllId));
    return run;
  }

  private async takeUp(term: Term): Promise<void> {
    const { journal, log } = this.deps;
    const records = await untilAnswered(this.deps, () => journal.cancelAllsInForce(term.fence.shard), {
      ...{ ...this.options, over: term.over },
      onFailure: (err) => log.warn({ err }, 'the cancel-alls in force could not be read; trying again'),
    });
    if (records === undefined || term.over.aborted) return;
    if (records.length > 0) log.warn({ cancelAlls: records.length }, 'cancel-alls are in force');
    for (const record of records) this.carryOut(record, term);
  }
}

const keyReused = declined('IDEMPOTENCY_KEY_REUSED', 'the key belongs to another cancel-all');

/** Its fields in a fixed order, because they are part of the hash. */
function selectionOf(scope: CancelAllScope): CancelAllSelection {
  const { symbol, side, principal, reference } = scope.only ?? {};
  return {
    ...(scope.kind === 'account' && { accountId: scope.accountId }),
    ...present({ symbol, side, principal, reference }),
  };
}

function hashOf(scope: CancelAllScope, { reason, onLanding = 'cancel' }: CancelAllWord): string {
  return createHash('sha256')
    .update(JSON.stringify([selectionOf(scope), onLanding, reason]))
    .digest('hex');
}
