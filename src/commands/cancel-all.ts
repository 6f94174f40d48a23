import { createHash } from 'node:crypto';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { anotherLeads, type Declined, declined } from './check-submission.ts';
import {
  type AuditEntry,
  type CommandJournal,
  keyOfCancel,
  type NewCancelAll,
  type OpenOrder,
  type OrderOfAccount,
} from './command-journal.ts';
import type { CancelAllEntry, CancelAllResult, CancelAllScope, OperatorWord, Submission, SubmitResult } from './commands.ts';
import { inParallel } from './in-parallel.ts';
import type { SendingTerm } from './submit-command.ts';

export interface CancelAllDeps {
  readonly journal: Pick<CommandJournal, 'openOrders' | 'openCancelAll' | 'findCancelAll'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The term to send under, or why nothing may be sent. */
  readonly maySend: () => SendingTerm | Declined;
  /** Why the account may not be traded, on neither stream. */
  readonly objection: (accountId: string) => Declined | undefined;
  readonly submit: (submission: Submission) => Promise<SubmitResult>;
  readonly audit: (entry: Omit<AuditEntry, 'atMs'>) => void;
}

export type CancelAllWord = OperatorWord & { readonly idempotencyKey: string };

const pageSize = 500;

/**
 * Cancels every open order of the account, or of all accounts, a command each, a few at a time.
 *
 * Invariant: a key is about the orders that were open when it was first heard, which are in the journal before the first cancel. Again it cancels nothing else, however late it
 * comes: of that list it sends what was never sent (the process may have died in the middle; nobody but the caller takes that up), and tells what became of the rest.
 * Never rejects; declined as a whole means that this call sent nothing.
 */
export async function cancelAll(
  deps: CancelAllDeps,
  scope: CancelAllScope,
  word: CancelAllWord,
  options: { readonly lane: number; readonly width: number },
): Promise<CancelAllResult> {
  const { journal, log, maySend, audit } = deps;
  const { by: principal, reason, requestId, idempotencyKey } = word;
  const accountId = scope.kind === 'account' ? scope.accountId : undefined;
  const requestHash = createHash('sha256')
    .update(JSON.stringify([accountId ?? null, reason]))
    .digest('hex');
  try {
    const known = await journal.findCancelAll(options.lane, principal, idempotencyKey);
    if (known !== undefined) return known.requestHash === requestHash ? carryOut(deps, known, word, options, true) : keyReused;
    const under = maySend();
    if ('code' in under) return under;
    const found = await findOrders(deps, scope);
    if ('code' in found) return found;
    const opened = await journal.openCancelAll(
      {
        cancelAllId: deps.random.uuid(),
        ...{ principal, idempotencyKey, requestHash, reason },
        ...(accountId !== undefined && { accountId }),
        ...found,
        atMs: deps.clock.nowMs(),
      },
      under.term.fence,
    );
    if (opened.kind === 'fenced') return anotherLeads;
    if (opened.kind === 'key_reused') return keyReused;
    const replayed = opened.kind === 'replayed';
    if (!replayed) {
      const detail = { orders: opened.cancelAll.orders.length };
      audit({ principal, action: 'cancel_all', requestId, reason, detail, ...(accountId !== undefined && { accountId }) });
    }
    return carryOut(deps, opened.cancelAll, word, options, replayed);
  } catch (err) {
    log.warn({ err, requestId }, 'a cancel-all could not be written down');
    return declined('STORE_UNAVAILABLE', 'the database could not be reached; nothing was sent by this request', 1_000);
  }
}

const keyReused = declined('IDEMPOTENCY_KEY_REUSED', 'the key belongs to another cancel-all');

type Found = Pick<NewCancelAll, 'orders' | 'declined'>;

/** Of the service, an account that may not be traded is told beside the others. */
async function findOrders({ journal, objection }: CancelAllDeps, scope: CancelAllScope): Promise<Found | Declined> {
  const orders: OrderOfAccount[] = [];
  const without: { accountId: string; code: string; message: string }[] = [];
  for (const accountId of scope.kind === 'account' ? [scope.accountId] : scope.accountIds) {
    const objected = objection(accountId);
    if (objected !== undefined && scope.kind === 'account') return objected;
    if (objected !== undefined) without.push({ accountId, code: objected.code, message: objected.message });
    else for await (const { stream, orderId } of openOrders(journal, accountId)) orders.push({ accountId, stream, orderId });
  }
  return { orders, declined: without };
}

async function* openOrders(journal: CancelAllDeps['journal'], accountId: string): AsyncGenerator<OpenOrder> {
  for (let after: OpenOrder | undefined; ; ) {
    const page = await journal.openOrders(accountId, after, pageSize);
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1);
  }
}

async function carryOut(
  { submit }: CancelAllDeps,
  record: NewCancelAll,
  { requestId }: CancelAllWord,
  { width }: { readonly width: number },
  replayed: boolean,
): Promise<CancelAllResult> {
  const orders: CancelAllEntry[] = [];
  await inParallel(record.orders.entries(), width, async ([place, order]) => {
    const { accountId, stream, orderId } = order;
    const result = await submit({
      principal: record.principal,
      idempotencyKey: keyOfCancel(record, place),
      request: { kind: 'cancel', stream, accountId, orderId },
      requestId,
    });
    orders[place] = { ...order, result };
  });
  return { kind: 'done', replayed, orders, declined: record.declined };
}
