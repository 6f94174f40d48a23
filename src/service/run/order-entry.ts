import type { CommandRequest } from '../../domain/command.ts';
import type { Stream } from '../../domain/order.ts';
import { notSent, type WriteOptions, type WriteResult } from '../../venue/write-result.ts';
import type { WriteDeps } from '../../venue/write-venue.ts';
import type { OrderEntry } from '../commands/order-entry.ts';
import type { EntryAccounts } from './platform-parts.ts';

const noCredential = { code: 'NO_CREDENTIAL', message: 'no credential follows the account' };

interface OrderEntryDeps extends Omit<WriteDeps, 'tokens'> {
  readonly accounts: EntryAccounts;
}

/** One venue's write of a command, to its addresses. At most one request. */
type WriteAt<Addresses> = (
  deps: WriteDeps,
  addresses: Addresses,
  request: CommandRequest,
  attemptId: string,
  options: WriteOptions,
) => Promise<WriteResult>;

/**
 * The port `OrderEntry` over one venue's writes: one call is at most one request, with the tokens
 * for the account. An order in the answer goes to ingest by the account's own intake, like every
 * other row in it. One named by its id alone is looked at there, as this attempt's order.
 */
export class VenueOrderEntry<Addresses> implements OrderEntry {
  private readonly deps: OrderEntryDeps;
  private readonly addresses: Addresses;
  private readonly write: WriteAt<Addresses>;

  constructor(deps: OrderEntryDeps, addresses: Addresses, write: WriteAt<Addresses>) {
    this.deps = deps;
    this.addresses = addresses;
    this.write = write;
  }

  async send(request: CommandRequest, attemptId: string, options: WriteOptions): Promise<WriteResult> {
    const { accounts, ...deps } = this.deps;
    const tokens = accounts.tokensFor(request.accountId);
    // A moment later one may.
    if (tokens === undefined) return { kind: 'not_sent', reason: noCredential, mayRepeat: true };
    const takeReply = accounts.account(request.stream, request.accountId)?.expectReply();
    const result = await this.write({ ...deps, tokens }, this.addresses, request, attemptId, options);
    if (!('answer' in result)) return result;
    const { order, orderId } = result;
    takeReply?.(order, orderId === undefined ? undefined : { orderId, reference: attemptId });
    return result;
  }
}

/** Each command goes to the venue of its stream. */
export class EntryByStream implements OrderEntry {
  private readonly entries: ReadonlyMap<Stream, OrderEntry>;

  constructor(entries: ReadonlyMap<Stream, OrderEntry>) {
    this.entries = entries;
  }

  async send(request: CommandRequest, attemptId: string, options: WriteOptions): Promise<WriteResult> {
    const entry = this.entries.get(request.stream);
    if (entry !== undefined) return entry.send(request, attemptId, options);
    return notSent('NOT_CONFIGURED', `this service does not follow the venue of the stream ${request.stream}`);
  }
}
