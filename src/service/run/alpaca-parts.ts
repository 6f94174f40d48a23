import type { Config } from '../../config/config.ts';
import { alpacaAddresses } from '../../config/venue-options.ts';
import { alpacaReads } from '../../venue/alpaca/alpaca-reads.ts';
import { alpacaVenue } from '../../venue/alpaca/alpaca-venue.ts';
import { writeAlpacaOrder } from '../../venue/alpaca/alpaca-writes.ts';
import { keyPairSource } from '../../venue/alpaca/key-source.ts';
import { RequestBudget } from '../../venue/request-budget.ts';
import type { Connected } from './platform-parts.ts';

/** As `/status` names the login. */
const credential = 'alpaca';

/** The login by the key pair, its stream and its writes. Undefined: not followed. */
export function alpacaParts({ clock, random, log, metrics, outside }: Connected, config: Config) {
  const { alpacaKeyId: keyId, alpacaSecretKey: secretKey } = config;
  if (!config.venues.includes('alpaca') || keyId === undefined || secretKey === undefined) return undefined;
  const { url, streamUrl, stream, isPaper } = alpacaAddresses(config);
  const tokens = keyPairSource(clock, { keyId, secretKey });
  const requests = new RequestBudget(clock, (purpose) => metrics.platform.requestsHeld.inc({ purpose }));
  const deps = { clock, random, http: outside.http, tokens, requests, metrics: metrics.platform };
  const login = {
    ...{ venue: { [stream]: alpacaVenue[stream] }, tokens, log: log.child({ credential }) },
    reads: alpacaReads(deps, { url, isPaper }),
  };
  const status = () => ({ state: tokens.isRefused ? ('login_required' as const) : ('held' as const) });
  return { credential, login, stream, url, streamUrl, requests, status, write: writeAlpacaOrder };
}
