import type { Pool } from 'pg';
import type { Stream } from '../../domain/order.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Lease } from '../../runtime/lease.ts';
import { abortAfter, inParallel } from '../../runtime/waiting.ts';
import {
  accountsOfJobs,
  answerJobRows,
  answerRowsThatAreGone,
  discardJobRows,
  endJobs,
  hasOpenJobs,
  type OrderOfJobs,
  ordersOfJobs,
} from '../../store/quarantine/quarantine-job-rows.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import { readOrderAgain } from './read-again.ts';

interface QuarantineJobRoundDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly pool: Pool;
  /** Empty while the lane is not held. */
  readonly accounts: Pick<FollowedAccounts, 'account'>;
  readonly lease: Pick<Lease, 'mayAct'>;
  readonly metrics: Pick<Metrics['ingest'], 'quarantineJobRows'>;
}

interface QuarantineJobRoundOptions {
  /** The most orders one round reads again for all jobs, one after the other. */
  readonly ordersARound: number;
  /** Rows one round discards. */
  readonly discardsARound: number;
  /** For one order; an account may wait for its connection. */
  readonly readWithinMs: number;
}

/**
 * With a round every 2 s: at most ten orders a second, so that the platform's budget is left to
 * audits, and a full quarantine discarded in under two minutes.
 */
const pace = { ordersARound: 20, discardsARound: 500, readWithinMs: 60_000 };

/**
 * Carries out rows of jobs over the quarantine, a bounded part in each round: reads orders again if
 * this process follows their accounts, and discards rows for any account. All state is in the
 * database, so another process goes on at the same point.
 */
export class QuarantineJobRound {
  private readonly deps: QuarantineJobRoundDeps;
  private readonly options: QuarantineJobRoundOptions;

  constructor(deps: QuarantineJobRoundDeps, options: Partial<QuarantineJobRoundOptions> = {}) {
    this.deps = deps;
    this.options = { ...pace, ...options };
  }

  /** Resolves early when `signal` aborts. Rejects when the database can't be reached. */
  async run(signal: AbortSignal): Promise<void> {
    const { pool, lease, log } = this.deps;
    if (!lease.mayAct() || !(await hasOpenJobs(pool))) return;
    const { discardsARound } = this.options;
    for (const { kind, rows } of await answerRowsThatAreGone(pool)) this.count(kind, 'failed', rows);
    this.count('discard', 'done', await discardJobRows(pool, discardsARound));
    await this.readOrders(signal);
    for (const ended of await endJobs(pool)) log.info({ ...ended }, 'a job over the quarantine has ended');
  }

  /**
   * The accounts have equal parts and go side by side. Neither one with many rows nor one with
   * hanging reads holds up the others.
   */
  private async readOrders(signal: AbortSignal): Promise<void> {
    const { pool, accounts } = this.deps;
    const asked = await accountsOfJobs(pool);
    const followed = asked.filter(({ stream, accountId }) => accounts.account(stream, accountId) !== undefined);
    const parts: { readonly stream: Stream; readonly accountId: string; readonly orders: readonly OrderOfJobs[] }[] =
      [];
    let left = this.options.ordersARound;
    for (const [at, { stream, accountId }] of followed.entries()) {
      const part = Math.ceil(left / (followed.length - at));
      if (part === 0) break;
      const orders = await ordersOfJobs(pool, stream, accountId, part);
      left -= orders.length;
      parts.push({ stream, accountId, orders });
    }
    await inParallel(parts, parts.length, async ({ stream, accountId, orders }) => {
      for (const order of orders)
        if (signal.aborted || !(await this.readOrder(stream, accountId, order, signal))) return;
    });
  }

  /** False: the account takes no more reads for now. */
  private async readOrder(
    stream: Stream,
    accountId: string,
    order: OrderOfJobs,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { pool, accounts, clock } = this.deps;
    const account = accounts.account(stream, accountId);
    if (account === undefined) return false;
    const { orderId, requests } = order;
    using within = abortAfter(clock, this.options.readWithinMs, 'reading the order', signal);
    const answer = await readOrderAgain(pool, account, { stream, orderId }, within.signal);
    // The lane was lost, or the process stops: its failure says nothing about the order, and the
    // next holder reads it.
    if (answer.outcome === 'failed' && (signal.aborted || accounts.account(stream, accountId) !== account))
      return false;
    this.count('retry', answer.outcome, await answerJobRows(pool, requests, answer));
    return !within.signal.aborted;
  }

  private count(kind: string, outcome: string, rows: number): void {
    if (rows > 0) this.deps.metrics.quarantineJobRows.inc({ kind, outcome }, rows);
  }
}
