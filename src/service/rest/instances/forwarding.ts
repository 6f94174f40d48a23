import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { present } from '../../../domain/present.ts';
import type { Ambient } from '../../../observability/ambient.ts';
import type { RestMetrics } from '../../../observability/metrics.ts';
import { Backoff } from '../../../runtime/backoff.ts';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import { Secret } from '../../../runtime/secret.ts';
import { abortWith } from '../../../runtime/waiting.ts';
import { type Answer, type Declined, isDeclined, isOfThisProcess } from '../../commands/answer.ts';
import type { InstanceAnswer, InstanceHttp, OtherInstance, OtherInstances } from '../../fleet/other-instances.ts';
import { preferredWaitSeconds } from '../request-headers.ts';
import { sendProblem } from '../send-answer.ts';

interface ForwardingDeps extends Ambient {
  readonly http: InstanceHttp;
  readonly others: OtherInstances;
  readonly metrics: RestMetrics;
}

interface ForwardingOptions {
  /** This process's name in `Tidemark-Instance`. */
  readonly instance: string;
  /**
   * At one other instance. Further requests for it get this process's answer, without any effect.
   */
  readonly mostInFlight: number;
  /**
   * Below the time after which the others take over from a silent instance. The caller's own wait
   * is added.
   */
  readonly answerWithinMs: number;
  /**
   * A request waits so long for a process that takes it: an operator's act, and an order. A moving
   * shard is without one for a second, a dead process's shard for a lease.
   */
  readonly actWaitMs: number;
  readonly orderWaitMs: number;
}

export interface AnyCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Our span's: the other instance continues it. Left out: the caller's. */
  readonly traceparent?: string | undefined;
  /** How much longer than usual its answer may take. */
  readonly patienceMs?: number;
  /** Instead of the caller's: a path of ours with its query. */
  readonly url?: string;
}

interface SendOptions {
  /** The account it is about, if it is one: only its holder may answer. */
  readonly accountId?: string | undefined;
  /** No caller waits for the answer any more. */
  readonly signal?: AbortSignal;
}

type Forwarded =
  | InstanceAnswer
  /** It may have been carried out. */
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'not_sent' };

export type FromElsewhere =
  | { readonly kind: 'answered'; readonly answer: InstanceAnswer; readonly by: OtherInstance }
  | { readonly kind: 'unanswered' };

/** How often an instance without an answer is looked up: from memory. */
const lookEveryMs = 250;
/** Between two tries. */
const pauses = { firstMs: 250, maxMs: 1_000 };

/**
 * The caller's headers for the other instance. Those for browsers stay here, where they were
 * checked.
 */
const passedOn = ['idempotency-key', 'prefer', 'if-match', 'traceparent', 'tracestate'] as const;
const givenBack = [
  'content-type',
  'location',
  'retry-after',
  'idempotent-replayed',
  'preference-applied',
  'ratelimit',
  'ratelimit-policy',
  'www-authenticate',
] as const;

/**
 * The one way of a request to the process that carries it out. `enter` runs it here, or passes it
 * on whole, and waits a bounded time while no process takes it. Acts on many accounts are split in
 * `over-instances.ts`.
 *
 * A request is passed on with the caller's own token, which is checked there again, and never
 * further: a forwarded one is run once, and its sender asks again. Only a process that declined
 * because the account is not its own (`NOT_LEADER`, `DRAINING`) has surely done nothing. An answer
 * that was lost ends the request: it may have been carried out, so it goes nowhere else.
 *
 * Each instance has its own window, so a frozen one takes no place from the others. Nothing waits
 * for its answer longer than `answerWithinMs`, nor once the fleet has gone on without it.
 */
export class Forwarding {
  readonly instance: string;
  readonly others: OtherInstances;
  /** Requests in flight, by the instance's address. */
  private readonly inFlight = new Map<string, number>();
  private readonly left = new WeakMap<FastifyReply['raw'], AbortSignal>();
  private readonly deps: ForwardingDeps;
  private readonly options: ForwardingOptions;

  constructor(deps: ForwardingDeps, options: ForwardingOptions) {
    this.deps = deps;
    this.options = options;
    this.instance = options.instance;
    this.others = deps.others;
  }

  /** When a request that begins now stops waiting for a process. */
  untilMs(kind: 'act' | 'order' = 'act'): number {
    return this.deps.clock.monotonicMs() + this.options[`${kind}WaitMs`];
  }

  /**
   * What `run` makes of the request in this process, or the account's holder. Without an account
   * any process may do it, and the others are asked one by one. `run` must have the same effect
   * however often it is called.
   */
  enter<T extends { readonly kind: string }>(
    call: AnyCall,
    accountId: string | undefined,
    run: () => Promise<Answer<T>>,
    untilMs = this.untilMs(),
  ): Promise<Answer<T> | FromElsewhere> {
    const ask = async (): Promise<Answer<T> | FromElsewhere> => {
      const own = await run();
      return isDeclined(own) ? this.passOn(call, own, accountId) : own;
    };
    return this.again(call, ask, codeOfGiven, untilMs);
  }

  /**
   * Asks again while `codeOf` the answer says that another process would have to do it, until it is
   * too late, or the caller has left.
   */
  async again<T>(
    call: AnyCall,
    ask: () => Promise<T>,
    codeOf: (answer: T) => string,
    untilMs = this.untilMs(),
  ): Promise<T> {
    const { clock, random } = this.deps;
    const backoff = new Backoff(random, pauses);
    for (;;) {
      const answer = await ask();
      const code = codeOf(answer);
      // It ends, and there is no other one to wait for.
      const isLast = code === 'DRAINING' && this.others.all().length === 0;
      if (!isOfThisProcess(code) || isLast || wasForwarded(call.request)) return answer;
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs <= 0) return answer;
      const left = this.leftOf(call.reply);
      await clock.sleep(Math.min(backoff.nextMs(), leftMs), left);
      // No order is sent for a caller that does not wait any more.
      if (left.aborted) return answer;
    }
  }

  private async passOn(call: AnyCall, own: Declined, accountId: string | undefined): Promise<Declined | FromElsewhere> {
    if (!isOfThisProcess(own.code) || wasForwarded(call.request)) return own;
    const holder = accountId === undefined ? undefined : this.others.holderOf(accountId);
    const asked = accountId === undefined ? this.others.all() : holder === undefined ? [] : [holder];
    for (const [at, by] of asked.entries()) {
      const answer = await this.send(call, by, { accountId });
      if (answer.kind === 'not_sent') continue;
      if (answer.kind === 'unanswered') return answer;
      const given = { kind: 'answered', answer, by } as const;
      if (at === asked.length - 1 || !isOfThisProcess(codeOfGiven(given))) return given;
    }
    return own;
  }

  /** Never rejects. */
  async send(call: AnyCall, to: OtherInstance, options: SendOptions = {}): Promise<Forwarded> {
    const forwarded = await this.attempt(call, to, options);
    this.deps.metrics.forwards.inc({ result: forwarded.kind });
    return forwarded;
  }

  close(): Promise<void> {
    return this.deps.http.close();
  }

  private async attempt(call: AnyCall, to: OtherInstance, options: SendOptions): Promise<Forwarded> {
    const { request, reply, traceparent, url = request.url } = call;
    const { body } = request;
    const before = this.inFlight.get(to.address) ?? 0;
    if (before >= this.options.mostInFlight) return { kind: 'not_sent' };
    this.inFlight.set(to.address, before + 1);
    const done = new AbortController();
    const unwanted = options.signal === undefined ? [] : [options.signal];
    using cut = abortWith(this.leftOf(reply), this.hangUp(call, to, options, done.signal), ...unwanted);
    try {
      const result = await this.deps.http.request({
        operation: 'forward',
        method: request.method as Parameters<InstanceHttp['request']>[0]['method'],
        // Not `new URL(…, address)`: two slashes at a path's start would name another host.
        url: to.address + url,
        headers: {
          ...this.headersOf(request, body !== undefined),
          ...(traceparent !== undefined && { traceparent }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: cut.signal,
      });
      if (result.kind === 'answered' && isOurs(result, request.id)) return this.ofAnother(result, to);
      const code = result.kind === 'failed' ? result.code : `HTTP ${result.status}`;
      this.deps.log.warn(
        { ...to, code, requestId: request.id },
        'a request could not be forwarded, or its answer was lost',
      );
      return { kind: result.kind === 'failed' && result.sent === 'no' ? 'not_sent' : 'unanswered' };
    } finally {
      done.abort();
      const left = (this.inFlight.get(to.address) ?? 1) - 1;
      if (left > 0) this.inFlight.set(to.address, left);
      else this.inFlight.delete(to.address);
    }
  }

  /** Two processes that advertise one address would each take their own word for the other's. */
  private ofAnother(answer: InstanceAnswer, to: OtherInstance): Forwarded {
    if (answer.headers['tidemark-instance'] !== this.instance) return answer;
    this.deps.log.error({ ...to }, 'the address of another instance leads to this one: see TIDEMARK_ADVERTISED_URL');
    return { kind: answer.status < 400 ? 'unanswered' : 'not_sent' };
  }

  /** Aborts when there is nothing left to wait for, before `done`. */
  private hangUp(
    { request, patienceMs = 0 }: AnyCall,
    to: OtherInstance,
    options: SendOptions,
    done: AbortSignal,
  ): AbortSignal {
    const { clock } = this.deps;
    const waitMs = (preferredWaitSeconds(request.headers['prefer']) ?? 0) * 1000;
    const untilMs = clock.monotonicMs() + this.options.answerWithinMs + waitMs + patienceMs;
    const over = new AbortController();
    const watch = async () => {
      // Twice in a row: while it gives its shards away, it still sends its answers.
      for (
        let looks = 0;
        looks < 2 && clock.monotonicMs() < untilMs;
        looks = this.answersFor(to, options) ? 0 : looks + 1
      ) {
        await clock.sleep(lookEveryMs, done);
        if (done.aborted) return;
      }
      over.abort();
    };
    void watch();
    return over.signal;
  }

  /** The newest look shows the instance as live, and as the account's holder. */
  private answersFor({ address }: OtherInstance, { accountId }: SendOptions): boolean {
    const { others } = this.deps;
    if (accountId !== undefined) return others.holderOf(accountId)?.address === address;
    return others.all().some((each) => each.address === address);
  }

  /** Aborts when the caller has left. One listener for its request's forwards. */
  private leftOf({ raw }: FastifyReply): AbortSignal {
    const known = this.left.get(raw);
    if (known !== undefined) return known;
    const left = new AbortController();
    if (raw.closed) left.abort();
    raw.once('close', () => left.abort());
    this.left.set(raw, left.signal);
    return left.signal;
  }

  private headersOf({ headers, id }: FastifyRequest, hasBody: boolean): Record<string, string | Secret> {
    const { authorization } = headers;
    return present({
      ...Object.fromEntries(passedOn.map((name) => [name, headers[name]?.toString()])),
      authorization: authorization && new Secret(authorization),
      'content-type': hasBody ? 'application/json' : undefined,
      'x-request-id': id,
      'tidemark-forwarded': this.options.instance,
    });
  }
}

/**
 * Without the request's id it is no answer from Tidemark: it is a proxy's, or another program's at
 * the old address. Some of these repeat the id; ours is JSON, and never a redirect.
 */
function isOurs({ status, headers, text }: InstanceAnswer, requestId: string): boolean {
  const isJson = typeof jsonOrUndefined(text) === 'object';
  return headers['x-request-id'] === requestId && isJson && (status < 300 || status >= 400);
}

const problem = z.object({ code: z.string() });

/** Why it was declined, here or elsewhere; empty: it was not. */
function codeOfGiven(given: { readonly kind: string } | FromElsewhere): string {
  if (isDeclined(given)) return given.code;
  return given.kind === 'answered' && 'answer' in given ? problemCode(given.answer) : '';
}

/** A problem's code; empty without one. */
export function problemCode({ status, text }: InstanceAnswer): string {
  return status < 400 ? '' : (problem.safeParse(jsonOrUndefined(text)).data?.code ?? '');
}

/** Another instance sent it here: this one answers it, in any case. */
export function wasForwarded({ headers }: FastifyRequest): boolean {
  return headers['tidemark-forwarded'] !== undefined;
}

export function sendFromElsewhere(reply: FastifyReply, given: FromElsewhere): FastifyReply {
  if (given.kind === 'unanswered') return sendProblem(reply, 'FORWARD_UNANSWERED');
  const { answer, by } = given;
  for (const name of givenBack) {
    const value = answer.headers[name];
    if (value !== undefined) reply.header(name, value);
  }
  reply.header('tidemark-instance', answer.headers['tidemark-instance'] ?? by.instance);
  return reply.code(answer.status).send(answer.text);
}
