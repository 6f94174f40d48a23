import type { Clock, Timer } from '../../runtime/clock.ts';
import type { ExchangeOrder } from '../exchange/exchange-order.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FaultPlan } from './fault-plan.ts';
import type { OrderFault } from './fault-shapes.ts';

interface Concealment {
  readonly fault: OrderFault;
  readonly timer: Timer;
}

interface ConcealmentsDeps {
  readonly clock: Clock;
  readonly plan: FaultPlan;
  readonly ledger: Ledger;
  /** The order is no longer hidden. */
  readonly onShown: (order: ExchangeOrder) => void;
}

/**
 * Orders that exist, and that the platform's readers do not see, or not with their owner. A replica
 * that is behind, or an index still being built, shows them like this.
 *
 * An order's states here: concealed → plain, once. Invariant: a concealment ends after its time or
 * when it heals, whichever is first, and the truth (`GET /state`, the ledger's changes) never has
 * one.
 * Costs a test of emptiness if none is drawn.
 */
export class Concealments {
  private readonly concealed = new Map<ExchangeOrder, Concealment>();
  private readonly deps: ConcealmentsDeps;

  constructor(deps: ConcealmentsDeps) {
    this.deps = deps;
  }

  /** An order just placed, before any reader saw it. */
  meet(order: ExchangeOrder): void {
    const { stream, account, orderId, clOrdId, clientOrderRef } = order.terms;
    const reference = stream === 'account' ? clOrdId : clientOrderRef;
    const met = this.deps.plan.forOrder({ stream, accountId: account.id, reference });
    if (met === undefined) return;
    const { fault, forMs } = met;
    this.concealed.set(order, { fault, timer: this.deps.clock.after(forMs, () => this.lift(order)) });
    this.deps.ledger.enter('fault', { what: 'concealed', fault, forMs, stream, orderId, reference });
  }

  /** In no list, no GET and on no stream now. */
  hides(order: ExchangeOrder): boolean {
    return this.concealed.size > 0 && this.concealed.get(order)?.fault === 'hidden';
  }

  /** Shown without the caller's reference now. */
  bare(order: ExchangeOrder): boolean {
    return this.concealed.size > 0 && this.concealed.get(order)?.fault === 'unreferenced';
  }

  liftAll(): void {
    for (const order of [...this.concealed.keys()]) this.lift(order);
  }

  stop(): void {
    for (const { timer } of this.concealed.values()) timer.cancel();
    this.concealed.clear();
  }

  private lift(order: ExchangeOrder): void {
    const concealment = this.concealed.get(order);
    if (concealment === undefined) return;
    concealment.timer.cancel();
    this.concealed.delete(order);
    // Forgotten meanwhile: it is nowhere any more.
    if (concealment.fault === 'hidden' && order.entry !== undefined) this.deps.onShown(order);
  }
}

/** A connection that can be cut: the socket below HTTP or WebSocket. */
interface Cuttable {
  destroy(): void;
  once(event: 'close', listener: () => void): unknown;
}

/**
 * Connections that a fault left without an answer. They stay until the other side gives up, or
 * until it heals.
 */
export class HangingSockets {
  private readonly sockets = new Set<Cuttable>();

  add(socket: Cuttable): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
  }

  cutAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}
