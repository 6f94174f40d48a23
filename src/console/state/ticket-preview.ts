import { type Signal, signal } from '@preact/signals-core';
import type { PreviewAnswer } from '../../contract/preview-answer.ts';
import { sameSymbol } from '../../domain/symbol.ts';
import {
  faultsIn,
  fieldsShown,
  forQuotes,
  isEmpty,
  isWhole,
  requestOf,
  type TicketFields,
} from './commands/ticket-body.ts';
import { directionOf } from './orders/order-row.ts';
import { type Ports, pause } from './ports.ts';
import { type Answer, type Rest, sentenceOf } from './rest.ts';
import { compareDecimals, plainNumber, unitsOf } from './text/decimal-text.ts';

export interface PreviewState {
  /** The service's last word, on these fields or on the ones before. */
  readonly said?: PreviewAnswer;
  /** False: the fields were not all filled in, and it has the quotes alone. */
  readonly isWhole?: boolean;
  /** When it said that, by the monotonic clock. */
  readonly saidAtMs?: number;
  /** `said` is about fields that were changed since. */
  readonly isOld: boolean;
  /** Why there is no newer answer, for people. */
  readonly note?: string;
  /** By the ticket's field. */
  readonly faults?: ReadonlyMap<string, string>;
}

/** A person who types on does not ask for each letter. */
const restMs = 400;
/** Quotes move while a person looks at the ticket. */
const againMs = 5_000;

/**
 * The service's word on a ticket before it is sent: quotes, value, limits, refusals. It asks for
 * previews alone, which place nothing.
 */
export class TicketPreview {
  readonly state: Signal<PreviewState> = signal<PreviewState>({ isOld: false });
  private asking = new AbortController();
  private readonly ports: Ports;
  private readonly rest: Rest;

  constructor({ ports, rest }: { readonly ports: Ports; readonly rest: Rest }) {
    this.ports = ports;
    this.rest = rest;
  }

  /**
   * The fields as they are now. Goes on asking until the next call or `close`; an answer about
   * earlier fields is dropped. Never rejects.
   */
  async ask(fields: TicketFields): Promise<void> {
    this.close();
    const { signal } = this.asking;
    const whole = isWhole(fields);
    // A prediction market has no quotes.
    if (!whole && (fields.kind === 'prediction' || ['accountId', 'symbol'].some((name) => isEmpty(fields, name)))) {
      this.state.value = { isOld: false };
      return;
    }
    this.state.value = { ...this.state.peek(), isOld: true };
    const { path, body } = requestOf(whole ? fields : forQuotes(fields));
    await pause(this.ports, restMs, signal);
    while (!signal.aborted) {
      const answer = await this.rest.send<PreviewAnswer>('POST', `${path}/preview`, { body });
      if (signal.aborted) return;
      this.state.value = this.after(answer, whole ? fields : undefined);
      // The fields themselves are at fault: only other fields have another answer.
      if (answer.kind === 'problem' && answer.faults.length > 0) return;
      await pause(this.ports, againMs, signal);
      await new Promise<void>((resolve) => this.ports.page.whenSeen(resolve));
    }
  }

  /** Nothing is asked any more. */
  close(): void {
    this.asking.abort();
    this.asking = new AbortController();
  }

  /** `whole`: undefined where the fields were not all filled in. */
  private after(answer: Answer<PreviewAnswer>, whole: TicketFields | undefined): PreviewState {
    const isWhole = whole !== undefined;
    if (answer.kind === 'ok') return { said: answer.body, isWhole, saidAtMs: this.ports.monotonicMs(), isOld: false };
    const given = answer.kind === 'problem' ? answer.faults : [];
    if (given.length === 0) return { ...this.state.peek(), isOld: true, note: sentenceOf(answer) };
    // Of words that the reader has not chosen, there is nothing to say.
    if (whole === undefined) return { isOld: false };
    const { faults, why } = faultsIn(given, whole);
    return { isOld: false, faults, note: why === undefined ? 'Look at the fields that are marked.' : `${why}.` };
  }
}

/** Undefined: several legs, which have no quote as a whole. */
export function tradedIn(fields: TicketFields): { readonly symbol: string; readonly side: string } | undefined {
  const [traded, ...others] = fieldsShown(fields).legs ? fields.legs : [fields];
  return others.length > 0 ? undefined : traded;
}

/** The ticket's quote, and the side of it that the order would meet. */
export function quoteOf(fields: TicketFields, quotes: PreviewAnswer['quotes'] = []) {
  const traded = tradedIn(fields);
  if (traded === undefined || traded.side === '') return undefined;
  const quote = quotes.find(({ symbol }) => sameSymbol(symbol, traded.symbol));
  return quote && ({ quote, side: directionOf(traded.side.toLowerCase()) === 'buy' ? 'ask' : 'bid' } as const);
}

/** A price of the ticket, and the side of the quote that it meets. */
interface Crossing {
  readonly own: string;
  readonly market: string;
  readonly side: 'ask' | 'bid';
  /** It meets the quote as a limit; else as a stop. */
  readonly isLimit: boolean;
  readonly ageMs: number | undefined;
}

/**
 * Where the order would trade, or its stop be triggered, at once by this quote. As typed just now:
 * the next answer may come after the click. Undefined also where nothing can be compared: several
 * legs have no quote of their own, and a prediction market has none.
 */
export function crossingOf(fields: TicketFields, quotes?: PreviewAnswer['quotes']): Crossing | undefined {
  const { price, stopPrice } = fieldsShown(fields);
  const { quote, side = 'ask' } = quoteOf(fields, quotes) ?? {};
  const [isLimit, own] = [!stopPrice, plainNumber(stopPrice ? fields.stopPrice : price ? fields.price : '')];
  const market = quote?.[side];
  if (market === undefined || unitsOf(own) === undefined) return undefined;
  const above = compareDecimals(own, market);
  // A stop waits on the other side of the market.
  const isBeyond = (side === 'ask') === isLimit ? above >= 0 : above <= 0;
  return isBeyond ? { own, market, side, isLimit, ageMs: quote?.ageMs } : undefined;
}
