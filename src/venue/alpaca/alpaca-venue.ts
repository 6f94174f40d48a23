import type { Venue, VenueStream } from '../venue.ts';
import { type AlpacaStream, alpacaOrders } from './decode-alpaca-order.ts';
import { tradeUpdates } from './trade-updates.ts';

function streamNamed(name: AlpacaStream): VenueStream {
  return { orders: alpacaOrders(name), protocol: tradeUpdates(name) };
}

/** Alpaca's trading API. Paper and live are two hosts with keys of their own, and speak alike. */
export const alpacaVenue = {
  alpaca: streamNamed('alpaca'),
  alpaca_paper: streamNamed('alpaca_paper'),
} satisfies Venue;
