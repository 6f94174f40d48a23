/** The first line of `tidemark sandbox --venue alpaca --json`. */
export interface AlpacaDescription {
  readonly venue: 'alpaca';
  /** The base of the trading API, without a version: the SDKs add it. */
  readonly url: string;
  readonly stream: string;
  readonly control: string;
  readonly accounts: readonly {
    readonly id: string;
    readonly accountNumber: string;
    readonly keyId: string;
    readonly secretKey: string;
  }[];
}

/** A service follows its first account with these settings. */
export function alpacaSettings({ url, stream, accounts }: AlpacaDescription) {
  const [{ keyId, secretKey } = { keyId: '', secretKey: '' }] = accounts;
  return {
    VENUES: 'alpaca',
    ALPACA_KEY_ID: keyId,
    ALPACA_SECRET_KEY: secretKey,
    ALPACA_URL: url,
    ALPACA_STREAM_URL: stream,
  } as const;
}
