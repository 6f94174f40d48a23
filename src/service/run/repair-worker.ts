import type { Pool } from 'pg';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { plural } from '../../runtime/plural.ts';
import { Rounds } from '../../runtime/rounds.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { abortAfter } from '../../runtime/waiting.ts';
import { endJobs } from '../../store/dead-letters/dead-letter-jobs.ts';
import { deadLetteredAgain, newestDeadLetter } from '../../store/dead-letters/dead-letters.ts';
import { answerRepairs, openRepairs, type RepairAnswer, type RepairRequest } from '../../store/repair-requests.ts';
import type { AccountAccess } from '../sources/account-access.ts';
import type { EntryAccounts } from './platform-parts.ts';

interface RepairWorkerDeps extends ClockAndLogger {
  readonly pool: Pool;
  /** Empty while the lane is not held: then no request is taken. */
  readonly accounts: Pick<EntryAccounts, 'account'>;
  /** States of the account's orders in memory are not used any more. */
  readonly forgetOrders: (accountId: string) => void;
  readonly metrics: Pick<Metrics['ingest'], 'deadLetterJobRows'>;
  /** A look has just shown that nothing is asked for. Left out: not known. */
  readonly isIdle?: () => boolean;
}

const repairWorkerDefaults = {
  lookEveryMs: 2_000,
  /** For one request; an account of a million orders is read whole in some minutes. */
  deadlineMs: 30 * 60_000,
  /** For an order of a job; an account may wait for its connection. */
  orderWithinMs: 60_000,
  /**
   * The most orders that jobs have read in one round: with a round every 2 s some ten a second, so
   * that the platform's budget is left to audits.
   */
  ordersARound: 20,
};

export type RepairWorkerOptions = Readonly<typeof repairWorkerDefaults>;

/** A repair is not urgent, and must not crowd out audits. */
const accountsAtOnce = 8;

/**
 * Carries out the requests in `repair_requests` for this process's accounts; other processes carry
 * out theirs. An account's turn is its oldest request, or its part of the round's orders of jobs.
 *
 * One turn at a time for each account and stream, so a hanging read delays only its own account,
 * for half an hour at most. All state is in the database: if its process dies, a request stays open
 * and is done again. Reading an order twice is harmless.
 */
export class RepairWorker implements Service {
  readonly name = 'repairs';
  private readonly over = new AbortController();
  private readonly rounds: Rounds;
  /** By stream and account. */
  private readonly atWork = new Map<string, Promise<void>>();
  private readonly deps: RepairWorkerDeps;
  private readonly options: RepairWorkerOptions;

  constructor(deps: RepairWorkerDeps, options: Partial<RepairWorkerOptions> = {}) {
    this.deps = deps;
    this.options = { ...repairWorkerDefaults, ...options };
    this.rounds = new Rounds(
      { ...deps, round: () => this.round() },
      { name: this.name, everyMs: this.options.lookEveryMs, doing: 'reading the requests for repair' },
    );
  }

  start(): Promise<void> {
    return this.rounds.start();
  }

  async drain(): Promise<void> {
    this.over.abort();
    await this.rounds.drain();
    await Promise.all(this.atWork.values());
  }

  private async round(): Promise<void> {
    const { pool, log, isIdle } = this.deps;
    if (isIdle?.() === true) return;
    for (const ended of await endJobs(pool)) log.info({ ...ended }, 'a job over dead letters has ended');
    // Before the read: a turn may end during it, and the read still shows its requests.
    const atWork = new Set(this.atWork.keys());
    const followed = (await openRepairs(pool)).filter((request) => this.accountOf(request) !== undefined);
    const byAccount = Map.groupBy(followed, ({ stream, accountId }) => `${stream}:${accountId}`);
    const part = Math.ceil(this.options.ordersARound / byAccount.size);
    for (const [key, requests] of byAccount) {
      // A drain ends the requests at work, and so makes room for the next: none begins behind it.
      if (this.over.signal.aborted || this.atWork.size >= accountsAtOnce) return;
      if (atWork.has(key)) continue;
      const turn = requests.slice(0, requests[0]?.alone ? 1 : part);
      this.atWork.set(
        key,
        this.take(turn).finally(() => this.atWork.delete(key)),
      );
    }
  }

  /** Never rejects: without an answer, or without its write, a request stays open. */
  private async take(turn: readonly RepairRequest[]): Promise<void> {
    const { pool, log, metrics } = this.deps;
    for (const request of turn) {
      const { kind, stream, accountId, ids, alone } = request;
      const said = { kind, stream, accountId, requests: ids };
      try {
        const account = this.accountOf(request);
        if (account === undefined) return;
        using within = abortAfter(
          this.deps.clock,
          alone ? this.options.deadlineMs : this.options.orderWithinMs,
          'reading the order',
          this.over.signal,
        );
        const answer = await this.work(request, account, within.signal);
        // The process stops, or lost the account: its failure says nothing about the request, and
        // the next holder does it.
        if (this.over.signal.aborted || (answer.result === 'failed' && this.accountOf(request) !== account)) return;
        const ofJobs = await answerRepairs(pool, ids, answer);
        if (ofJobs > 0) metrics.deadLetterJobRows.inc({ result: answer.result }, ofJobs);
        if (alone) log.info({ ...said, ...answer }, 'a request for repair was answered');
        // A read that hung: the account takes no more for now.
        if (within.signal.aborted) return;
      } catch (err) {
        log.warn({ ...said, err }, 'a request for repair could not be answered; it is done again');
        return;
      }
    }
  }

  private accountOf({ stream, accountId }: RepairRequest): AccountAccess | undefined {
    return this.deps.accounts.account(stream, accountId);
  }

  private async work(
    { kind, stream, accountId, orderId, sinceMs }: RepairRequest,
    account: AccountAccess,
    signal: AbortSignal,
  ): Promise<RepairAnswer> {
    if (kind !== 'retry') {
      // A damaged state is noticed by reading it from the store, never by an order in memory.
      this.deps.forgetOrders(accountId);
      const look = await account.lookAtAll(kind === 'read' ? undefined : { atMs: sinceMs ?? 0 }, signal);
      if (!look.complete) return { result: 'failed', detail: look.error.message };
      return { result: 'done', detail: `${plural(look.shown.length, 'order')} read` };
    }
    if (orderId === undefined) return { result: 'failed', detail: 'it has been dealt with already' };
    return await readAgain(this.deps.pool, account, { stream, orderId }, signal);
  }
}

/**
 * Reads the order of a dead letter again, by the same path into ingest as every read. It never uses
 * the old bytes: they are older than the facts known by now, and may come from a store that the
 * platform has lost since. `done`: its rows may be dealt with now.
 */
async function readAgain(
  pool: Pool,
  account: AccountAccess,
  order: Pick<RepairRequest, 'stream'> & { readonly orderId: string },
  signal: AbortSignal,
): Promise<RepairAnswer> {
  const { orderId } = order;
  // An order may have many rows: only one from during the read says that it still cannot be read.
  const before = await newestDeadLetter(pool);
  const look = await account.lookAt(orderId, signal);
  if (!look.complete) return { result: 'failed', detail: look.error.message };
  if (!look.shown.includes(orderId))
    return { result: 'failed', detail: 'the platform does not show the order any more' };
  const again = await deadLetteredAgain(pool, before, order);
  if (again !== undefined) return { result: 'failed', detail: `what was read became a dead letter again, as ${again}` };
  return { result: 'done', detail: 'the order was read again and went through ingest' };
}
