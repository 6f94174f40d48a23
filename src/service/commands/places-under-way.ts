import { type CommandRequest, makesOrder } from '../../domain/command.ts';
import type { Stream } from '../../domain/order.ts';

/** A command that makes an order was asked for, and is not known to be in the journal. */
export interface PlaceUnderWay {
  readonly accountId: string;
  readonly stream: Stream;
  /** Resolves once it is in the journal, or was declined. Never rejects. */
  readonly over: Promise<void>;
}

/**
 * Places that wait for their turn, are connected or are being journaled: no list of the journal
 * shows them, and each may be sent at any moment.
 */
export class PlacesUnderWay {
  private readonly places = new Set<PlaceUnderWay>();

  /** It is under way until it is disposed. Undefined: it makes no order. */
  begin(request: CommandRequest): Disposable | undefined {
    const { accountId, stream } = request;
    if (!makesOrder(request)) return undefined;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const place: PlaceUnderWay = { accountId, stream, over };
    this.places.add(place);
    return {
      [Symbol.dispose]: () => {
        this.places.delete(place);
        resolve();
      },
    };
  }

  of(accountIds: ReadonlySet<string>): readonly PlaceUnderWay[] {
    return [...this.places].filter(({ accountId }) => accountIds.has(accountId));
  }
}
