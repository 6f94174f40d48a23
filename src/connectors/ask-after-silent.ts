import type { Stream } from '../domain/order.ts';
import type { Log } from '../observability/log.ts';
import type { OrderReads, Page } from '../platform/order-reads.ts';
import type { PlatformError } from '../platform/platform-error.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AccountRegistry } from './account-registry.ts';
import type { ObservationSink } from './observation-sink.ts';
import type { ReadProgress } from './read-progress.ts';
import { roomIn } from './room-in.ts';
import type { RowIntake } from './row-intake.ts';

export interface AskDeps {
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
  readonly sink: ObservationSink;
  readonly intake: RowIntake;
  readonly clock: Clock;
  readonly log: Log;
  /** Takes a page of a list, as the read itself does. */
  readonly page: (page: Page) => Promise<void>;
  /** Told what became of each single order, as the read itself is of the rows of its pages. */
  readonly taken: (item: ReturnType<RowIntake['take']>) => void;
}

const pageSize = 500;
const atOnce = 4;
const namedInLog = 20;
/** With more silent orders than this, one list of the open ones is cheaper: it answers for 500 a request, and only those it does not show are left. */
const listAbove = 50;

/**
 * Orders that we hold open, that nobody wrote since the read began and that it did not show: each is asked for, so that a lost terminal frame is found.
 * The answer "no such order" proves nothing and changes nothing. Returns the error that left the read incomplete, if any.
 */
export async function askAfterSilent(
  deps: AskDeps,
  stream: Stream,
  accountId: string,
  progress: ReadProgress,
): Promise<PlatformError | undefined> {
  let silent = await silentOrders(deps, stream, accountId, progress);
  if (silent.length > listAbove && progress.kind !== 'complete') {
    const list = await deps.reads.listOrders({ stream, accountId, state: 'open' }, deps.page, progress.signal, progress.budget);
    if (!list.complete) return list.error;
    silent = silent.filter((orderId) => !progress.shownOpen.has(orderId));
  }
  if (silent.length === 0) return undefined;
  const error = await getEach(deps, stream, accountId, silent, progress);
  await deps.sink.settled();
  return error;
}

async function silentOrders(deps: AskDeps, stream: Stream, accountId: string, progress: ReadProgress): Promise<string[]> {
  const silent: string[] = [];
  let after = '';
  for (;;) {
    const open = await deps.registry.openOrders(stream, accountId, progress.startedMs, after, pageSize);
    for (const { orderId } of open) if (!progress.shownOpen.has(orderId)) silent.push(orderId);
    const last = open.at(-1);
    if (last === undefined || open.length < pageSize || progress.signal.aborted) return silent;
    after = last.orderId;
  }
}

async function getEach(
  deps: AskDeps,
  stream: Stream,
  accountId: string,
  orderIds: readonly string[],
  { signal, cause, budget }: ReadProgress,
): Promise<PlatformError | undefined> {
  const rest = orderIds.values();
  const absent: string[] = [];
  let failure: PlatformError | undefined;
  const worker = async () => {
    for (const orderId of rest) {
      await roomIn(deps.sink, signal);
      if (signal.aborted || failure !== undefined) return;
      const asked = deps.intake.mark;
      const answer = await deps.reads.getOrder(stream, accountId, orderId, signal, budget);
      // What fails for good (400, say) says nothing of the others and would keep the account from ever being live: like "no such order".
      if (answer.kind === 'failed' && (answer.error.retryable || isOfAccount(answer.error))) failure = answer.error;
      if (answer.kind === 'absent') absent.push(orderId);
      if (answer.kind !== 'found') continue;
      const { row, bytes } = answer;
      deps.taken(
        deps.intake.take(row, {
          cause,
          receivedMs: deps.clock.monotonicMs(),
          bytes,
          raw: () => JSON.stringify(row),
          asked,
        }),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (absent.length > 0) {
    const about = { stream, accountId, orders: absent.length, orderIds: absent.slice(0, namedInLog) };
    deps.log.warn(about, 'the platform does not know orders that we hold open: they stay as they are');
  }
  return failure;
}

/** The account as a whole, or our credential, is refused. */
function isOfAccount({ status, code }: PlatformError): boolean {
  return status === 401 || status === 403 || code === 'LOGIN_REQUIRED';
}
