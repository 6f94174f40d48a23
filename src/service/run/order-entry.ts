import type { CommandRequest } from '../../domain/command.ts';
import { traits } from '../../domain/streams.ts';
import { type WriteAddresses, writeOrder } from '../../venue/platform/order-writes.ts';
import type { WriteDeps } from '../../venue/platform/write-platform.ts';
import { notSent, type WriteOptions, type WriteResult } from '../../venue/write-result.ts';
import type { OrderEntry } from '../commands/order-entry.ts';
import type { EntryAccounts } from './platform-parts.ts';

const noCredential = { code: 'NO_CREDENTIAL', message: 'no credential follows the account' };

/** Without the platform no order can be sent. */
export const noEntry: OrderEntry = { send: async (request) => followedOnly(request) };

function followedOnly({ stream }: CommandRequest): WriteResult {
  return notSent('FOLLOWED_ONLY', `orders on the stream ${stream} are followed, and can be changed only at the venue`);
}

interface OrderEntryDeps extends Omit<WriteDeps, 'tokens'> {
  readonly accounts: EntryAccounts;
}

/**
 * The port `OrderEntry` over the platform's writes (`venue/platform/order-writes.ts`): one call is
 * at most one request, with the tokens for the account. An order in the answer goes to ingest by
 * the account's own intake, like every other row in it. One named by its id alone is looked at
 * there, as this attempt's order.
 */
export class PlatformOrderEntry implements OrderEntry {
  private readonly deps: OrderEntryDeps;
  private readonly addresses: WriteAddresses;

  constructor(deps: OrderEntryDeps, addresses: WriteAddresses) {
    this.deps = deps;
    this.addresses = addresses;
  }

  async send(request: CommandRequest, attemptId: string, options: WriteOptions): Promise<WriteResult> {
    if (traits[request.stream].isFollowedOnly) return followedOnly(request);
    const { accounts, ...deps } = this.deps;
    const tokens = accounts.tokensFor(request.accountId);
    // A moment later one may.
    if (tokens === undefined) return { kind: 'not_sent', reason: noCredential, mayRepeat: true };
    const takeReply = accounts.account(request.stream, request.accountId)?.expectReply();
    const result = await writeOrder({ ...deps, tokens }, this.addresses, request, attemptId, options);
    if (!('answer' in result)) return result;
    const { order, orderId } = result;
    takeReply?.(order, orderId === undefined ? undefined : { orderId, reference: attemptId });
    return result;
  }
}
