import type { Pool } from 'pg';
import type { Ambient } from '../../observability/ambient.ts';
import { plural } from '../../runtime/plural.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { abortAfter } from '../../runtime/waiting.ts';
import { markDealt } from '../../store/quarantine/quarantine.ts';
import { answerRepair, openRepairs, type RepairAnswer, type RepairRequest } from '../../store/repair-requests.ts';
import type { AccountAccess } from '../sources/account-access.ts';
import type { EntryAccounts } from './platform-parts.ts';
import type { QuarantineJobRound } from './quarantine-job-round.ts';
import { readOrderAgain } from './read-again.ts';

interface RepairWorkerDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly pool: Pool;
  /** Empty while the lane is not held: then no request is taken. */
  readonly accounts: Pick<EntryAccounts, 'account'>;
  readonly jobs: Pick<QuarantineJobRound, 'run'>;
}

interface RepairWorkerOptions {
  readonly lookEveryMs: number;
  /** For one request; an account of a million orders is read whole in some minutes. */
  readonly deadlineMs: number;
}

const repairWorkerDefaults: RepairWorkerOptions = { lookEveryMs: 2_000, deadlineMs: 30 * 60_000 };

/** A repair is not urgent, and must not crowd out audits. */
const accountsAtOnce = 8;
/** A request comes before the rows of jobs, unless it takes longer. */
const beforeJobsMs = 2_000;

/**
 * Carries out the requests in `repair_requests` for this process's accounts. Other processes carry
 * out theirs. Beside them, the rows of jobs: each round takes a bounded part.
 *
 * One at a time for each account and stream, so a hanging read delays only its own account, for
 * half an hour at most. If its process dies, a request stays open and is done again; reading an
 * order twice is harmless.
 */
export class RepairWorker implements Service {
  readonly name = 'repairs';
  private readonly over = new AbortController();
  private running: Promise<void> = Promise.resolve();
  /** By stream and account. */
  private readonly atWork = new Map<string, Promise<void>>();
  private failing = false;
  private readonly deps: RepairWorkerDeps;
  private readonly options: RepairWorkerOptions;

  constructor(deps: RepairWorkerDeps, options: RepairWorkerOptions = repairWorkerDefaults) {
    this.deps = deps;
    this.options = options;
  }

  async start(): Promise<void> {
    this.running = this.run();
  }

  async drain(): Promise<void> {
    this.over.abort();
    await this.running;
    await Promise.all(this.atWork.values());
  }

  private async run(): Promise<void> {
    const { clock, log } = this.deps;
    while (!this.over.signal.aborted) {
      try {
        await this.round();
        await this.deps.jobs.run(this.over.signal);
        this.failing = false;
      } catch (error) {
        if (!this.failing) log.warn({ err: error }, 'requests for repair could not be read; it is tried again');
        this.failing = true;
      }
      await clock.sleep(this.options.lookEveryMs, this.over.signal);
    }
  }

  /**
   * Begins each account's oldest request if none is at work, and gives them some time before the
   * jobs.
   */
  private async round(): Promise<void> {
    const { pool, accounts, clock } = this.deps;
    const begun: Promise<void>[] = [];
    for (const request of await openRepairs(pool)) {
      // A drain ends the requests at work, and so makes room for the next: none begins behind it.
      if (this.over.signal.aborted) return;
      const key = `${request.stream}:${request.accountId}`;
      const account = accounts.account(request.stream, request.accountId);
      if (account === undefined || this.atWork.has(key) || this.atWork.size >= accountsAtOnce) continue;
      const done = this.answer(request, account).finally(() => this.atWork.delete(key));
      this.atWork.set(key, done);
      begun.push(done);
    }
    const answered = new AbortController();
    const all = Promise.all(begun).finally(() => answered.abort());
    await Promise.race([all, clock.sleep(beforeJobsMs, answered.signal, this.over.signal)]);
  }

  /** Never rejects: without an answer, or without its write, a request stays open. */
  private async answer(request: RepairRequest, account: AccountAccess): Promise<void> {
    const { pool, log } = this.deps;
    const { kind, stream, accountId, id } = request;
    const told = { kind, stream, accountId, request: id.toString() };
    try {
      const answer = await this.within((signal) => this.work(request, account, signal));
      // Drained in the middle: it stays open for the next holder.
      if (this.over.signal.aborted) return;
      await answerRepair(pool, id, answer);
      log.info({ ...told, ...answer }, 'a request for repair was answered');
    } catch (err) {
      log.warn({ ...told, err }, 'a request for repair could not be answered; it is done again');
    }
  }

  private async work(
    { kind, quarantined, stream, sinceMs }: RepairRequest,
    account: AccountAccess,
    signal: AbortSignal,
  ): Promise<RepairAnswer> {
    if (kind !== 'retry') {
      const look = await account.lookAtAll(kind === 'read' ? undefined : { atMs: sinceMs ?? 0 }, signal);
      if (!look.complete) return { outcome: 'failed', detail: look.error.message };
      return { outcome: 'done', detail: `${plural(look.shown.length, 'order')} read` };
    }
    if (quarantined === undefined) return { outcome: 'failed', detail: 'it has been dealt with already' };
    const { id, orderId } = quarantined;
    const { pool } = this.deps;
    const answer = await readOrderAgain(pool, account, { stream, orderId }, signal);
    if (answer.outcome === 'done') await markDealt(pool, id);
    return answer;
  }

  private async within(work: (signal: AbortSignal) => Promise<RepairAnswer>): Promise<RepairAnswer> {
    using within = abortAfter(this.deps.clock, this.options.deadlineMs, 'reading the order', this.over.signal);
    return await work(within.signal);
  }
}
