import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { expiryTextAfter } from '../data/option-contracts.ts';
import type { ExchangeAccount, ExchangeOrder, Leg, OrderTerms, Stream } from '../exchange/exchange-order.ts';
import { type Fixed, fixed, type Micros, whole } from '../exchange/wire-text.ts';
import { below, equities, happens, type Instrument, oneOf, predictionMarkets } from './instruments.ts';

// Account orders write these words in capitals, prediction orders in small letters. Sets: the
// market asks for them at every step.
const stops: ReadonlySet<string> = new Set(['stop', 'stop_limit', 'STOP', 'STOP_LIMIT']);
const immediateOrCancel: ReadonlySet<string> = new Set(['ioc', 'IOC']);
const fillOrKill: ReadonlySet<string> = new Set(['fok', 'FOK']);

/** A stop not touched yet: it must not trade. */
export function isStop(order: ExchangeOrder): boolean {
  return stops.has(order.workingOrderType);
}

export function isImmediateOrCancel(order: ExchangeOrder): boolean {
  return immediateOrCancel.has(timeInForceOf(order));
}

export function isFillOrKill(order: ExchangeOrder): boolean {
  return fillOrKill.has(timeInForceOf(order));
}

/**
 * Whether the time in force lets the order expire: a day order with any session, for the market's
 * own have no hours; a gtd order once it is due.
 */
export function mayExpire(order: ExchangeOrder, clock: Pick<Clock, 'nowMs'>): boolean {
  const timeInForce = timeInForceOf(order);
  return timeInForce === 'day' || timeInForce === 'DAY' || isDue(order, clock);
}

/** A gtd order whose time has come. */
export function isDue(order: ExchangeOrder, clock: Pick<Clock, 'nowMs'>): boolean {
  const { expireAt } = order.amended ?? order.terms;
  return expireAt !== undefined && expireAt <= clock.nowMs() * 1000;
}

function timeInForceOf(order: ExchangeOrder): string {
  return (order.amended ?? order.terms).timeInForce;
}

const accountSides = ['BUY', 'BUY', 'SELL', 'SELL', 'SELL_SHORT', 'BUY_TO_COVER'] as const;
const accountTypes = ['LIMIT', 'LIMIT', 'LIMIT', 'MARKET', 'STOP', 'STOP_LIMIT'] as const;
const accountTimes = ['DAY', 'DAY', 'GTC', 'IOC', 'FOK'] as const;
const predictionTypes = ['limit', 'limit', 'limit', 'market', 'stop', 'stop_limit'] as const;
const predictionTimes = ['day', 'gtc', 'gtc', 'ioc', 'fok', 'gtd'] as const;
const dayUs = 86_400 * 1_000_000;
const weekUs = 7 * dayUs;
const firstVersions = [
  1n,
  1n,
  1n,
  1n,
  1n,
  9_007_199_254_740_989n,
  9_007_199_254_741_990n,
  9_223_372_036_854_000_000n,
] as const;

/** Ticks of 0.01 as a price. */
export function priceOf(ticks: number): Fixed {
  return BigInt(ticks) * 10_000_000_000n;
}

/**
 * Draws new orders from a seed: account, instrument, quantity. The same draws give the same orders
 * at any time (but for `expireAt` and the options' month).
 */
export class TermsInventor {
  readonly equities: Instrument[] = equities();
  readonly predictions: Instrument[] = predictionMarkets();
  private count = 0;
  private monthly = { after: 0, text: '' };
  private readonly random: Random;
  private readonly maxLegs: number;

  constructor(random: Random, maxLegs = 4) {
    this.random = random;
    this.maxLegs = maxLegs;
  }

  /** The underlying or the prediction market with this name. */
  instrument(stream: Stream, symbol: string): Instrument | undefined {
    return (stream === 'account' ? this.equities : this.predictions).find((it) => it.symbol === symbol);
  }

  invent(stream: Stream, account: ExchangeAccount, now: Micros): OrderTerms {
    this.count += 1;
    return stream === 'account' ? this.accountTerms(account, now) : this.predictionTerms(account, now);
  }

  private accountTerms(account: ExchangeAccount, now: Micros): OrderTerms {
    const random = this.random;
    const instrument = oneOf(random, this.equities);
    const kind = random.next();
    const orderType = kind > 0.85 ? 'LIMIT' : oneOf(random, accountTypes);
    const legs =
      kind < 0.7
        ? undefined
        : this.legs(instrument, Math.min(this.maxLegs, kind > 0.85 ? 2 + below(random, 3) : 1), now);
    const side = legs?.[0]?.side ?? oneOf(random, accountSides);
    const ticks = Math.max(1, instrument.ticks + below(random, 41) - 20);
    return {
      stream: 'account',
      orderId: random.uuid(),
      account,
      symbol: instrument.symbol,
      legs,
      side,
      orderType,
      timeInForce: oneOf(random, accountTimes),
      quantity: legs === undefined ? this.quantity() : whole(1 + below(random, 20)),
      price: orderType.endsWith('LIMIT') ? priceOf(ticks) : undefined,
      stopPrice: orderType.startsWith('STOP') ? priceOf(ticks + 1) : undefined,
      clOrdId: `desk-${this.count.toString(36).padStart(7, '0')}`,
    };
  }

  private predictionTerms(account: ExchangeAccount, now: Micros): OrderTerms {
    const random = this.random;
    const instrument = oneOf(random, this.predictions);
    const orderType = oneOf(random, predictionTypes);
    const timeInForce = oneOf(random, predictionTimes);
    const ticks = Math.min(99, Math.max(1, instrument.ticks + below(random, 11) - 5));
    return {
      stream: 'prediction',
      orderId: random.uuid(),
      account,
      symbol: instrument.symbol,
      outcome: happens(random, 0.5) ? 'YES' : 'NO',
      side: happens(random, 0.5) ? 'buy' : 'sell',
      orderType,
      timeInForce,
      quantity: this.quantity(),
      price: orderType.endsWith('limit') ? priceOf(ticks) : undefined,
      stopPrice: orderType.startsWith('stop') ? priceOf(Math.min(99, ticks + 1)) : undefined,
      expireAt: timeInForce === 'gtd' ? now + weekUs : undefined,
      clOrdId: `P${this.count.toString(36).padStart(9, '0')}`,
      clientOrderRef: happens(random, 0.3) ? `ref:${below(random, 1_000_000)}` : undefined,
      placedBy: account.owner,
      version: oneOf(random, firstVersions),
    };
  }

  private quantity(): Fixed {
    const kind = this.random.next();
    if (kind < 0.6) return whole(100 * (1 + below(this.random, 20)));
    if (kind < 0.95) return whole(1 + below(this.random, 500));
    return fixed(`${1 + below(this.random, 50)}.${1 + below(this.random, 9)}25`);
  }

  /** The options' month that does not expire within a week. */
  private expiry(now: Micros): string {
    const day = Math.floor((now + weekUs) / dayUs);
    if (day !== this.monthly.after) this.monthly = { after: day, text: expiryTextAfter(day) };
    return this.monthly.text;
  }

  private legs(underlying: Instrument, count: number, now: Micros): Leg[] {
    const legs: Leg[] = [];
    const right = happens(this.random, 0.5) ? 'C' : 'P';
    const strike = Math.round(underlying.ticks / 100);
    const series = `${underlying.symbol.replace('.', '')}${this.expiry(now)}`;
    for (let i = 0; i < count; i += 1) {
      legs.push({
        symbol: `${series}${right}${String((strike + 5 * i) * 1000).padStart(8, '0')}`,
        side: i % 2 === 0 ? 'BUY' : 'SELL',
        ratioQty: i === 1 && count === 3 ? '2' : '1',
        positionEffect: happens(this.random, 0.7) ? 'OPEN' : 'CLOSE',
      });
    }
    return legs;
  }
}
