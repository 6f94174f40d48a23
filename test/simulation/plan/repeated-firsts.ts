import type { Random } from '../../../src/runtime/random.ts';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import { happens } from '../../../src/sandbox/market/instruments.ts';
import type { SimulatedWorld } from '../simulated-world.ts';

/** Long enough for an order to leave a small cache, to end, and to change hands. */
const mostLaterMs = 20_000;

/**
 * A platform that sends the first event of an order again, long after: as if the order had just
 * begun. In half of the runs, and until `goesOn` says no.
 */
export function repeatFirsts({ platform, clock, trace }: SimulatedWorld, random: Random, goesOn: () => boolean): void {
  const { stream, bare, storesLost } = platform;
  const share = happens(random, 0.5) ? random.next() : 0;
  const emit = stream.emit.bind(stream);
  const again = (order: ExchangeOrder, text: string) => {
    // A store that was lost has other versions since, and nothing could tell.
    if (!goesOn() || storesLost.has(order.terms.account.id)) return;
    trace.add('platform', 'repeats the first event of', platform.keyOf(order));
    stream.push(stream.nameOf(order), bare.timed(text));
  };
  stream.emit = (order, step) => {
    emit(order, step);
    if (order.state !== 'pending_new' || !goesOn() || !happens(random, share)) return;
    const text = stream.textOf(order, step);
    clock.after(random.next() * mostLaterMs, () => again(order, text));
  };
}
