import type { Stream } from '../../../types/records.d.ts';
import { type BlotterView, queryOf, viewOf } from './blotter-view.ts';

/** The screen that an address stands for. */
export type Place =
  | { readonly screen: 'blotter'; readonly view: BlotterView }
  | { readonly screen: 'order'; readonly stream: Stream; readonly orderId: string }
  | { readonly screen: 'unknown' };

/** From a path and the text from `?` on. */
export function placeOf(path: string, query: string): Place {
  if (/^\/console(?:\/|\/orders\/?)?$/.test(path)) return { screen: 'blotter', view: viewOf(new URLSearchParams(query)) };
  const [, stream, orderId] = /^\/console\/orders\/(account|prediction)\/([^/]+)$/.exec(path) ?? [];
  const id = orderId === undefined ? undefined : decoded(orderId);
  if ((stream === 'account' || stream === 'prediction') && id !== undefined) return { screen: 'order', stream, orderId: id };
  return { screen: 'unknown' };
}

export function addressOf(place: Exclude<Place, { screen: 'unknown' }>): string {
  if (place.screen === 'blotter') return `/console${queryOf(place.view)}`;
  return `/console/orders/${place.stream}/${encodeURIComponent(place.orderId)}`;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
