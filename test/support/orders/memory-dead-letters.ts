import type { PersonsWord } from '../../../src/store/commands/read-audit-trail.ts';
import type {
  DeadLetterAccess,
  DeadLetterAction,
  DeadLetterEntry,
  DeadLetterFilter,
  DeadLetterJob,
  DeadLetterMessage,
  JobSize,
  NewDeadLetterJob,
} from '../../../src/store/dead-letters/dead-letter-access.ts';
import type { AccountScope, Page } from '../../../src/store/orders/order-reads.ts';

export const jobId = '7a1f0c52-0d5e-4c1b-9a53-1f2b3c4d5e6f';

/**
 * The dead letters of REST in memory: one row of the order ord-1, and one job over the account
 * ACC-1. A retry is answered at once: it failed.
 */
export class MemoryDeadLetters implements DeadLetterAccess {
  rows: DeadLetterMessage[] = [sampleRow()];
  jobs: DeadLetterJob[] = [sampleJob()];
  /** Every act that changed something, or would have. */
  readonly actions: object[] = [];
  /** There are as many jobs as there may be. */
  full = false;
  /** Of a retry; `open`: there is none yet. */
  answer: 'failed' | 'open' = 'failed';

  async list(scope: AccountScope, filter: DeadLetterFilter, after: readonly string[] | undefined, limit: number) {
    const found = this.matching(scope, filter).filter(({ id }) => BigInt(id) > BigInt(after?.[0] ?? 0));
    const items = found.slice(0, limit).map(({ raw: _raw, retry: _retry, ...entry }): DeadLetterEntry => entry);
    const last = items.at(-1);
    const page: Page<DeadLetterEntry> =
      found.length > limit && last !== undefined ? { items, next: [last.id] } : { items };
    return page;
  }

  async find(scope: AccountScope, id: string): Promise<DeadLetterMessage | undefined> {
    return this.rows.find((row) => row.id === id && sees(scope, row.accountId));
  }

  async retry(_scope: AccountScope, id: string, word: PersonsWord): Promise<void> {
    this.actions.push({ retry: id, word });
    const answered = { answeredAt: new Date(3_000), result: 'failed', detail: 'not shown' } as const;
    const retry = { requestedAt: new Date(2_000), ...(this.answer === 'failed' && answered) };
    this.rows = this.rows.map((row) => (row.id === id ? { ...row, retry } : row));
  }

  async discard(scope: AccountScope, id: string, word: PersonsWord): Promise<boolean> {
    this.actions.push({ discard: id, word });
    const row = await this.find(scope, id);
    this.rows = this.rows.map((each) => (each === row ? { ...each, dealtAt: new Date(4_000) } : each));
    return row !== undefined && row.dealtAt === undefined;
  }

  async measureJob(scope: AccountScope, action: DeadLetterAction, filter: DeadLetterFilter): Promise<JobSize> {
    const rows = this.matching(scope, filter);
    const nameless = rows.filter(({ accountId, orderId }) => accountId === undefined || orderId === undefined);
    return { total: rows.length, nameless: action === 'retry' ? nameless.length : 0 };
  }

  async openJob(scope: AccountScope, { jobId: id, action, filter, ...word }: NewDeadLetterJob): Promise<boolean> {
    if (this.full) return false;
    this.actions.push({ job: action, filter, word });
    const total = this.matching(scope, filter).length;
    this.jobs.unshift({ ...sampleJob(), jobId: id, action, filter, reason: word.reason, by: word.by, total });
    return true;
  }

  async findJob(scope: AccountScope, id: string): Promise<DeadLetterJob | undefined> {
    return (await this.listJobs(scope)).find((job) => job.jobId === id);
  }

  async listJobs(scope: AccountScope): Promise<readonly DeadLetterJob[]> {
    return this.jobs.filter(({ filter }) => sees(scope, filter.accountId));
  }

  async cancelJob(_scope: AccountScope, id: string, word: PersonsWord): Promise<void> {
    this.actions.push({ cancel: id, word });
    this.jobs = this.jobs.map((job) =>
      job.jobId === id && job.endedAt === undefined ? { ...job, endedAt: new Date(5_000), cancelledBy: word.by } : job,
    );
  }

  private matching(scope: AccountScope, { stream, accountId, reason, rowIds }: DeadLetterFilter): DeadLetterMessage[] {
    return this.rows.filter(
      (row) =>
        row.dealtAt === undefined &&
        sees(scope, row.accountId) &&
        (stream ?? row.stream) === row.stream &&
        (accountId ?? row.accountId) === row.accountId &&
        (reason ?? row.reason) === row.reason &&
        (rowIds ?? [row.id]).includes(row.id),
    );
  }
}

function sees(scope: AccountScope, accountId: string | undefined): boolean {
  return scope.kind === 'all' || (accountId !== undefined && scope.accountIds.includes(accountId));
}

export function sampleRow(over: Partial<DeadLetterMessage> = {}): DeadLetterMessage {
  return {
    id: '17',
    stream: 'account',
    accountId: 'ACC-1',
    orderId: 'ord-1',
    reason: 'bad_decimal',
    detail: 'price: expected a decimal string',
    raw: '{"price":1e5}',
    observedAt: new Date(1_000),
    recordedAt: new Date(1_500),
    ...over,
  };
}

export function sampleJob(): DeadLetterJob {
  return {
    jobId,
    action: 'retry',
    filter: { accountId: 'ACC-1' },
    reason: 'the build reads it now',
    by: 'desk',
    askedAt: new Date(2_000),
    total: 3,
    done: 1,
    failed: 1,
    withdrawn: 0,
    failures: [{ detail: 'the platform does not show the order any more', rows: 1 }],
  };
}
