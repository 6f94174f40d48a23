import { signal } from '@preact/signals-core';
import { cancelPath } from '../../../contract/order-path.ts';
import type { CommandAnswer } from '../../../contract/rest-answers.ts';
import { keyOf, type ListedOrder } from '../orders/order-row.ts';
import type { Answer, RestDeps } from '../rest.ts';
import { KeyedSend } from './keyed-send.ts';

/** One of the orders, with the answer to its cancel; undefined: it is on its way. */
interface CancelLine {
  readonly order: ListedOrder;
  readonly answer: Answer<CommandAnswer> | undefined;
}

const mostAtOnce = 4;

/**
 * Cancels of several orders, each under a key of its own. They name no revision: of many orders
 * one is always filled meanwhile, and the platform decides what a cancel finds. Invariant: an order
 * has one line, and a new key only after its cancel was taken.
 */
export class OrderCancels {
  readonly lines = signal<readonly CancelLine[]>([]);
  private readonly sends = new Map<string, KeyedSend<CommandAnswer>>();
  private readonly deps: RestDeps;

  constructor(deps: RestDeps) {
    this.deps = deps;
  }

  /** Lines of cancels that were taken before go; the others stay until they are sent again. */
  async send(orders: readonly ListedOrder[]): Promise<void> {
    const keys = new Set(orders.map(keyOf));
    const others = this.lines.peek().filter(({ order, answer }) => answer?.kind !== 'ok' && !keys.has(keyOf(order)));
    this.lines.value = [...others, ...orders.map((order) => ({ order, answer: undefined }))];
    const waiting = orders.values();
    const sendNext = async () => {
      for (const order of waiting) await this.cancel(order);
    };
    await Promise.all(Array.from({ length: mostAtOnce }, sendNext));
  }

  private async cancel(order: ListedOrder): Promise<void> {
    const key = keyOf(order);
    const keyed = this.sends.get(key) ?? new KeyedSend<CommandAnswer>(this.deps);
    this.sends.set(key, keyed);
    const answer = await keyed.send('DELETE', cancelPath(order));
    if (answer.kind === 'ok') this.sends.delete(key);
    this.lines.value = this.lines.peek().map((line) => (keyOf(line.order) === key ? { order, answer } : line));
  }
}
