import { z } from 'zod';
import type { Random } from '../../runtime/random.ts';
import type { ExchangeAccount, ExchangeOrder } from '../exchange/exchange-order.ts';
import { type ActionDeps, actNow } from '../faults/act-now.ts';
import type { FaultAction, faultOrder } from '../faults/fault-shapes.ts';
import type { Market } from '../market/market.ts';
import type { Pacer } from '../market/pacer.ts';
import { registerUser } from '../register-cast.ts';
import { accountPart, type userPart } from '../sandbox-options.ts';
import type { EventFeed } from '../stream/event-feed.ts';
import type { VenueChange, VenueOptions } from '../venue/venue.ts';
import { type HandMadeOrder, openByHand } from './open-by-hand.ts';
import { applyOrderVerb, type OrderVerb } from './order-verbs.ts';

type FaultOrderParsed = ReturnType<(typeof faultOrder)['parse']>;

interface ControlDeps extends ActionDeps {
  readonly market: Market;
  readonly pacer: Pacer;
  readonly feed: EventFeed;
  readonly random: Random;
}

/** Body of `POST /accounts`. */
export const newAccount = accountPart.extend({ username: z.string() });
type NewAccount = z.output<typeof newAccount>;

/** Body of `POST /accounts/{id}`. */
export const accountChange = z.strictObject({
  /** As the accounts list shows it. */
  status: z.enum(['OPEN', 'CLOSED', 'RESTRICTED']).optional(),
  /** Whether the accounts list has it. An unlisted account can be read and written as before. */
  listed: z.boolean().optional(),
  predictions: z.boolean().optional(),
  /** At Alpaca: only this one of its key pairs is good from now on; at first it is 1. */
  keyNumber: z.int().positive().optional(),
});
type AccountChange = z.output<typeof accountChange>;

/** An expected refusal: the control port answers 404 or 409 with it. */
export interface ControlRefusal {
  readonly refused: 'unknown_order' | 'unknown_account' | 'unknown_symbol' | 'not_possible';
  readonly message: string;
}

/** The longest lag that a list may be asked for later, once lags are on. */
const historyMs = 60_000;

/**
 * The actions that a running sandbox takes from outside: the verbs for the control port, the
 * timeline, and tests in the same process.
 */
export class Controls {
  private readonly deps: ControlDeps;

  constructor(deps: ControlDeps) {
    this.deps = deps;
  }

  /**
   * Sets rates, adds rules and acts at once. Answers with how many connections, tokens or orders
   * each action met.
   */
  faults(order: FaultOrderParsed): { met: number[] } | ControlRefusal {
    const { parts } = this.deps;
    const missing = (order.now ?? []).find((action) => this.namesMissingAccount(action));
    if (missing !== undefined)
      return { refused: 'unknown_account', message: 'an action names an account that is not there' };
    parts.ledger.enter('fault', { what: 'set', order });
    parts.faults.set(order);
    parts.wire.set(order.wire ?? {});
    for (const rule of order.rules ?? []) parts.faults.addRule(rule);
    if (parts.faults.mayLag) parts.exchange.keepHistory(Math.max(historyMs, parts.faults.lagMs));
    return { met: (order.now ?? []).map((action) => actNow(this.deps, action) ?? 0) };
  }

  /**
   * Ends every fault: no rules, no rates, nothing held back or hidden, uncertain orders certain
   * again, the usual token lifetime, half-open and hanging connections cut. Events lost on the way
   * stay lost on the stream, and are in the lists.
   */
  heal(): void {
    const { parts, uncertainty } = this.deps;
    parts.faults.heal();
    parts.wire.heal();
    parts.exchange.keepHistory(0);
    parts.eventFaults.releaseAll();
    uncertainty.restoreAll();
    parts.entry.lateWrites.arriveAll();
    parts.concealments.liftAll();
    for (const session of parts.subscriptions.sessions) if (session.isHalfOpen) session.cut('rst');
    parts.hanging.cutAll();
    parts.tokens.restoreLifetime();
    parts.ledger.enter('fault', { what: 'healed' });
  }

  /**
   * Changes a second from now on; 0 stops the market: then a person's large order isn't filled
   * further either.
   */
  setRate(rate: number): void {
    this.deps.parts.ledger.enter('fault', { what: 'rate', rate: String(rate) });
    this.deps.pacer.setRate(rate);
    this.deps.parts.entry.venue.pause(rate === 0);
  }

  burst(count: number): void {
    this.deps.parts.ledger.enter('fault', { what: 'burst', count });
    this.deps.pacer.burst(count);
  }

  openOrder(made: HandMadeOrder): ExchangeOrder | ControlRefusal {
    const { exchange } = this.deps.parts;
    const account = exchange.accounts.get(made.accountId);
    if (account === undefined) return { refused: 'unknown_account', message: 'there is no such account' };
    if (made.stream === 'prediction' && !account.predictions)
      return { refused: 'not_possible', message: 'the account is not enrolled for prediction orders' };
    if (made.orderId !== undefined && exchange.orders.has(made.orderId))
      return { refused: 'not_possible', message: 'there is an order of this id' };
    return openByHand({ exchange, market: this.deps.market, random: this.deps.random }, account, made);
  }

  /** A user, new or in the place of an old one. The market trades the new accounts too. */
  openUser(user: z.output<typeof userPart>): void {
    registerUser(this.deps.parts.exchange, this.deps.parts.directory, user);
    this.deps.market.forgetPlaces();
  }

  /** A new account for an existing user. The clients that see the user see it too. */
  openAccount({ id, username, ...account }: NewAccount): ExchangeAccount | ControlRefusal {
    const { exchange, directory, ledger } = this.deps.parts;
    if (!directory.users.has(username)) return { refused: 'not_possible', message: 'there is no such user' };
    if (exchange.accounts.has(id)) return { refused: 'not_possible', message: 'there is such an account already' };
    ledger.enter('fault', { what: 'account_opened', accountId: id });
    const opened = { id, owner: username, status: 'OPEN', ...account };
    exchange.addAccount(opened);
    this.deps.market.forgetPlaces();
    return opened;
  }

  /**
   * Closes an account or opens it again, enrols it for prediction orders or takes that back. Its
   * orders stay as they are; the market makes no new ones if it may not. Readers learn it as from
   * any platform: the accounts list, refused reads and subscriptions. An account that a connection
   * may no longer follow falls silent there.
   */
  changeAccount(id: string, change: AccountChange): ExchangeAccount | ControlRefusal {
    const { parts, market } = this.deps;
    const account = parts.exchange.accounts.get(id);
    if (account === undefined) return { refused: 'unknown_account', message: 'there is no such account' };
    parts.ledger.enter('fault', { what: 'account', accountId: id, change });
    account.status = change.status ?? account.status;
    account.predictions = change.predictions ?? account.predictions;
    account.unlisted = change.listed === undefined ? account.unlisted : !change.listed;
    account.keyNumber = change.keyNumber ?? account.keyNumber;
    if (!account.predictions)
      for (const session of parts.subscriptions.of('prediction', id))
        parts.subscriptions.remove(session, 'prediction', id);
    market.forgetPlaces();
    return account;
  }

  moveOrder(orderId: string, verb: OrderVerb): ExchangeOrder | ControlRefusal {
    const { exchange } = this.deps.parts;
    const order = exchange.orders.get(orderId);
    if (order === undefined) return { refused: 'unknown_order', message: 'there is no such order' };
    const refusal = applyOrderVerb(exchange, this.deps.market, order, verb);
    if (refusal !== undefined) return { refused: 'not_possible', message: refusal };
    this.deps.parts.entry.venue.release(order);
    return order;
  }

  /** How the venue answers from now on. Answers with all its settings. */
  setVenue(change: VenueChange): VenueOptions {
    const { ledger, entry } = this.deps.parts;
    ledger.enter('fault', { what: 'venue', change });
    entry.venue.set(change);
    return entry.venue.options;
  }

  /**
   * The instrument trades at this price now, and meets the orders that wait for it. A prediction's
   * price is that of YES.
   */
  setPrice(symbol: string, ticks: number): { symbol: string; ticks: number } | ControlRefusal {
    const { ledger, entry } = this.deps.parts;
    const instrument = entry.instrument('account', symbol) ?? entry.instrument('prediction', symbol);
    if (instrument === undefined) return { refused: 'unknown_symbol', message: 'nothing of that name is traded' };
    if (entry.instrument('prediction', symbol) === instrument && ticks > 99)
      return { refused: 'not_possible', message: 'the price of a prediction lies below 1' };
    ledger.enter('fault', { what: 'price', symbol, ticks });
    instrument.ticks = ticks;
    return { symbol, ticks };
  }

  /** Ends the trading day at once: people's day orders expire. */
  endDay(): { expired: number } {
    this.deps.parts.ledger.enter('fault', { what: 'day_ended' });
    return { expired: this.deps.parts.entry.venue.endDay() };
  }

  /** Numbers for people and benchmarks. */
  status(): object {
    const { parts, market, pacer, feed } = this.deps;
    return {
      orders: parts.exchange.orders.size,
      forgotten: parts.exchange.forgotten,
      working: market.workingCount,
      changes: market.steps,
      eventsSent: feed.eventsSent,
      owedAndDropped: pacer.dropped,
      sessions: [...parts.subscriptions.sessions].map((session) => ({
        session: session.number,
        backlogBytes: session.backlogBytes,
        halfOpen: session.isHalfOpen,
        targets: [...session.targets.keys()],
      })),
      ledgerSeq: parts.ledger.lastSeq,
      faults: { ...parts.faults.describe(), wire: parts.wire.describe() },
    };
  }

  private namesMissingAccount(action: FaultAction): boolean {
    if (action.action !== 'unknown_gap' && action.action !== 'unknown_store_lost') return false;
    return !this.deps.parts.exchange.accounts.has(action.accountId);
  }
}
