import { decodeHead } from '../../../src/domain/head.ts';
import { isTerminal } from '../../../src/domain/order.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { type ExchangeOrder, isClosed, type OrderTerms } from '../../../src/sandbox/exchange/exchange-order.ts';
import { instantText } from '../../../src/sandbox/exchange/wire-text.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { SimulatedWorld } from '../simulated-world.ts';

/** Between an order's end, which is known here, and the order that its id is given to. */
const restMs = 4_000;
const everyMs = 1_500;

/**
 * A platform that gives ids of ended orders again: to orders of the market, and to ours. And people
 * who cancel what one principal has placed, or its places as they land: none of that may meet an
 * order of somebody else (`CommandWatch`).
 */
export class IdReuse {
  private readonly world: SimulatedWorld;
  private readonly random: Random;

  constructor(world: SimulatedWorld, random: Random) {
    this.world = world;
    this.random = random;
  }

  /** Until `goesOn` says no. `share`: of new orders that get the id of another one. */
  begin(goesOn: () => boolean, share = 0.8): void {
    const { exchange, bare } = this.world.platform;
    // Rows without a reference and a creation are of any order under the id: decision 091.
    bare.share = 0;
    const open = exchange.open.bind(exchange);
    exchange.open = (terms, ...rest) => {
      const isNew = rest[2] === undefined && goesOn() && happens(this.random, share);
      const before = isNew ? this.draw(terms) : undefined;
      if (before === undefined) return open(terms, ...rest);
      const key = this.world.platform.keyOf(before);
      this.world.trace.add('platform', 'gives again', key);
      this.world.platform.reused.add(key);
      exchange.forget(before);
      return open({ ...terms, orderId: before.terms.orderId }, ...rest);
    };
    this.sweep(goesOn);
  }

  /** One that ended a while ago, and is known here to have. */
  private draw({ account, stream }: OrderTerms): ExchangeOrder | undefined {
    const { platform, database, clock } = this.world;
    const untilMs = clock.nowMs() - restMs;
    const ended = [...platform.exchange.orders.values()].filter((order) => {
      const { terms, closedAt = Number.POSITIVE_INFINITY } = order;
      if (terms.account !== account || terms.stream !== stream || !isClosed(order.state)) return false;
      if (Number(closedAt) / 1000 > untilMs || platform.corrected.has(order)) return false;
      const row = database.heads.get(platform.keyOf(order));
      if (row === undefined) return false;
      const { status, updatedAt, commandId } = decodeHead(row).order;
      // Rows may leave a reference out: what is ours must have been seen to be.
      const isOurs = (terms.clientOrderRef ?? terms.clOrdId).startsWith('tm-');
      return isTerminal(status) && updatedAt === instantText(order.updatedAt) && (!isOurs || commandId !== undefined);
    });
    return ended.length === 0 ? undefined : oneOf(this.random, ended);
  }

  private sweep(goesOn: () => boolean): void {
    if (!goesOn()) return;
    const { services, platform, clock, trace } = this.world;
    const accountId = oneOf(this.random, platform.accounts).id;
    const process = services.find(({ host, held }) => !host.crashed && held.follows(accountId));
    const only = { principal: oneOf(this.random, ['desk', 'algo']) };
    const word = { by: 'on-call', reason: 'the simulation says so', requestId: this.random.uuid() };
    const idempotencyKey = this.random.uuid();
    process?.host.deliver(() => {
      trace.add('operator', 'cancels all of', `${only.principal} in ${accountId}`);
      void process.commands.cancelAll({ kind: 'account', accountId, only }, { ...word, idempotencyKey });
    });
    clock.after(this.random.next() * everyMs * 2, () => this.sweep(goesOn));
  }
}
