import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ambient } from '../../../observability/ambient.ts';
import type { RestMetrics } from '../../../observability/metrics.ts';
import { Backoff } from '../../../runtime/backoff.ts';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import { Secret } from '../../../runtime/secret.ts';
import { abortWith } from '../../../runtime/waiting.ts';
import { type Answer, type Declined, isDeclined } from '../../commands/answer.ts';
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
   * An operator's request is asked again for so long while no process holds its account. A moving
   * shard is without one for a second, a dead process's shard for a lease.
   */
  readonly askAgainForMs: number;
}

interface AnyCall {
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
  /** Instead of the caller's. */
  readonly body?: unknown;
  /** The account it is about, if it is one: only its holder may answer. */
  readonly accountId?: string | undefined;
  /** The accounts in the body are not the caller's own words: see `impliedAccounts`. */
  readonly implied?: boolean | undefined;
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

export function isFromElsewhere(answer: { readonly kind: string }): answer is FromElsewhere {
  return answer.kind === 'answered' || answer.kind === 'unanswered';
}

/** How often an instance without an answer is looked up: from memory. */
const lookEveryMs = 250;
/** Between two tries. */
const pauses = { firstMs: 250, maxMs: 2_000 };

/** Declined for a reason of this process alone: another one may do it. */
const ofThisProcess: ReadonlySet<string> = new Set(['NOT_LEADER', 'DRAINING']);

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
 * Requests for another process, because it holds the account's shard. Each is sent there once, with
 * the caller's own token, which is checked there again. A forwarded request is never forwarded
 * further.
 *
 * Each instance has its own window, so a frozen one takes no place from the others. Nothing waits
 * for it longer than `answerWithinMs`, nor once the fleet has gone on without it. The answer then
 * counts as lost. The request is not sent anywhere else, since it may have been carried out.
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

  /**
   * The answer from the account's holder, or `own`: because its reason does not lie in this process
   * alone, or because no other process can be asked. Without an account any other process may do
   * it: they are asked one by one, until one does not decline for its own reason.
   */
  async answer(call: AnyCall, own: Declined, accountId: string | undefined): Promise<Declined | FromElsewhere> {
    if (!isOfThisProcess(own.code) || wasForwarded(call.request)) return own;
    const holder = accountId === undefined ? undefined : this.others.holderOf(accountId);
    const asked = accountId === undefined ? this.others.all() : holder === undefined ? [] : [holder];
    for (const [at, by] of asked.entries()) {
      const answer = await this.send(call, by, { accountId });
      if (answer.kind === 'not_sent') continue;
      if (answer.kind === 'unanswered') return answer;
      const isLast = at === asked.length - 1;
      if (isLast || !isOfThisProcess(codeOf(answer))) return { kind: 'answered', answer, by };
    }
    return own;
  }

  /**
   * The answer to an operator's request, which must not fail because a shard is between two
   * processes. It is asked here and elsewhere, and again while `isHeld` says that no process held
   * its account. Not for places and cancels: their callers repeat them under their keys, and no
   * caller wants a place sent late. `ask` must have the same effect however often it is called. A
   * forwarded request is asked once: its sender asks again.
   */
  async untilHeld<T>(call: AnyCall, ask: () => Promise<T>, isHeld: (answer: T) => boolean): Promise<T> {
    const { clock } = this.deps;
    const left = this.leftOf(call.reply);
    const untilMs = clock.monotonicMs() + this.options.askAgainForMs;
    const backoff = new Backoff(this.deps.random, pauses);
    for (;;) {
      const answer = await ask();
      if (isHeld(answer) || wasForwarded(call.request)) return answer;
      const pauseMs = backoff.nextMs();
      if (left.aborted || clock.monotonicMs() + pauseMs > untilMs) return answer;
      await clock.sleep(pauseMs, left);
    }
  }

  /**
   * What this process makes of a request about an account, or its holder, asked until there is one:
   * see `untilHeld`.
   */
  ofHolder<T extends { readonly kind: string }>(
    call: AnyCall,
    accountId: string | undefined,
    ask: () => Promise<Answer<T>>,
  ): Promise<Answer<T> | FromElsewhere> {
    const once = async (): Promise<Answer<T> | FromElsewhere> => {
      const own = await ask();
      return isDeclined(own) ? this.answer(call, own, accountId) : own;
    };
    return this.untilHeld(call, once, (answer) => {
      if (isDeclined(answer)) return !isOfThisProcess(answer.code);
      return !isFromElsewhere(answer) || answer.kind === 'unanswered' || !isOfThisProcess(codeOf(answer.answer));
    });
  }

  /** Another process holds the account, and this request may still be sent there. */
  isElsewhere({ request }: AnyCall, accountId: string | undefined): boolean {
    return accountId !== undefined && !wasForwarded(request) && this.others.holderOf(accountId) !== undefined;
  }

  /** Never rejects. */
  async send(call: AnyCall, to: OtherInstance, options: SendOptions = {}): Promise<Forwarded> {
    const forwarded = await this.attempt(call, to, options);
    this.deps.metrics.forwards.inc({ outcome: forwarded.kind });
    return forwarded;
  }

  close(): Promise<void> {
    return this.deps.http.close();
  }

  private async attempt(call: AnyCall, to: OtherInstance, options: SendOptions): Promise<Forwarded> {
    const { request, reply, traceparent, url = request.url } = call;
    const { body = request.body } = options;
    const before = this.inFlight.get(to.address) ?? 0;
    if (before >= this.options.mostInFlight) return { kind: 'not_sent' };
    this.inFlight.set(to.address, before + 1);
    const done = new AbortController();
    const unwanted = options.signal === undefined ? [] : [options.signal];
    using cut = abortWith(this.leftOf(reply), this.hangUp(call, to, options, done.signal), ...unwanted);
    try {
      const outcome = await this.deps.http.request({
        operation: 'forward',
        method: request.method as Parameters<InstanceHttp['request']>[0]['method'],
        // Not `new URL(…, address)`: two slashes at a path's start would name another host.
        url: to.address + url,
        headers: {
          ...this.headersOf(request, body !== undefined),
          ...(traceparent !== undefined && { traceparent }),
          ...(options.implied === true && { [impliedHeader]: 'yes' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: cut.signal,
      });
      if (outcome.kind === 'answered' && isOurs(outcome, request.id)) return this.ofAnother(outcome, to);
      const code = outcome.kind === 'failed' ? outcome.code : `HTTP ${outcome.status}`;
      this.deps.log.warn(
        { ...to, code, requestId: request.id },
        'a request could not be forwarded, or its answer was lost',
      );
      return { kind: outcome.kind === 'failed' && outcome.sent === 'no' ? 'not_sent' : 'unanswered' };
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
    raw.once('close', () => left.abort());
    this.left.set(raw, left.signal);
    return left.signal;
  }

  private headersOf({ headers, id }: FastifyRequest, hasBody: boolean): Record<string, string | Secret> {
    const { authorization } = headers;
    const own = passedOn.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, String(value)] as const];
    });
    return {
      ...Object.fromEntries(own),
      ...(authorization === undefined ? {} : { authorization: new Secret(authorization) }),
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      'x-request-id': id,
      'tidemark-forwarded': this.options.instance,
    };
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

/** A problem's code; empty without one. */
function codeOf({ status, text }: InstanceAnswer): string {
  return status < 400 ? '' : (problem.safeParse(jsonOrUndefined(text)).data?.code ?? '');
}

/** Another process may do what this one declined with `code`. */
export function isOfThisProcess(code: string): boolean {
  return ofThisProcess.has(code);
}

const impliedHeader = 'tidemark-implied-accounts';

/** The caller named no accounts. Another instance has filled in those that this one holds. */
export function impliedAccounts({ headers }: FastifyRequest): boolean {
  return headers[impliedHeader] !== undefined;
}

/** Another instance sent it here: this one answers it, in any case. */
export function wasForwarded({ headers }: FastifyRequest): boolean {
  return headers['tidemark-forwarded'] !== undefined;
}

export function sendFromElsewhere(reply: FastifyReply, given: FromElsewhere): FastifyReply {
  if (given.kind === 'unanswered') return sendUnanswered(reply);
  const { answer, by } = given;
  for (const name of givenBack) {
    const value = answer.headers[name];
    if (value !== undefined) reply.header(name, value);
  }
  reply.header('tidemark-instance', answer.headers['tidemark-instance'] ?? by.instance);
  return reply.code(answer.status).send(answer.text);
}

function sendUnanswered(reply: FastifyReply): FastifyReply {
  return sendProblem(reply.header('retry-after', '1'), 'FORWARD_UNANSWERED');
}
