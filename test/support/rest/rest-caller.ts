import { systemClock } from '../../../src/runtime/clock.ts';

export interface RestReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came, as a stranger's client would
  readonly body: any;
  readonly replayed: boolean;
  /** Monotonic: when the request that this answers was sent, the last of its tries. */
  readonly askedAtMs: number;
}

export interface RestAsk {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const answerWithinMs = 20_000;
const pauseMs = 50;

/**
 * A caller of REST that knows where each instance listens and not which of them holds an account,
 * as a load balancer would: each request goes to the next one in turn. One that is not answered, or
 * answered "not now" (503, 429), is asked again of the one after it, with the same key.
 */
export class RestCaller {
  private turns = 0;
  readonly addresses: readonly string[];

  constructor(addresses: readonly string[]) {
    this.addresses = addresses;
  }

  /**
   * The first answer that is about the request itself. Rejects when none comes within `deadlineMs`.
   */
  async ask(ask: RestAsk, deadlineMs = 300_000): Promise<RestReply> {
    const startedMs = systemClock.monotonicMs();
    const refusals: string[] = [];
    let turn = this.nextTurn();
    while (systemClock.monotonicMs() - startedMs < deadlineMs) {
      const reply = await this.once(ask, turn).catch((error: unknown) => {
        refusals.push(String((error as Error).cause ?? error));
        return undefined;
      });
      if (reply !== undefined && reply.status !== 503 && reply.status !== 429) return reply;
      if (reply !== undefined) refusals.push(`${reply.status} ${reply.body?.code}`);
      turn += 1;
      await systemClock.sleep(pauseMs);
    }
    throw new Error(
      `${ask.method} ${ask.path} was not answered within ${deadlineMs} ms: ${refusals.slice(-6).join(', ')}`,
    );
  }

  /** One request to one instance. Rejects when it is not there, or goes away meanwhile. */
  async once({ method, path, body, key, headers }: RestAsk, turn = this.nextTurn()): Promise<RestReply> {
    const base = this.addresses[turn % this.addresses.length];
    const askedAtMs = systemClock.monotonicMs();
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(answerWithinMs),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? undefined : JSON.parse(text),
      replayed: response.headers.get('idempotent-replayed') === 'true',
      askedAtMs,
    };
  }

  /** All items of a list. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came
  async all(path: string): Promise<any[]> {
    const items = [];
    for (let cursor = ''; ; ) {
      const join = path.includes('?') ? '&' : '?';
      const { status, body } = await this.ask({ method: 'GET', path: `${path}${join}limit=500${cursor}` });
      if (status !== 200) throw new Error(`GET ${path} was answered ${status}: ${JSON.stringify(body)}`);
      items.push(...body.items);
      if (body.next === undefined) return items;
      cursor = `&cursor=${encodeURIComponent(body.next)}`;
    }
  }

  private nextTurn(): number {
    this.turns += 1;
    return this.turns;
  }
}
