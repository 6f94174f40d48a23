import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Log } from '../observability/log.ts';
import type { RestMetrics } from '../observability/metrics.ts';
import { Secret } from '../runtime/secret.ts';
import type { InstanceAnswer, InstanceHttp, OtherInstance, OtherInstances } from './other-instances.ts';
import { sendProblem } from './send-answer.ts';

interface ForwardingDeps {
  readonly http: InstanceHttp;
  readonly others: OtherInstances;
  readonly metrics: RestMetrics;
  readonly log: Log;
}

interface ForwardingOptions {
  /** The name of this process in `Tidemark-Instance`. */
  readonly instance: string;
  /** Further requests get the answer of this process, which has done nothing. */
  readonly mostInFlight: number;
}

interface AnyCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Of our span, which the other instance continues; left out: that of the caller. */
  readonly traceparent?: string | undefined;
}

type Forwarded =
  | InstanceAnswer
  /** It may have been carried out. */
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'not_sent' };

/** Declined for a reason of this process alone: another one may do it. */
const ofThisProcess: ReadonlySet<string> = new Set(['NOT_LEADER', 'DRAINING']);

/** Headers of the caller that the other instance reads. Those of browsers stay here, where they were checked. */
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
 * Requests that another process has to carry out because it holds the account's shard. Each is sent there once, with the caller's own token, which is checked
 * there again; a request that was forwarded already is never forwarded further.
 */
export class Forwarding {
  readonly instance: string;
  readonly others: OtherInstances;
  private inFlight = 0;
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
   * After a decline with `code`: answers with what the holder of the account answers. False: the decline is the answer, because the reason is not one of this
   * process alone, or because no other process can be asked. Without an account any other process may do it: they are asked one
   * after the other, until one does not decline for a reason of its own. It does not resolve with the reply, which would be awaited itself then, and come to
   * nothing.
   */
  async answer(call: AnyCall, code: string, accountId: string | undefined): Promise<boolean> {
    const { request, reply } = call;
    if (!isOfThisProcess(code) || wasForwarded(request)) return false;
    const holder = accountId === undefined ? undefined : this.others.holderOf(accountId);
    const asked = accountId === undefined ? this.others.all() : holder === undefined ? [] : [holder];
    for (const [at, to] of asked.entries()) {
      const forwarded = await this.send(call, to);
      if (forwarded.kind === 'not_sent') continue;
      const isLast = at === asked.length - 1;
      if (forwarded.kind === 'answered' && !isLast && isOfThisProcess(codeOf(forwarded))) continue;
      if (forwarded.kind === 'unanswered') sendUnanswered(reply);
      else giveBack(reply, forwarded, to);
      return true;
    }
    return false;
  }

  /** Another process holds the account, and this request may still be sent there. */
  isElsewhere({ request }: AnyCall, accountId: string | undefined): boolean {
    return accountId !== undefined && !wasForwarded(request) && this.others.holderOf(accountId) !== undefined;
  }

  /** `body`: instead of the caller's. Never rejects. */
  async send(call: AnyCall, to: OtherInstance, body: unknown = call.request.body): Promise<Forwarded> {
    const forwarded = await this.attempt(call, to, body);
    this.deps.metrics.forwards.inc({ outcome: forwarded.kind });
    return forwarded;
  }

  close(): Promise<void> {
    return this.deps.http.close();
  }

  private async attempt({ request, reply, traceparent }: AnyCall, to: OtherInstance, body: unknown): Promise<Forwarded> {
    if (this.inFlight >= this.options.mostInFlight) return { kind: 'not_sent' };
    this.inFlight += 1;
    try {
      const outcome = await this.deps.http.request({
        operation: 'forward',
        method: request.method as Parameters<InstanceHttp['request']>[0]['method'],
        // Not `new URL(…, address)`: a path that begins with two slashes would name another host there.
        url: to.address + request.url,
        headers: { ...this.headersOf(request, body !== undefined), ...(traceparent !== undefined && { traceparent }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: this.leftOf(reply),
      });
      // An answer that does not name the request is not one of Tidemark: a proxy's, or that of another program at the old address.
      if (outcome.kind === 'answered' && outcome.headers['x-request-id'] === request.id) return outcome;
      const code = outcome.kind === 'failed' ? outcome.code : `HTTP ${outcome.status}`;
      this.deps.log.warn({ ...to, code, requestId: request.id }, 'a request could not be forwarded, or its answer was lost');
      return { kind: outcome.kind === 'failed' && outcome.sent === 'no' ? 'not_sent' : 'unanswered' };
    } finally {
      this.inFlight -= 1;
    }
  }

  /** Aborts when the caller has left. One listener for all forwards of its request. */
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

const problem = z.object({ code: z.string() });

/** That of a problem; empty where it is none. */
function codeOf({ status, text }: InstanceAnswer): string {
  return status < 400 ? '' : (problem.safeParse(parseJson(text)).data?.code ?? '');
}

/** Undefined: it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Another process may do what this one declined with `code`. */
export function isOfThisProcess(code: string): boolean {
  return ofThisProcess.has(code);
}

/** Another instance sent it here: this one answers it, in any case. */
export function wasForwarded({ headers }: FastifyRequest): boolean {
  return headers['tidemark-forwarded'] !== undefined;
}

export function giveBack(reply: FastifyReply, answer: InstanceAnswer, to: OtherInstance): FastifyReply {
  for (const name of givenBack) {
    const value = answer.headers[name];
    if (value !== undefined) reply.header(name, value);
  }
  reply.header('tidemark-instance', answer.headers['tidemark-instance'] ?? to.instance);
  return reply.code(answer.status).send(answer.text);
}

export function sendUnanswered(reply: FastifyReply): FastifyReply {
  return sendProblem(
    reply.header('retry-after', '1'),
    503,
    'FORWARD_UNANSWERED',
    'another instance was asked, and its answer was lost: the request may have been carried out. Send it again, with the same Idempotency-Key where it has one: that finds out, and does nothing twice',
  );
}
