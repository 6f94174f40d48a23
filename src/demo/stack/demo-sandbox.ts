import { type AlpacaDescription, alpacaSettings } from '../../sandbox/alpaca/describe-alpaca.ts';
import { platformSettings, type SandboxDescription } from '../../sandbox/describe-sandbox.ts';
import { visibleAccounts } from '../proof/prove-run.ts';

export const venueNames = ['platform', 'alpaca'] as const;

/** A running sandbox with everything that differs by its venue. */
export interface DemoSandbox {
  /** In sentences. */
  readonly name: string;
  /** Its API, for people. */
  readonly address: string;
  readonly control: string;
  /** A service follows it with these. */
  readonly settings: Readonly<Record<string, string>>;
  /** The service's stream for equities and options. The sandbox itself says `account`. */
  readonly stream: 'account' | 'alpaca_paper';
  /** For Alpaca's own clients. */
  readonly alpaca?: AlpacaDescription;
  /** Undefined: it has no prediction orders, and nothing is replaced there. */
  readonly predictionSymbol: string | undefined;
  /** "Break it" places orders here. */
  readonly brokenAccount: string;
  /** The accounts in the service's sight. */
  readonly visibleAccounts: (fetchUrl: typeof fetch) => Promise<ReadonlySet<string>>;
}

/** The demo's own commands are for this account. */
export const shownAccount = 'SIM-1001';

/** A buy far below the market: it rests, and does not affect the rest of the demo. */
export function restingBuy({ stream }: Pick<DemoSandbox, 'stream'>, accountId: string, symbol: string): object {
  const terms = { accountId, symbol, side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
  return stream === 'account' ? terms : { ...terms, stream };
}

/** `description`: the first line of `tidemark sandbox --json`. */
export function demoSandbox(description: SandboxDescription | AlpacaDescription): DemoSandbox {
  if ('venue' in description)
    return {
      name: 'Alpaca',
      address: `${description.url}, Alpaca's trading API`,
      control: description.control,
      settings: alpacaSettings(description),
      stream: 'alpaca_paper',
      alpaca: description,
      predictionSymbol: undefined,
      // A key pair has one account.
      brokenAccount: shownAccount,
      visibleAccounts: async () => new Set([shownAccount]),
    };
  return {
    name: 'the platform',
    address: description.platform,
    control: description.control,
    settings: platformSettings(description),
    stream: 'account',
    predictionSymbol: description.predictionSymbols[0],
    // A fault for the next order on an account must not meet the demo's own.
    brokenAccount: 'SIM-1002',
    visibleAccounts: (fetchUrl) => visibleAccounts(fetchUrl, description),
  };
}
