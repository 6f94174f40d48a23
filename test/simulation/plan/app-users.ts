import type { Random } from '../../../src/runtime/random.ts';
import { placeAlpacaOrder, replaceAlpacaOrder } from '../../../src/sandbox/alpaca/alpaca-order-writes.ts';
import { readPatch, readPlace } from '../../../src/sandbox/alpaca/read-alpaca-order.ts';
import { isClosed } from '../../../src/sandbox/exchange/exchange-order.ts';
import { below, happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { SimulatedWorld } from '../simulated-world.ts';

const body = (members: object) => Buffer.from(JSON.stringify(members));

/** Exits of a buy around 100. */
const groups = [
  { order_class: 'bracket', take_profit: { limit_price: '105' }, stop_loss: { stop_price: '95' } },
  { order_class: 'bracket', take_profit: { limit_price: '105' }, stop_loss: { stop_price: '95', limit_price: '94' } },
  { order_class: 'oto', stop_loss: { stop_price: '95' } },
  {},
] as const;

/**
 * People in Alpaca's own app: they place orders with exits, and for amounts, and replace orders,
 * ours among them. A new order has a reference of its own.
 */
export class AppUsers {
  private readonly world: SimulatedWorld;
  private readonly random: Random;

  constructor(world: SimulatedWorld, random: Random) {
    this.world = world;
    this.random = random;
  }

  /** Until `goesOn` says no. */
  begin(goesOn: () => boolean, everyMs: number): void {
    if (!goesOn()) return;
    if (happens(this.random, 0.4)) this.place();
    else this.replace();
    this.world.clock.after(this.random.next() * everyMs * 2, () => this.begin(goesOn, everyMs));
  }

  private place(): void {
    const { platform, trace } = this.world;
    const account = oneOf(this.random, platform.accounts);
    const qty = String(1 + below(this.random, 20));
    const order = { symbol: 'AAPL', side: 'buy', time_in_force: 'day' };
    const limited = { ...order, type: 'limit', qty, limit_price: '100', ...oneOf(this.random, groups) };
    const isAmount = happens(this.random, 0.1);
    const placed = readPlace(body(isAmount ? { ...order, type: 'market', notional: '500' } : limited));
    trace.add('app user', 'places', `${account.id} ${isAmount ? 'amount' : (placed.group?.kind ?? 'simple')}`);
    placeAlpacaOrder(platform.entered.entry, account, placed).attempt();
  }

  private replace(): void {
    const { platform, trace } = this.world;
    const { entered, exchange } = platform;
    const open = [...exchange.orders.values()].filter((order) => entered.has(order) && !isClosed(order.state));
    if (open.length === 0) return;
    const { terms, workingPrice } = oneOf(this.random, open);
    const qty = String(1 + below(this.random, 30));
    const patch = readPatch(body({ qty, ...(workingPrice !== undefined && { limit_price: '101' }) }));
    trace.add('app user', 'replaces', terms.orderId);
    replaceAlpacaOrder(entered.entry, terms.account, terms.orderId, patch).attempt();
  }
}
