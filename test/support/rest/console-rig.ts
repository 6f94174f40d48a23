import { ConsoleState } from '../../../src/console/state/console-state.ts';
import type { HttpAnswer, Ports } from '../../../src/console/state/ports.ts';
import type { OrderUpdate } from '../../../types/records.d.ts';
import { sampleUpdate } from '../orders/sample-update.ts';

/** One stream that the console opened: the test writes to it, and cuts it. */
interface OpenedStream {
  readonly lastEventId: string | undefined;
  send(text: string): Promise<void>;
  cut(): Promise<void>;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * The console's state without a browser: the test answers its requests,
 * draws its frames and lets its time pass.
 */
export class ConsoleRig {
  readonly asked: Asked[] = [];
  readonly streams: OpenedStream[] = [];
  readonly state: ConsoleState;
  /** Of the token, or of every reader where none is needed. */
  readonly rights: { principal: string; signIn: boolean; scopes: string[]; commands: 'on' | 'off'; streams: string[] } =
    {
      principal: 'desk',
      signIn: false,
      scopes: ['orders:read', 'orders:write', 'ops:read', 'ops:write'],
      commands: 'on',
      streams: ['account', 'prediction'],
    };
  /**
   * Answers by path and query, with the method before it where it
   * is not GET; one that is missing is 404.
   */
  readonly answers = new Map<string, { status: number; body: unknown }>();
  /** Requests without an answer, in the words of `answers`: the connection is cut. */
  readonly away = new Set<string>();
  /** Requests whose answer is as old as the request, and comes later. */
  readonly held = new Map<string, Promise<void>>();
  /** Tokens that are accepted; undefined: none is needed. */
  tokens: string[] | undefined;
  /** Texts that the tab keeps. */
  readonly stored = new Map<string, string>();
  /** Texts that stay for later visits. */
  readonly laidOut = new Map<string, string>();
  /** The address of the page, and those for which it was left. */
  address = { path: '/console', query: '' };
  readonly left: string[] = [];
  /** The issuer, at another origin. */
  askIssuer: Ports['askIssuer'] = () => Promise.reject(new TypeError('nothing answers'));
  nowMs = 0;
  /** How often the state let others have their turn. */
  turns = 0;
  private ids = 0;
  private timers: { atMs: number; run: () => void }[] = [];
  private frames: (() => void)[] = [];

  constructor() {
    this.answers.set('/v1/me', { status: 200, body: this.rights });
    this.answers.set('/v1/status', { status: 200, body: { trust: { trusted: true, doubts: [] } } });
    this.answers.set('/v1/orders?open=true&limit=500', { status: 200, body: { items: [] } });
    this.state = new ConsoleState(this.ports());
  }

  /** The token that the tab keeps. */
  get kept(): string | undefined {
    return this.stored.get('tidemark.token');
  }

  set kept(token: string | undefined) {
    if (token === undefined) this.stored.delete('tidemark.token');
    else this.stored.set('tidemark.token', token);
  }

  /** Lets everything that is ready run. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    const due = this.timers.filter(({ atMs }) => atMs <= this.nowMs);
    this.timers = this.timers.filter(({ atMs }) => atMs > this.nowMs);
    for (const { run } of due) run();
    await this.settle();
  }

  /** The machine sleeps: no timer counts this time, and no connection survives it. */
  sleep(ms: number): void {
    this.nowMs += ms;
    for (const timer of this.timers) timer.atMs += ms;
  }

  /** Draws one frame; returns how many were asked for. */
  draw(): number {
    const due = this.frames.splice(0);
    for (const run of due) run();
    return due.length;
  }

  private ports(): Ports {
    return {
      fetch: (path, request) => this.answer(path, request),
      nowMs: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      after: (ms, run) => {
        const timer = { atMs: this.nowMs + ms, run };
        this.timers.push(timer);
        return {
          cancel: () => {
            this.timers = this.timers.filter((other) => other !== timer);
          },
        };
      },
      frame: (run) => this.frames.push(run),
      turn: () => {
        this.turns += 1;
        return new Promise((resolve) => setImmediate(resolve));
      },
      random: () => 0.5,
      newId: () => {
        this.ids += 1;
        return `id-${this.ids}`;
      },
      tabStore: storeIn(this.stored),
      keptStore: storeIn(this.laidOut),
      askIssuer: (url, request) => this.askIssuer(url, request),
      page: {
        origin: 'http://127.0.0.1:8080',
        secure: true,
        address: () => this.address,
        show: (address) => {
          const { pathname, search } = new URL(address, 'http://127.0.0.1');
          this.address = { path: pathname, query: search };
        },
        leaveFor: (url) => this.left.push(url),
        whenSeen: (run) => run(),
      },
    };
  }

  private async answer(
    path: string,
    { method, headers, body, signal }: Parameters<Ports['fetch']>[1],
  ): Promise<HttpAnswer> {
    this.asked.push({ method, path, headers, body: body === undefined ? undefined : JSON.parse(body) });
    const token = headers['authorization']?.replace(/^Bearer /, '');
    if (path.startsWith('/v1/') && this.tokens !== undefined && (token === undefined || !this.tokens.includes(token)))
      return plain(401, { code: 'INVALID_TOKEN', detail: 'no' });
    if (path.startsWith('/v1/stream'))
      return { ...plain(200, undefined), body: this.openStream(headers['last-event-id'], signal) };
    const words = method === 'GET' ? path : `${method} ${path}`;
    if (this.away.has(words)) throw new Error('cut');
    const answer = this.answers.get(words);
    await this.held.get(words);
    return plain(answer?.status ?? 404, answer?.body ?? { code: 'NOT_FOUND', detail: 'no' });
  }

  private openStream(lastEventId: string | undefined, signal: AbortSignal): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        signal.addEventListener('abort', () => controller.error(new Error('aborted')));
        this.streams.push({
          lastEventId,
          send: async (text) => {
            controller.enqueue(encoder.encode(text));
            await this.settle();
          },
          cut: async () => {
            controller.error(new Error('cut'));
            await this.settle();
          },
        });
      },
    });
  }
}

function storeIn(texts: Map<string, string>): Ports['tabStore'] {
  return {
    read: (name) => texts.get(name),
    write: (name, text) => texts.set(name, text),
    forget: (name) => texts.delete(name),
  };
}

function plain(status: number, body: unknown): HttpAnswer {
  return { status, headers: { get: () => null }, body: null, text: async () => JSON.stringify(body) };
}

/** An update of an account order as the stream carries it. */
export function updateOf(over: Parameters<typeof sampleUpdate>[0] = {}): OrderUpdate {
  return JSON.parse(sampleUpdate(over)) as OrderUpdate;
}

/** The same as an event of the stream. */
export function eventOf(id: number, over: Parameters<typeof sampleUpdate>[0] = {}): string {
  return `id: ${id}\nevent: update\ndata: ${sampleUpdate(over)}\n\n`;
}

/** The order of an update as lists of REST have it. */
export function listedOf({ stream, orderId, accountId, revision, order }: OrderUpdate) {
  return { stream, orderId, accountId, revision, order };
}
