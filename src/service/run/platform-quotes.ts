import {
  addDecimals,
  compareDecimals,
  type Decimal,
  divideDecimals,
  parseSpelledDecimal,
} from '../../domain/decimal.ts';
import type { Quote, Quoted } from '../../domain/measure-command.ts';
import { present } from '../../domain/present.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { Http } from '../../venue/http.ts';
import { readChartQuotes, readOptionsQuotes } from '../../venue/platform/market-data.ts';
import type { ReadDeps } from '../../venue/read-venue.ts';
import type { Quotes } from '../commands/order-entry.ts';
import type { EntryAccounts } from './platform-parts.ts';

interface PlatformQuotesDeps extends Ambient {
  readonly accounts: Pick<EntryAccounts, 'tokensFor'>;
  readonly http: Http;
  readonly metrics: Metrics['platform'];
}

/** Without the platform there is no quote. */
export const noQuotes: Quotes = { lastQuote: async () => undefined };

/** A command waits for this read, and further places of its account wait behind it. */
const readWithinMs = 2_000;
/** A burst of orders in one symbol costs one read. */
const reuseMs = 500;
const mostKept = 1_000;

interface Read {
  readonly quote: Promise<(Omit<Quote, 'ageMs'> & { readonly madeAtMs: number }) | undefined>;
  readonly untilMs: number;
}

/**
 * The port `Quotes` over the platform's market data: an equity's last price (the middle between bid
 * and ask if there is none), an option's middle between newest bid and ask, and each one's offer.
 * Without an ask an option has no quote: nothing bounds its trade price. A chart quote has no time
 * of its own: its age counts from the request.
 */
export class PlatformQuotes implements Quotes {
  private readonly reads = new Map<string, Read>();
  private readonly deps: PlatformQuotesDeps;
  private readonly baseUrl: string;

  constructor(deps: PlatformQuotesDeps, options: { readonly platformUrl: string }) {
    this.deps = deps;
    this.baseUrl = options.platformUrl;
  }

  async lastQuote(accountId: string, of: Quoted): Promise<Quote | undefined> {
    const { clock } = this.deps;
    const key = `${of.kind}:${of.symbol}`;
    const known = this.reads.get(key);
    const read = known !== undefined && known.untilMs > clock.monotonicMs() ? known : this.begin(key, accountId, of);
    const quote = await read.quote;
    if (quote === undefined) return undefined;
    const { madeAtMs, ...prices } = quote;
    // If it was made ahead of now, one of our two clocks is wrong. It may be old, and is no younger
    // than they differ.
    return { ...prices, ageMs: Math.abs(Math.round(clock.nowMs() - madeAtMs)) };
  }

  private begin(key: string, accountId: string, of: Quoted): Read {
    const { clock, log } = this.deps;
    if (this.reads.size >= mostKept) this.reads.clear();
    const abort = new AbortController();
    // The deadline also covers the token: the signal does not reach it.
    const quote = withDeadline(clock, readWithinMs, 'the read of a quote', this.ask(accountId, of, abort.signal)).catch(
      (err: unknown) => {
        abort.abort();
        log.warn({ err, symbol: of.symbol }, 'a quote could not be read');
        return undefined;
      },
    );
    const read = { quote, untilMs: clock.monotonicMs() + reuseMs };
    this.reads.set(key, read);
    return read;
  }

  private async ask(accountId: string, { kind, symbol }: Quoted, signal: AbortSignal): Promise<Awaited<Read['quote']>> {
    const { accounts, clock } = this.deps;
    const tokens = accounts.tokensFor(accountId);
    if (tokens === undefined) return undefined;
    const deps = { ...this.deps, tokens };
    if (kind === 'option') return optionQuote(deps, this.baseUrl, symbol, signal);
    const askedAtMs = clock.nowMs();
    const answer = await readChartQuotes(deps, this.baseUrl, [symbol], signal);
    const values = answer.ok ? answer.value.find(({ s }) => s.toUpperCase() === symbol.toUpperCase())?.v : undefined;
    const [last, bid, ask] = [positive(values?.lp), positive(values?.bid), positive(values?.ask)];
    return quoteOf(last ?? middle(bid, ask), { last, bid, ask }, askedAtMs);
  }
}

async function optionQuote(
  deps: ReadDeps,
  baseUrl: string,
  symbol: string,
  signal: AbortSignal,
): Promise<Awaited<Read['quote']>> {
  for await (const page of readOptionsQuotes(
    deps,
    baseUrl,
    { ticker: `O:${symbol}`, order: 'desc', limit: 1 },
    signal,
  )) {
    const [newest] = page.ok ? page.quotes : [];
    if (newest === undefined) return undefined;
    // Without its time a quote's age can't be judged.
    if (newest.sipTimestamp === undefined) return undefined;
    const [bid, ask] = [positive(newest.bidPrice), positive(newest.askPrice)];
    const madeAtMs = Number(BigInt(newest.sipTimestamp) / 1_000_000n);
    return ask === undefined ? undefined : quoteOf(middle(bid, ask), { last: undefined, bid, ask }, madeAtMs);
  }
  return undefined;
}

function positive(text: string | undefined): Decimal | undefined {
  const price = parseSpelledDecimal(text);
  return price !== undefined && compareDecimals(price, '0') > 0 ? price : undefined;
}

function quoteOf(
  price: Decimal | undefined,
  { last, bid, ask }: Record<'last' | 'bid' | 'ask', Decimal | undefined>,
  madeAtMs: number,
): Awaited<Read['quote']> {
  if (price === undefined && ask === undefined) return undefined;
  return present({ price, ask, last, bid, madeAtMs });
}

/** One side alone has no middle. */
function middle(bid: Decimal | undefined, ask: Decimal | undefined): Decimal | undefined {
  return bid === undefined || ask === undefined ? undefined : divideDecimals(addDecimals(bid, ask), '2');
}
