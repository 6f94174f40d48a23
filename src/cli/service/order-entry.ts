import type { EntryOptions, EntryResult, OrderEntry } from '../../commands/order-entry.ts';
import type { CommandRequest, Reason } from '../../domain/command.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { TokenSource } from '../../platform/token-source.ts';
import type { WriteLines } from '../../platform/write-lines.ts';
import type { WriteOptions } from '../../platform/write-platform.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { EntryAccounts } from './entry-accounts.ts';
import { type EntryAddresses, type EntryAnswer, type WriteFailure, writeRequest } from './order-entry-writes.ts';
import { reasonOf } from './reason-of.ts';

export interface OrderEntryDeps {
  readonly accounts: EntryAccounts;
  readonly lines: WriteLines;
  readonly clock: Clock;
  readonly metrics: Metrics['platform'];
}

/**
 * The port `OrderEntry` over the platform's writes: one call is at most one request, judged by the table "observed → outcome" (docs/settling.md, "Sending a
 * command"; `platform/judge-write.ts`). An order that the answer shows goes to ingest by the account's own intake, like every other row of it.
 */
export class PlatformOrderEntry implements OrderEntry {
  private readonly deps: OrderEntryDeps;
  private readonly addresses: EntryAddresses;

  constructor(deps: OrderEntryDeps, addresses: EntryAddresses) {
    this.deps = deps;
    this.addresses = addresses;
  }

  async send(request: CommandRequest, attemptId: string, options: EntryOptions): Promise<EntryResult> {
    const { accounts, lines, clock, metrics } = this.deps;
    const tokens = accounts.tokensFor(request.accountId);
    if (tokens === undefined) return notSent({ code: 'NO_CREDENTIAL', message: 'no credential follows the account' }, false);
    const takeReply = accounts.account(request.stream, request.accountId)?.expectReply();
    const permission = askOnce(options);
    const deps = { lines, clock, tokens, metrics };
    const result = await writeRequest(deps, this.addresses, request, attemptId, permission.options);
    if (result.kind === 'not_sendable') return notSent(result.reason, false);
    if (result.kind === 'failed') {
      const given = permission.refusal();
      return given === undefined ? failed(result, tokens) : notSent(given, false);
    }
    if (result.order !== undefined) takeReply?.(result.order);
    return answered(result);
  }
}

/** What `mayWrite` said: its no, and its failure, must not look like a connection that could not be made, which may be tried again. */
function askOnce({ mayWrite, mayStillWrite, signal }: EntryOptions): {
  options: WriteOptions;
  refusal: () => Reason | undefined;
} {
  let refusal: Reason | undefined;
  const givenUp: Reason = { code: 'NOT_PERMITTED', message: 'given up before it was written' };
  return {
    refusal: () => refusal,
    options: {
      signal,
      mayWrite: async () => {
        try {
          if (await mayWrite()) return true;
          refusal = givenUp;
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          refusal = { code: 'NOT_PERMITTED', message: `given up before it was written: ${message}`.slice(0, 500) };
        }
        return false;
      },
      mayStillWrite: () => {
        if (mayStillWrite()) return true;
        refusal = givenUp;
        return false;
      },
    },
  };
}

async function failed({ verdict, error, tokenGeneration }: WriteFailure, tokens: TokenSource): Promise<EntryResult> {
  const reason = reasonOf(error);
  const { retryAfterMs } = error;
  if (verdict === 'not_sent') return { ...notSent(reason, error.retryable), ...(retryAfterMs !== undefined && { retryAfterMs }) };
  if (verdict === 'unknown') return { kind: 'unknown', reason };
  if (error.status !== 401 || tokenGeneration === undefined) return { kind: 'refused', reason };
  // At once when the token used is not the current one any more; else by the one renewal that all callers share.
  const next = await tokens.renew(tokenGeneration);
  const isOther = next.ok && next.token.generation !== tokenGeneration;
  return isOther ? { kind: 'refused', reason, staleToken: true } : { kind: 'refused', reason };
}

function answered({ verdict, orderId, reason, answer }: EntryAnswer): EntryResult {
  return {
    kind: verdict,
    answer,
    ...(orderId !== undefined && { orderId }),
    ...(reason !== undefined && { reason }),
  };
}

function notSent(reason: Reason, mayRepeat: boolean): EntryResult {
  return { kind: 'not_sent', reason, mayRepeat };
}
