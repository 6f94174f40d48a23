import { systemClock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { RestAsk, RestCaller, RestReply } from '../rest/rest-caller.ts';

type LoadStream = 'account' | 'prediction' | 'alpaca_paper';

interface AskedCommand {
  readonly kind: 'place' | 'replace' | 'cancel';
  readonly stream: LoadStream;
  readonly accountId: string;
  readonly orderId?: string;
  /** No two commands of a load ask for the same: what the platform did can be told apart by it. */
  readonly quantity?: string;
  readonly callerRef?: string;
}

interface Acknowledged {
  readonly commandId: string;
  readonly asked: AskedCommand;
  /** Monotonic: when the first such answer had come. */
  readonly atMs: number;
}

interface KnownOrder {
  readonly stream: LoadStream;
  readonly orderId: string;
  readonly accountId: string;
  replaces: number;
  cancelled: boolean;
}

interface LoadAccount {
  readonly id: string;
  readonly predictions: boolean;
  /** The stream of its securities; `account` unless it says so. */
  readonly securities?: 'account' | 'alpaca_paper';
}

const firstQuantity = 10;
const lookEveryMs = 400;

/**
 * A caller that places on all streams of its accounts, replaces and cancels its own orders, repeats
 * a key after each broken answer, and sends a fifth of its commands several times at once. It
 * resumes what was halted, as the person on call would.
 *
 * Invariant: `acknowledged` holds one entry for each key that was ever answered 200 or 202; what
 * contradicts an earlier answer is in `contradictions`. Of requests under way at the same time, one
 * may be declined before another opens the command, and its answer may come last.
 */
export class CommandLoad {
  readonly acknowledged = new Map<string, Acknowledged>();
  readonly contradictions: string[] = [];
  /** By code: nothing was journaled for these. */
  readonly declined = new Map<string, number>();
  resumes = 0;
  private stopped = false;
  private asked = 0;
  private readonly orders = new Map<string, KnownOrder>();
  private readonly deps: {
    readonly rest: RestCaller;
    readonly random: Random;
    readonly accounts: readonly LoadAccount[];
  };

  constructor(deps: { rest: RestCaller; random: Random; accounts: readonly LoadAccount[] }) {
    this.deps = deps;
  }

  /**
   * Sends until `enough` is true of it. Rejects when a command is neither
   * acknowledged nor declined within its deadline.
   */
  async run(enough: () => boolean, atOnce: number): Promise<void> {
    const looking = new AbortController();
    const look = this.lookForOrders(looking.signal);
    const worker = async () => {
      while (!this.stopped && !enough()) await this.sendOne();
    };
    try {
      await Promise.all(Array.from({ length: atOnce }, worker));
    } finally {
      looking.abort();
      await look;
    }
  }

  /** No new commands. */
  stop(): void {
    this.stopped = true;
  }

  private async sendOne(): Promise<void> {
    this.asked += 1;
    const index = this.asked;
    const asked = this.draw(index);
    const request = { ...restAsk(asked, index), key: `key-${index}` };
    const copies = this.deps.random.next() < 0.2 ? 2 + Math.floor(this.deps.random.next() * 3) : 1;
    await Promise.all(Array.from({ length: copies }, () => this.send(request, asked)));
    // And once more, long after: the same key is the same command.
    if (this.deps.random.next() < 0.1) await this.send(request, asked);
  }

  private async send(request: RestAsk & { readonly key: string }, asked: AskedCommand): Promise<void> {
    for (;;) {
      const reply = await this.deps.rest.ask(request);
      if (reply.status === 200 || reply.status === 202) return this.note(request.key, asked, reply);
      if (reply.body?.code !== 'PLACING_HALTED') return this.noteDeclined(request.key, reply);
      await this.resume(asked.accountId);
    }
  }

  private note(key: string, asked: AskedCommand, { body }: RestReply): void {
    const earlier = this.acknowledged.get(key);
    if (earlier !== undefined && earlier.commandId !== body.commandId)
      this.contradictions.push(`${key} was ${earlier.commandId} and then ${body.commandId}`);
    const atMs = earlier?.atMs ?? systemClock.monotonicMs();
    this.acknowledged.set(key, { commandId: body.commandId, asked, atMs });
    if (asked.kind === 'place' && typeof body.orderId === 'string')
      this.know(asked.stream, body.orderId, asked.accountId);
  }

  private noteDeclined(key: string, { status, body, askedAtMs }: RestReply): void {
    const code = `${status} ${body?.code}`;
    const acknowledged = this.acknowledged.get(key);
    if (acknowledged !== undefined && acknowledged.atMs <= askedAtMs)
      this.contradictions.push(`${key} was acknowledged and then declined: ${code}, ${body?.detail}`);
    this.declined.set(code, (this.declined.get(code) ?? 0) + 1);
  }

  private async resume(accountId: string): Promise<void> {
    this.resumes += 1;
    for (const path of [`/v1/accounts/${accountId}/resume`, '/v1/resume'])
      await this.deps.rest.ask({ method: 'POST', path, body: { reason: 'looked at it: go on' } });
  }

  private draw(index: number): AskedCommand {
    const draw = this.deps.random.next();
    const quantity = String(firstQuantity + index);
    if (draw < 0.2) {
      const order = this.pick((one) => one.stream !== 'account' && one.replaces < 3 && !one.cancelled);
      if (order !== undefined) {
        order.replaces += 1;
        return { kind: 'replace', stream: order.stream, accountId: order.accountId, orderId: order.orderId, quantity };
      }
    } else if (draw < 0.4) {
      const order = this.pick((one) => !one.cancelled);
      if (order !== undefined) {
        order.cancelled = true;
        return { kind: 'cancel', stream: order.stream, accountId: order.accountId, orderId: order.orderId };
      }
    }
    const enrolled = this.deps.accounts.filter(({ predictions }) => predictions);
    const isSecurity = draw < 0.7 || enrolled.length === 0;
    const accounts = isSecurity ? this.deps.accounts : enrolled;
    const account = accounts[index % accounts.length];
    if (account === undefined) throw new Error('no account to place on');
    const stream = isSecurity ? (account.securities ?? 'account') : 'prediction';
    return { kind: 'place', stream, accountId: account.id, quantity, callerRef: `ref-${index}` };
  }

  private pick(fits: (order: KnownOrder) => boolean): KnownOrder | undefined {
    const fitting = [...this.orders.values()].filter(fits);
    return fitting[Math.floor(this.deps.random.next() * fitting.length)];
  }

  private know(stream: LoadStream, orderId: string, accountId: string): void {
    if (!this.orders.has(orderId))
      this.orders.set(orderId, { stream, orderId, accountId, replaces: 0, cancelled: false });
  }

  /** The ids of account orders are learnt from the stream: the answer to their place has none. */
  private async lookForOrders(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await systemClock.sleep(lookEveryMs);
      const { rest } = this.deps;
      const reply = await rest.once({ method: 'GET', path: '/v1/orders?open=true&limit=500' }).catch(() => undefined);
      for (const { stream, orderId, accountId, order } of reply?.status === 200 ? reply.body.items : [])
        if (order.origin === 'tidemark') this.know(stream, orderId, accountId);
    }
  }
}

/**
 * Prices spread around the market: some rest, some are filled at once, and some are filled in parts
 * while they are replaced.
 */
function restAsk({ kind, stream, accountId, orderId = '', quantity, callerRef }: AskedCommand, index: number): RestAsk {
  const account = encodeURIComponent(accountId);
  const orders = stream === 'prediction' ? '/v1/predictions/orders' : '/v1/orders';
  if (kind === 'cancel') {
    const query = `accountId=${account}${stream === 'alpaca_paper' ? `&stream=${stream}` : ''}`;
    return { method: 'DELETE', path: `${orders}/${encodeURIComponent(orderId)}?${query}` };
  }
  if (kind === 'replace')
    return {
      method: 'PATCH',
      path: `${orders}/${encodeURIComponent(orderId)}`,
      body: stream === 'alpaca_paper' ? { accountId, stream, qty: quantity } : { accountId, quantity },
    };
  if (stream !== 'prediction') {
    const price = index % 5 === 0 ? '230' : `${100 + (index % 50)}`;
    const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', timeInForce: 'GTC', price };
    return { method: 'POST', path: orders, body: { accountId, stream, ...terms, qty: quantity, clientId: callerRef } };
  }
  const price = index % 5 === 0 ? '0.7' : `0.${10 + (index % 40)}`;
  const terms = { symbol: 'FED-CUT-DEC26', outcome: 'YES', side: 'buy', orderType: 'limit', timeInForce: 'gtc', price };
  return {
    method: 'POST',
    path: orders,
    body: { accountId, ...terms, quantity, clientOrderRef: callerRef },
  };
}
