import type { Stream } from '../domain/order.ts';
import type { OrderReads } from '../platform/order-reads.ts';
import type { PlatformError } from '../platform/platform-error.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ReadBudget } from '../runtime/read-budget.ts';
import type { AccountAccess, AccountLook } from './account-access.ts';
import { type AccountReader, notSettled } from './account-reader.ts';
import type { ObservationSink } from './observation-sink.ts';
import { roomIn } from './room-in.ts';
import type { RowIntake } from './row-intake.ts';

export interface AccountLooksDeps {
  readonly reads: OrderReads;
  readonly reader: AccountReader;
  readonly intake: RowIntake;
  readonly sink: ObservationSink;
  readonly clock: Clock;
}

export interface AccountLooksOptions {
  readonly stream: Stream;
  readonly accountId: string;
  readonly isSim: boolean;
  /** The life of the account's session. */
  readonly signal: AbortSignal;
  readonly standing: () => { readonly live: boolean; readonly certain: boolean };
}

/** What one look has found so far. */
interface Findings {
  readonly startedMs: number;
  readonly asked: number;
  readonly shown: string[];
  certain: boolean;
  /** A row that could not be read, was of another account, or was withheld: it may be the one that is looked for. */
  unclear: boolean;
}

/**
 * The looks of others at one account, through its one reader and its one way into ingest, so that what guards the rows of audits guards theirs: foreign accounts,
 * lost stores, rows that nobody can read. While the platform's store is lost every look fails: neither what it shows nor what it hides means anything.
 */
export class AccountLooks implements AccountAccess {
  readonly isSim: boolean;
  private readonly deps: AccountLooksDeps;
  private readonly options: AccountLooksOptions;

  constructor(deps: AccountLooksDeps, options: AccountLooksOptions) {
    this.deps = deps;
    this.options = options;
    this.isSim = options.isSim;
  }

  get live(): boolean {
    return this.options.standing().live;
  }

  get certain(): boolean {
    return this.options.standing().certain;
  }

  lookFor(reference: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook> {
    const { stream, accountId } = this.options;
    return this.look(signal, async (findings, either) => {
      const request = { stream, accountId, state: 'all', reference } as const;
      const list = await this.deps.reads.listOrders(
        request,
        async ({ rows, bytes }) => {
          for (const row of rows) this.take(row, Math.ceil(bytes / rows.length), findings, reference);
          // A platform that does not know the filter brings the whole account.
          await roomIn(this.deps.sink, either);
        },
        either,
        budget,
      );
      return list.complete ? undefined : list.error;
    });
  }

  lookAt(orderId: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook> {
    const { stream, accountId } = this.options;
    return this.look(signal, async (findings, either) => {
      const answer = await this.deps.reads.getOrder(stream, accountId, orderId, either, budget);
      if (answer.kind === 'found') this.take(answer.row, answer.bytes, findings);
      return answer.kind === 'failed' ? answer.error : undefined;
    });
  }

  lookAtAll(sinceMs: number | undefined, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook> {
    const either = AbortSignal.any([signal, this.options.signal]);
    if (this.deps.intake.suspended) return Promise.resolve(failed(storeIsLost));
    const read = async (): Promise<AccountLook> => {
      const outcome = await this.deps.reader.read('probe', either, sinceMs, budget);
      if (!outcome.complete) return outcome;
      const { startedMs, shown } = outcome;
      return { complete: true, startedMs, shown, certain: outcome.certain && this.certain };
    };
    return orGivenUp(read(), either);
  }

  expectReply(): (row: unknown) => void {
    const { intake, clock } = this.deps;
    const asked = intake.mark;
    return (row) => {
      if (intake.suspended || this.options.signal.aborted) return;
      const text = JSON.stringify(row);
      const receivedMs = clock.monotonicMs();
      intake.take(row, { cause: 'reply', urgent: true, receivedMs, bytes: text.length, raw: () => text, asked });
    };
  }

  private look(
    signal: AbortSignal,
    read: (findings: Findings, signal: AbortSignal) => Promise<PlatformError | undefined>,
  ): Promise<AccountLook> {
    const { reader, intake, sink, clock } = this.deps;
    const either = AbortSignal.any([signal, this.options.signal]);
    const work = async (): Promise<AccountLook> => {
      if (either.aborted) return failed(givenUp);
      if (intake.suspended) return failed(storeIsLost);
      const findings: Findings = { startedMs: clock.nowMs(), asked: intake.mark, shown: [], certain: true, unclear: false };
      try {
        const error = await read(findings, either);
        if (error !== undefined) return failed(error);
        await sink.settled();
      } catch (error) {
        return failed(notSettled(error));
      }
      if (findings.unclear) return failed(unclear);
      const { startedMs, shown } = findings;
      return { complete: true, startedMs, shown, certain: findings.certain && this.certain };
    };
    return orGivenUp(reader.soon(work), either);
  }

  private take(row: unknown, bytes: number, findings: Findings, reference?: string): void {
    const { intake, clock } = this.deps;
    const source = { cause: 'probe', urgent: true, receivedMs: clock.monotonicMs(), bytes } as const;
    const item = intake.take(row, { ...source, raw: () => JSON.stringify(row), asked: findings.asked });
    if (item.kind !== 'order') {
      findings.unclear = true;
      return;
    }
    const { orderId, certainty, stream, clOrdId, clientOrderRef } = item.view;
    if (certainty !== 'certain') findings.certain = false;
    if (reference === undefined || (stream === 'account' ? clOrdId : clientOrderRef) === reference) findings.shown.push(orderId);
  }
}

/** The turn of a look may come late, behind the first read of a million orders: whoever gives up has his answer at once. */
function orGivenUp(work: Promise<AccountLook>, signal: AbortSignal): Promise<AccountLook> {
  return new Promise((resolve) => {
    const giveUp = () => resolve(failed(givenUp));
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    void work.then((look) => {
      signal.removeEventListener('abort', giveUp);
      resolve(look);
    });
  });
}

function failed(error: PlatformError): AccountLook {
  return { complete: false, error };
}

const givenUp: PlatformError = { code: 'NO_ANSWER', message: 'given up by the caller', retryable: true, sent: 'no' };
const storeIsLost: PlatformError = {
  code: 'STORE_LOST',
  message: 'the platform lost its store, and has not been read whole since',
  retryable: true,
  sent: 'no',
};
const unclear: PlatformError = {
  code: 'BAD_ANSWER',
  message: 'a row cannot be read, or is of a store that was lost: it shows no absence',
  retryable: true,
  sent: 'yes',
};
