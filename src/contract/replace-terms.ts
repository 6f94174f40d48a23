import type { Stream } from '../domain/order.ts';
import { traits } from '../domain/streams.ts';

/** New terms: a term left out stays. */
export type NewTerms = { readonly [Name in TermName]?: string | undefined };
export type TermName = 'quantity' | 'price' | 'stopPx' | 'timeInForce' | 'expireTime';

/** Its name in a replace, and its value now, or empty. */
export interface Term {
  readonly name: TermName;
  readonly now: string;
}

interface Replaceable {
  readonly stream: Stream;
  readonly price?: string | undefined;
  readonly stopPrice?: string | undefined;
  readonly timeInForce: string;
  readonly expireTime?: string | undefined;
  readonly working: { readonly quantity?: string | undefined; readonly price?: string | undefined };
}

/** All terms a replace can change, as they work now. */
export function termsOf(order: Replaceable): readonly Term[] {
  const { stream, price, stopPrice, timeInForce, expireTime, working } = order;
  const all: readonly (readonly [name: TermName, now: string | undefined])[] = [
    ['quantity', working.quantity],
    ['price', working.price ?? price],
    ['stopPx', stopPrice],
    ['timeInForce', timeInForce],
    ['expireTime', traits[stream].market === 'predictions' ? (expireTime ?? '') : undefined],
  ];
  return all.flatMap(([name, now]) => (now === undefined ? [] : [{ name, now }]));
}

/** For its `PATCH`: equities and options name their terms as a place does. */
export function replaceBodyOf(
  { stream, accountId }: { readonly stream: Stream; readonly accountId: string },
  terms: NewTerms,
): Readonly<Record<string, string | undefined>> {
  if (traits[stream].market === 'predictions') return { accountId, ...terms };
  const { quantity: qty, stopPx: stopPrice, timeInForce, ...others } = terms;
  return { accountId, stream, qty, stopPrice, timeInForce: timeInForce?.toUpperCase(), ...others };
}
