/**
 * A client of the platform's REST beside orders: market data, research, settings and the e-mail address. `import { createPlatformClient } from 'tidemark/platform'`;
 * docs/platform-client.md shows its use. Answers keep fields that are not named here: the platform may add some at any time. A field that the platform leaves out, sends as null, empty or in a form
 * that can't be read is absent, or an empty text; an item without the field that names it is left out.
 */

/** An exact decimal as text. Never a JavaScript number. */
export type DecimalText = string;
/** An integer of up to 64 bits as text: `BigInt(text)` reads it. */
export type IntegerText = string;

export interface PlatformClientOptions {
  /** Address of the platform's REST, without a path. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** For `searchSymbols` alone, which needs it beside the token. */
  readonly apiKey?: string;
}

/** Why the platform did not grant a request. */
export interface PlatformError {
  /** HTTP status; absent when no answer came. */
  readonly status?: number;
  /** The platform's own code, or `NO_ANSWER`, `BAD_ANSWER`, `LOGIN_REQUIRED`, `TOKEN_UNAVAILABLE`, `LOOP`, `API_KEY_REQUIRED`. */
  readonly code?: string;
  readonly type?: string;
  /** For people. */
  readonly message: string;
  /** Whether the same request may succeed later by itself. */
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** Whether the platform may have received the request. */
  readonly sent: 'no' | 'yes' | 'maybe';
}

export type Fetched<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: PlatformError };

export interface FoundSymbol {
  readonly symbol: string;
  readonly description: string;
  /** The category. */
  readonly tag: string;
  /** `stock`, `option`, `index` and more. */
  readonly type: string;
}

export interface ChartQuote {
  readonly s: string;
  /** Exchange and symbol. */
  readonly n: string;
  readonly v: {
    readonly ask?: DecimalText | undefined;
    readonly bid?: DecimalText | undefined;
    /** Change since the previous close. */
    readonly ch?: DecimalText | undefined;
    /** The same in percent. */
    readonly chp?: DecimalText | undefined;
    /** Last traded price. */
    readonly lp?: DecimalText | undefined;
    readonly open_price?: DecimalText | undefined;
    readonly high_price?: DecimalText | undefined;
    readonly low_price?: DecimalText | undefined;
    readonly prev_close_price?: DecimalText | undefined;
    readonly volume?: DecimalText | undefined;
    readonly description?: string | undefined;
    readonly exchange?: string | undefined;
    readonly short_name?: string | undefined;
  };
}

/** The bar of one session: open, high, low, close, volume. */
export interface DayBar {
  readonly o?: DecimalText | undefined;
  readonly h?: DecimalText | undefined;
  readonly l?: DecimalText | undefined;
  readonly c?: DecimalText | undefined;
  readonly v?: DecimalText | undefined;
  /** Trades. */
  readonly n?: IntegerText | undefined;
  /** Milliseconds since the epoch. */
  readonly t?: IntegerText | undefined;
  /** The average price by volume. */
  readonly vw?: DecimalText | undefined;
}

export interface PreviousDay {
  readonly ticker?: string | undefined;
  readonly adjusted?: boolean | undefined;
  readonly results: readonly DayBar[];
}

/** Times are nanoseconds since the epoch, or dates (`YYYY-MM-DD`, a New York day). */
export interface OptionsQuotesQuery {
  /** Compact OCC symbol with a leading `O:`. */
  readonly ticker: string;
  readonly timestamp?: string;
  readonly 'timestamp.gte'?: string;
  readonly 'timestamp.gt'?: string;
  readonly 'timestamp.lte'?: string;
  readonly 'timestamp.lt'?: string;
  /** Newest first when left out. */
  readonly order?: 'asc' | 'desc';
  /** Quotes of one page. */
  readonly limit?: number;
}

export interface OptionsQuote {
  readonly askPrice?: DecimalText | undefined;
  readonly askSize?: IntegerText | undefined;
  readonly askExchange?: IntegerText | undefined;
  readonly bidPrice?: DecimalText | undefined;
  readonly bidSize?: IntegerText | undefined;
  readonly bidExchange?: IntegerText | undefined;
  readonly sequenceNumber?: IntegerText | undefined;
  /** Nanoseconds since the epoch. */
  readonly sipTimestamp?: IntegerText | undefined;
}

export interface Owner {
  readonly name: string;
  /** Shares held. */
  readonly share?: IntegerText | undefined;
  readonly change?: IntegerText | undefined;
  /** `YYYY-MM-DD`. */
  readonly filingDate: string;
  readonly percentOfShares?: DecimalText | undefined;
  readonly source: string;
}

export type Theme =
  | 'financialExchangesData'
  | 'futureFood'
  | '3dPrinting'
  | 'ageingPopulation'
  | 'ai'
  | 'bigData'
  | 'cloud'
  | 'cyberSecurity'
  | 'digitalisation'
  | 'drones'
  | 'fintech'
  | 'founder'
  | 'futureEntertainment'
  | 'futureVehicles'
  | 'gaming'
  | 'globalCleanEnergy'
  | 'globalWater'
  | 'healthcareInnovation'
  | 'hr'
  | 'mobilePayment'
  | 'organicFood'
  | 'robotics'
  | 'tobaccoAlcoholGambling'
  | 'windEnergy';

/** `YYYY-MM-DD HH:MM:SS`, in a zone that the platform does not name. */
export interface FdaEvent {
  readonly fromDate: string;
  readonly toDate: string;
  readonly eventDescription: string;
  readonly url: string;
}

/** No method rejects. Reads are repeated for up to 30 s while that may help; writes are sent once. `signal` ends a call early. */
export interface PlatformClient {
  /** Symbols and companies that match; a leading `.` searches options. */
  searchSymbols(
    query: { readonly query: string; readonly limit?: number },
    signal?: AbortSignal,
  ): Promise<Fetched<readonly FoundSymbol[]>>;
  /** Quotes just now. Symbols that the platform does not know are left out; 404 when it knows none. */
  chartQuotes(symbols: readonly string[], signal?: AbortSignal): Promise<Fetched<readonly ChartQuote[]>>;
  /** The last session that is over. `adjusted` false: as traded, before later splits. */
  previousDay(
    query: { readonly ticker: string; readonly adjusted?: boolean },
    signal?: AbortSignal,
  ): Promise<Fetched<PreviousDay>>;
  /** All quotes of an option contract, page by page, each page asked for when it is wanted. After an error the pages end. */
  optionsQuotes(query: OptionsQuotesQuery, signal?: AbortSignal): AsyncIterable<Fetched<readonly OptionsQuote[]>>;
  /** Who holds a company's shares; none for a symbol that the platform does not know. */
  ownership(
    query: { readonly symbol: string; readonly limit?: number },
    signal?: AbortSignal,
  ): Promise<Fetched<readonly Owner[]>>;
  /** The symbols of a theme. */
  investmentTheme(theme: Theme, signal?: AbortSignal): Promise<Fetched<readonly string[]>>;
  /** Meetings of the FDA's advisory committees. */
  fdaCalendar(signal?: AbortSignal): Promise<Fetched<readonly FdaEvent[]>>;
  /** The value of one setting, any JSON. A number that a double would change comes as the string of its digits. */
  userSetting(
    setting: { readonly category: string; readonly key: string },
    signal?: AbortSignal,
  ): Promise<Fetched<unknown>>;
  /** A write. */
  deleteUserSettings(
    settings: { readonly category: string; readonly keys: readonly string[] },
    signal?: AbortSignal,
  ): Promise<Fetched<undefined>>;
  /** Asks for another e-mail address of the signed-in user. A write. */
  changeEmail(email: string, signal?: AbortSignal): Promise<Fetched<undefined>>;
  /** The platform's own word on its health; needs no token. */
  health(signal?: AbortSignal): Promise<Fetched<string>>;
  /** Ends its connections. */
  close(): Promise<void>;
}

export declare function createPlatformClient(options: PlatformClientOptions): PlatformClient;
