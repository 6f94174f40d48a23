import { optionContract, theoreticalTicks } from '../data/option-contracts.ts';
import type { DayNumber } from '../data/trading-days.ts';
import type { Leg, OrderTerms } from '../exchange/exchange-order.ts';
import { type Fixed, parseFixed } from '../exchange/fixed.ts';
import type { Instrument } from '../market/instruments.ts';
import { priceOf } from '../market/invent-terms.ts';

/**
 * At which price the venue trades these terms now: the walk of an equity, the worth of the option or of the whole combination (net of all legs, at least
 * a tick), the walk of a prediction market for YES and what is left to 1 for NO.
 */
export function referencePrice(terms: OrderTerms, instrument: Instrument, today: DayNumber): Fixed {
  if (terms.stream === 'prediction') return priceOf(terms.outcome === 'NO' ? 100 - instrument.ticks : instrument.ticks);
  if (terms.legs === undefined || terms.legs.length === 0) return priceOf(instrument.ticks);
  const opening = terms.side.startsWith('BUY') ? 1n : -1n;
  let net = 0n;
  for (const leg of terms.legs) {
    const direction = leg.side.startsWith('BUY') ? opening : -opening;
    net += direction * (parseFixed(leg.ratioQty) ?? 0n) * BigInt(premiumTicks(leg, instrument, today));
  }
  // A ratio of 1 is 10^12; a tick is 10^10.
  const price = net / 100n;
  return price > priceOf(1) ? price : priceOf(1);
}

/** Order entry lets only listed contracts in. */
function premiumTicks(leg: Leg, instrument: Instrument, today: DayNumber): number {
  const contract = optionContract(leg.symbol);
  return contract === undefined ? 1 : theoreticalTicks(contract, instrument.ticks, today);
}
