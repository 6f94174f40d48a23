import type { Secret } from '../runtime/secret.ts';
import { baseUrl, inGroup, list, oneOf, overWebSocket, secret, text, url } from './option.ts';

/** Alpaca's own, by environment. */
export const alpacaHosts = { paper: 'paper-api.alpaca.markets', live: 'api.alpaca.markets' } as const;

export type AlpacaEnvironment = keyof typeof alpacaHosts;

const venueNeeds = {
  platform: ['platformUrl', 'platformStreamUrl', 'platformClientId'],
  alpaca: ['alpacaKeyId', 'alpacaSecretKey'],
} as const;

const venueNames = Object.keys(venueNeeds);

/** The followed venues, and settings for each beside the platform. */
export const venueOptions = {
  ...inGroup('Venues', {
    venues: list({
      env: 'VENUES',
      pattern: new RegExp(`^(?:${venueNames.join('|')})$`),
      shape: `${venueNames.map((name) => `\`${name}\``).join(', ')}; several with commas between`,
      fallback: 'platform',
      describe: 'The venues whose orders are followed.',
    }),
    alpacaKeyId: text({
      env: 'ALPACA_KEY_ID',
      pattern: /^[A-Za-z0-9_-]{1,100}$/,
      shape: 'a key id',
      describe: 'Key id. `tidemark link --venue alpaca` adds other keys.',
    }),
    alpacaSecretKey: secret({
      env: 'ALPACA_SECRET_KEY',
      shape: 'text',
      describe: "The key's secret.",
    }),
    alpacaEnvironment: oneOf({
      env: 'ALPACA_ENVIRONMENT',
      words: ['paper', 'live'],
      fallback: 'paper',
      describe: 'Whether its account has money in it.',
    }),
    alpacaUrl: baseUrl({
      env: 'ALPACA_URL',
      describe: "Base of the trading API. Without it: Alpaca's own.",
    }),
    alpacaOtherUrl: baseUrl({
      env: 'ALPACA_OTHER_URL',
      describe: 'The same for linked keys of the other environment.',
    }),
    alpacaStreamUrl: url(
      {
        env: 'ALPACA_STREAM_URL',
        describe: 'Whole address of the stream. Without it: `/stream` under the base.',
      },
      overWebSocket,
    ),
  }),
} as const;

interface VenueSettings {
  readonly venues?: readonly string[];
  readonly encryptionKey?: Secret;
  readonly alpacaKeyId?: string;
  readonly alpacaSecretKey?: Secret;
}

/** Without these a chosen venue can't be followed. Linked keys are enough, if they can be read. */
export function venuesNeed({ venues = [], encryptionKey, alpacaKeyId, alpacaSecretKey }: VenueSettings) {
  const isLinked = encryptionKey !== undefined && alpacaKeyId === undefined && alpacaSecretKey === undefined;
  return venues.flatMap((venue) =>
    venue === 'alpaca' && isLinked ? [] : venueNeeds[venue as keyof typeof venueNeeds],
  );
}

interface AlpacaSettings {
  readonly alpacaEnvironment: AlpacaEnvironment;
  readonly alpacaUrl?: string;
  readonly alpacaOtherUrl?: string;
  readonly alpacaStreamUrl?: string;
}

/** Alpaca's addresses, and our stream's name: orders with money have one of their own. */
export function alpacaAddresses(settings: AlpacaSettings, environment = settings.alpacaEnvironment) {
  const isOwn = environment === settings.alpacaEnvironment;
  const url = (isOwn ? settings.alpacaUrl : settings.alpacaOtherUrl) ?? `https://${alpacaHosts[environment]}`;
  return {
    url,
    streamUrl: (isOwn ? settings.alpacaStreamUrl : undefined) ?? `${url.replace(/^http/, 'ws')}/stream`,
    isPaper: environment === 'paper',
    stream: environment === 'live' ? 'alpaca' : 'alpaca_paper',
  } as const;
}
