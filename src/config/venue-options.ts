import { baseUrl, inGroup, list, oneOf, secret, text, url } from './option.ts';

/** Alpaca's own, by environment. */
export const alpacaHosts = { paper: 'paper-api.alpaca.markets', live: 'api.alpaca.markets' } as const;

/** By venue: without these it can't be followed. */
export const venueNeeds = {
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
      describe: 'Key id. A key has one account.',
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
      describe: 'Whether the account has money in it.',
    }),
    alpacaUrl: baseUrl({
      env: 'ALPACA_URL',
      schemes: ['https', 'http'],
      describe: "Base of the trading API. Without it: Alpaca's own.",
    }),
    alpacaStreamUrl: url({
      env: 'ALPACA_STREAM_URL',
      schemes: ['wss', 'ws'],
      describe: 'Whole address of the stream. Without it: `/stream` under the base.',
    }),
  }),
} as const;

interface AlpacaSettings {
  readonly alpacaEnvironment: keyof typeof alpacaHosts;
  readonly alpacaUrl?: string;
  readonly alpacaStreamUrl?: string;
}

/** Alpaca's addresses, and our stream's name: orders with money have one of their own. */
export function alpacaAddresses({ alpacaEnvironment: environment, alpacaUrl, alpacaStreamUrl }: AlpacaSettings) {
  const url = alpacaUrl ?? `https://${alpacaHosts[environment]}`;
  return {
    url,
    streamUrl: alpacaStreamUrl ?? `${url.replace(/^http/, 'ws')}/stream`,
    isPaper: environment === 'paper',
    stream: environment === 'live' ? 'alpaca' : 'alpaca_paper',
  } as const;
}
