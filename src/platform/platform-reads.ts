import type { Stream } from '../domain/order.ts';
import type { ReadBudget } from '../runtime/read-budget.ts';
import { getOrder } from './get-order.ts';
import { listAccounts } from './list-accounts.ts';
import { listOrders } from './list-orders.ts';
import type { AccountsResult, GetResult, ListRequest, ListResult, OrderReads, Page } from './order-reads.ts';
import type { ReadDeps } from './read-platform.ts';

export interface PlatformAddresses {
  /** Production REST base, without a trailing slash: accounts, equity and option orders, tokens. */
  readonly platformUrl: string;
  /** REST base of the prediction endpoints. */
  readonly stagingUrl: string;
}

/** `OrderReads` over HTTP: prediction orders from staging, everything else from production (specification, "Versioning"). */
export class PlatformReads implements OrderReads {
  private readonly deps: ReadDeps;
  private readonly options: PlatformAddresses;

  constructor(deps: ReadDeps, options: PlatformAddresses) {
    this.deps = deps;
    this.options = options;
  }

  listOrders(
    request: ListRequest,
    onPage: (page: Page) => Promise<void>,
    signal: AbortSignal,
    budget?: ReadBudget,
  ): Promise<ListResult> {
    return listOrders({ ...this.deps, budget }, this.baseOf(request.stream), request, onPage, signal);
  }

  getOrder(stream: Stream, accountId: string, orderId: string, signal: AbortSignal, budget?: ReadBudget): Promise<GetResult> {
    return getOrder({ ...this.deps, budget }, this.baseOf(stream), stream, accountId, orderId, signal);
  }

  listAccounts(signal: AbortSignal): Promise<AccountsResult> {
    return listAccounts(this.deps, this.options.platformUrl, signal);
  }

  private baseOf(stream: Stream): string {
    return stream === 'prediction' ? this.options.stagingUrl : this.options.platformUrl;
  }
}
