import type { FastifyRequest } from 'fastify';
import type { Ambient } from '../../observability/ambient.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { AuditTrail } from '../commands/audit-trail.ts';
import { maySee, type Principal } from './auth/principal.ts';
import { idKinds } from './request-fields.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Set on a server that can deny writes. */
    deniedWrites: DeniedWrites | undefined;
  }
}

interface DeniedWritesDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly auditTrail: Pick<AuditTrail, 'record'>;
}

interface Denied {
  readonly principal: string;
  readonly route: string;
  readonly code: string;
  readonly accountId?: string;
  /** Whether the token names that account. */
  readonly ofToken?: boolean;
  readonly requestId: string;
}

/** Equal denials within this time are reported once, and then with their number. */
const windowMs = 60_000;
/**
 * This many different denials of one principal are reported one by one; further ones are reported
 * as one, `SEVERAL`, with their number. These also show a sender that tries one account after
 * another.
 */
const mostOfPrincipal = 20;

/**
 * Reports a principal's denied writes (403, or 404 for things that it may not see), in the log and
 * in the audit trail: principal, route, account, reason. Requests without a principal (401) are
 * only counted by the metric, since their sender is unknown.
 *
 * Invariant: a principal causes at most `2 * (mostOfPrincipal + 1)` entries in `windowMs`, however
 * many writes it is denied. The `times` in all entries add up to the number of denials.
 */
export class DeniedWrites {
  /** By principal, then by denied write: how often it came since the last report. */
  private readonly reported = new Map<string, Map<string, { readonly denied: Denied; unreported: number }>>();
  private timer: Timer | undefined;
  private readonly deps: DeniedWritesDeps;

  constructor(deps: DeniedWritesDeps) {
    this.deps = deps;
  }

  /** Called for every problem in an answer; takes only denied writes. */
  note(request: FastifyRequest, status: number, code: string): void {
    const { principal, method } = request;
    if (principal === undefined || (status !== 403 && status !== 404) || method === 'GET' || method === 'HEAD') return;
    this.deny({
      principal: principal.name,
      code,
      requestId: request.id,
      route: routeOf(request),
      ...accountOf(request, principal),
    });
  }

  /** Reports now everything that was not reported yet. */
  flush(): void {
    this.timer?.cancel();
    this.timer = undefined;
    for (const ofPrincipal of this.reported.values())
      for (const { denied, unreported } of ofPrincipal.values()) if (unreported > 0) this.report(denied, unreported);
    this.reported.clear();
  }

  private deny(denied: Denied): void {
    this.timer ??= this.deps.clock.after(windowMs, () => this.flush());
    const { principal, route, code, accountId } = denied;
    const ofPrincipal = this.reported.get(principal) ?? new Map();
    this.reported.set(principal, ofPrincipal);
    const known = JSON.stringify([route, code, accountId]);
    const fits = ofPrincipal.has(known) || ofPrincipal.size < mostOfPrincipal;
    const key = fits ? known : 'several';
    const before = ofPrincipal.get(key);
    if (before !== undefined) {
      before.unreported += 1;
      return;
    }
    const counted = fits ? denied : { principal, route: 'several', code: 'SEVERAL', requestId: denied.requestId };
    ofPrincipal.set(key, { denied: counted, unreported: 0 });
    this.report(counted, 1);
  }

  private report({ principal, code, accountId, requestId, ...where }: Denied, times: number): void {
    const { log, auditTrail, clock } = this.deps;
    log.warn({ principal, code, accountId, requestId, ...where, times }, 'a write was denied');
    const named = accountId === undefined ? {} : { accountId };
    const detail = { ...where, times };
    auditTrail.record({ atMs: clock.nowMs(), principal, action: 'denied', reason: code, requestId, ...named, detail });
  }
}

function routeOf({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? ''}`;
}

/**
 * From the path, the query, or a body that was read and is an object. A text that can't be an
 * account is left out: it is the caller's.
 */
function accountOf(
  { params, query, body }: FastifyRequest,
  { accounts }: Principal,
): Pick<Denied, 'accountId' | 'ofToken'> {
  const { accountId, tradingAccountId } = { ...asObject(query), ...asObject(body), ...asObject(params) };
  const text = accountId ?? tradingAccountId;
  if (typeof text !== 'string' || !idKinds.accountId.test(text)) return {};
  return { accountId: text, ofToken: maySee(accounts, text) };
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
    ? (value as Record<string, unknown>)
    : {};
}
