import { type Command, isFinal } from './command.ts';
import { compareDecimals, type Decimal, subtractDecimals } from './decimal.ts';
import type { Order, Stream } from './order.ts';

/** What one command would add to the market, should it have been applied. */
export interface Exposure {
  readonly accountId: string;
  readonly stream: Stream;
  readonly symbol: string;
  /** Prediction markets only. */
  readonly outcome?: string;
  readonly side: string;
  readonly quantity: Decimal;
}

/**
 * What a command that is not over counts as, as if it were live; undefined where it adds nothing. A place counts until its order is observed, also once it was
 * accepted (there is no order to count yet) and while it is presumed absent (that frees nothing). A replace counts by what its total is above the one at work.
 * `order`: the one that a replace named, as it is now; without it the baseline says what works, but not what it is.
 */
export function commandExposure({ request, state, orderId }: Command, order?: Order): Exposure | undefined {
  if (isFinal(state) || request.kind === 'cancel') return undefined;
  const { accountId } = request;
  if (request.kind === 'place') {
    if (orderId !== undefined) return undefined;
    if (request.stream === 'account') {
      const { symbol, side, qty: quantity } = request.terms;
      return { accountId, stream: 'account', symbol, side, quantity };
    }
    const { symbol, outcome, side, quantity } = request.terms;
    return { accountId, stream: 'prediction', symbol, outcome, side, quantity };
  }
  const asked = request.terms.quantity;
  if (order === undefined || asked === undefined || compareDecimals(asked, order.working.quantity) <= 0) return undefined;
  const { instrument, side, working } = order;
  return {
    accountId,
    stream: 'prediction',
    symbol: instrument.symbol,
    ...(instrument.outcome === undefined ? {} : { outcome: instrument.outcome }),
    side,
    quantity: subtractDecimals(asked, working.quantity),
  };
}
