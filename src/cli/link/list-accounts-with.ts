import { createMetrics } from '../../observability/metrics.ts';
import type { Http } from '../../platform/http.ts';
import { listAccounts } from '../../platform/list-accounts.ts';
import type { TokenSource } from '../../platform/token-source.ts';
import type { Token } from '../../platform/token-store.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';

const limitMs = 10_000;

/** The open accounts that a new token sees, for people to read; undefined when the platform did not say in time. */
export async function listAccountsWith(
  deps: { readonly http: Http; readonly clock: Clock; readonly random: Random; readonly platformUrl: string },
  token: Token,
): Promise<string[] | undefined> {
  const held = { ok: true, token: { secret: token.accessToken, generation: 1, expiresAtMs: token.expiresAtMs } } as const;
  const tokens: TokenSource = { get: async () => held, renew: async () => held, onRenewed: () => () => {} };
  const stop = new AbortController();
  const timer = deps.clock.after(limitMs, () => stop.abort());
  const list = await listAccounts({ ...deps, tokens, metrics: createMetrics().platform }, deps.platformUrl, stop.signal);
  timer.cancel();
  return list.complete ? list.accounts.filter(({ isOpen }) => isOpen).map(({ accountId }) => accountId) : undefined;
}
