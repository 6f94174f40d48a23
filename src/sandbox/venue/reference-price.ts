import { optionContract, theoreticalTicks } from '../data/option-contracts.ts';
import { type DayNumber, parseDay } from '../data/trading-days.ts';
import type { Leg, OrderTerms } from '../exchange/exchange-order.ts';
import { type Fixed, parseFixed } from '../exchange/fixed.ts';
import type { Instrument } from '../market/instruments.ts';
import { priceOf } from '../market/invent-terms.ts';

const occ = /^([A-Z0-9]{1,6})(\d{2})(\d{2})(\d{2})([CP])(\d{8})$/;

/** The parts of a compact OCC symbol (`AAPL261218C00200000`); undefined when it isn't one or its date does not exist. */
export function parseContract(symbol: string) {
  const [, root, year, month, day, right, strike] = occ.exec(symbol) ?? [];
  const expires = year === undefined ? undefined : parseDay(`20${year}-${month}-${day}`);
  if (root === undefined || expires === undefined) return undefined;
  return { root, expires, right: right === 'C' ? ('C' as const) : ('P' as const), strike: Number(strike) / 10 };
}

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

function premiumTicks(leg: Leg, instrument: Instrument, today: DayNumber): number {
  const listed = optionContract(leg.symbol);
  if (listed !== undefined) return theoreticalTicks(listed, instrument.ticks, today);
  const contract = parseContract(leg.symbol);
  if (contract === undefined) return 1;
  return theoreticalTicks({ ...contract, symbol: leg.symbol, underlying: instrument.symbol }, instrument.ticks, today);
}
