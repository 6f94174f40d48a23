import { streamPath } from '../venue/platform/wire/stream-messages.ts';
import { predictionMarkets } from './market/instruments.ts';
import type { Cast } from './register-cast.ts';
import { defaultSettings } from './users/user-records.ts';

/**
 * The symbol search needs this key beside the bearer token (specification, "Authentication", 2).
 * Fixed, like everything secret in a sandbox.
 */
export const apiKey = 'sandbox-api-key';

/**
 * The first line of `tidemark sandbox --json`: all that a stranger's client needs
 * (docs/platform-assumptions.md, "The sandbox's first line").
 */
export interface SandboxDescription {
  readonly platform: string;
  readonly staging: string;
  readonly auth: string;
  readonly stream: string;
  readonly stagingStream: string;
  readonly control: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly publicClientId: string;
  readonly redirectUri: string;
  readonly apiKey: string;
  readonly users: readonly {
    readonly username: string;
    readonly password: string;
    readonly mfa: string | null;
    readonly accounts: readonly { readonly id: string; readonly predictions: boolean }[];
  }[];
  readonly predictionSymbols: readonly string[];
  readonly settings: readonly { readonly category: string; readonly key: string }[];
}

interface Addresses {
  readonly platform: string;
  readonly staging: string;
  readonly auth: string;
  readonly control: string;
}

/** Puts it together. Passwords are in clear: everything in a sandbox is made up. */
export function describeSandbox(addresses: Addresses, cast: Cast): SandboxDescription {
  const confidential = cast.clients.find((client) => client.clientSecret !== undefined);
  const open = cast.clients.find((client) => client.clientSecret === undefined);
  const socket = (base: string) => `${base.replace(/^http/, 'ws')}${streamPath}`;
  return {
    platform: addresses.platform,
    staging: addresses.staging,
    auth: addresses.auth,
    stream: socket(addresses.platform),
    stagingStream: socket(addresses.staging),
    control: addresses.control,
    clientId: confidential?.clientId ?? '',
    clientSecret: confidential?.clientSecret ?? '',
    publicClientId: open?.clientId ?? '',
    redirectUri: confidential?.redirectUris[0] ?? open?.redirectUris[0] ?? '',
    apiKey,
    users: cast.users.map(({ username, password, mfa, accounts }) => ({
      username,
      password,
      mfa,
      accounts: accounts.map(({ id, predictions }) => ({ id, predictions })),
    })),
    predictionSymbols: predictionMarkets().map((market) => market.symbol),
    settings: defaultSettings.map(({ category, key }) => ({ category, key })),
  };
}

/** A service follows this sandbox with these settings. */
export function platformSettings(sandbox: SandboxDescription) {
  return {
    PLATFORM_URL: sandbox.platform,
    PLATFORM_STAGING_URL: sandbox.staging,
    PLATFORM_AUTH_URL: sandbox.auth,
    PLATFORM_STREAM_URL: sandbox.stream,
    PLATFORM_STAGING_STREAM_URL: sandbox.stagingStream,
    PLATFORM_CLIENT_ID: sandbox.clientId,
    PLATFORM_CLIENT_SECRET: sandbox.clientSecret,
  } as const;
}
