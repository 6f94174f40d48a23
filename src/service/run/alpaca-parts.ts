import type { Config } from '../../config/config.ts';
import { type AlpacaEnvironment, alpacaAddresses } from '../../config/venue-options.ts';
import { alpacaReads } from '../../venue/alpaca/alpaca-reads.ts';
import { alpacaVenue } from '../../venue/alpaca/alpaca-venue.ts';
import { writeAlpacaOrder } from '../../venue/alpaca/alpaca-writes.ts';
import { keyPairSource, pairRefused } from '../../venue/alpaca/key-source.ts';
import { keyName, storedKeySource } from '../../venue/key-source.ts';
import { RequestBudget } from '../../venue/request-budget.ts';
import type { Connected } from './platform-parts.ts';

/** In `/status`: the login by the settings' key pair. */
const ownName = 'alpaca';

/** Paper and live: for each its stream, its logins and its writes. */
export function alpacaParts(made: Connected, config: Config) {
  if (!config.venues.includes('alpaca')) return [];
  return (['paper', 'live'] as const).map((environment) => environmentParts(made, config, environment));
}

function environmentParts(made: Connected, config: Config, environment: AlpacaEnvironment) {
  const { clock, random, metrics, outside, store } = made;
  const { alpacaKeyId: keyId, alpacaSecretKey: secretKey, alpacaEnvironment } = config;
  const { url, streamUrl, stream, isPaper } = alpacaAddresses(config, environment);
  const isOfSettings = environment === alpacaEnvironment;
  const pair = isOfSettings && keyId !== undefined && secretKey !== undefined ? { keyId, secretKey } : undefined;
  const tokensOf = async (credential: string) => {
    const requests = new RequestBudget(clock, (purpose) => metrics.platform.requestsHeld.inc({ purpose }));
    return pair !== undefined && credential === ownName
      ? keyPairSource(clock, pair, requests)
      : storedKeySource(clock, () => store.tokens.load(credential), pairRefused, requests);
  };
  const signIn = async (credential: string) => {
    const tokens = await tokensOf(credential);
    const deps = { clock, random, http: outside.http, tokens, metrics: metrics.platform };
    return { venue: { [stream]: alpacaVenue[stream] }, tokens, reads: alpacaReads(deps, { url, isPaper }) };
  };
  return {
    stream,
    url,
    streamUrl,
    signIn,
    write: writeAlpacaOrder,
    prefix: keyName(stream, ''),
    spare: !isOfSettings,
    ...(pair !== undefined && { own: ownName }),
  };
}
