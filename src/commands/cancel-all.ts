import { createHash } from 'node:crypto';
import type { Declined } from './check-submission.ts';
import type { CommandJournal, OpenOrder } from './command-journal.ts';
import type { CancelAllEntry, CancelAllResult, OperatorWord, Submission, SubmitResult } from './commands.ts';
import { inParallel } from './in-parallel.ts';

export interface CancelAllDeps {
  readonly journal: Pick<CommandJournal, 'openOrders'>;
  readonly submit: (submission: Submission) => Promise<SubmitResult>;
}

export type CancelAllWord = OperatorWord & { readonly idempotencyKey: string };

const pageSize = 500;

/**
 * Cancels every open order of the account, a command each, a few at a time. Each has a key of its own made of the caller's and the order's, so that the same cancel-all
 * again is answered with the same commands. Never rejects: what could not be listed is declined as a whole, before anything was sent.
 */
export async function cancelAll(
  { journal, submit }: CancelAllDeps,
  accountId: string,
  word: CancelAllWord,
  options: { readonly width: number },
): Promise<CancelAllResult> {
  const open: OpenOrder[] = [];
  try {
    for (;;) {
      const page = await journal.openOrders(accountId, open.at(-1), pageSize);
      open.push(...page);
      if (page.length < pageSize) break;
    }
  } catch {
    return { kind: 'declined', code: 'STORE_UNAVAILABLE', message: 'the open orders of the account could not be read' };
  }
  const results = new Map<OpenOrder, SubmitResult>();
  await inParallel(open, options.width, async (order) => {
    const { stream, orderId } = order;
    const submission: Submission = {
      principal: word.by,
      idempotencyKey: keyOf(word.idempotencyKey, order),
      request: { kind: 'cancel', stream, accountId, orderId },
      requestId: word.requestId,
    };
    results.set(order, await submit(submission));
  });
  const orders: CancelAllEntry[] = open.map((order) => ({ ...order, result: results.get(order) ?? notRun }));
  return { kind: 'done', orders };
}

const notRun: Declined = { kind: 'declined', code: 'DRAINING', message: 'the service is ending' };

function keyOf(key: string, { stream, orderId }: OpenOrder): string {
  return `cancel-all:${createHash('sha256')
    .update(JSON.stringify([key, stream, orderId]))
    .digest('hex')}`;
}
