import type { PlatformClient, PlatformClientOptions } from '../../../types/platform.d.ts';
import { createLogger } from '../../observability/logger.ts';
import { createMetrics } from '../../observability/metrics.ts';
import { systemClock } from '../../runtime/clock.ts';
import { systemRandom } from '../../runtime/random.ts';
import { Secret } from '../../runtime/secret.ts';
import { MemoryTokenStore } from '../../runtime/token-store.ts';
import type { ReadDeps } from '../read-venue.ts';
import {
  readChartQuotes,
  readFdaCalendar,
  readInvestmentTheme,
  readOptionsQuotes,
  readOwnership,
  readPreviousDay,
  searchSymbols,
} from './market-data.ts';
import { RefreshingTokenSource } from './token-source.ts';
import { UndiciHttp } from './undici-http.ts';
import { changeEmail, deleteUserSettings, readHealth, readUserSetting } from './user-data.ts';

/** Never aborted. */
const untilDone = new AbortController().signal;

const noApiKey = {
  ok: false,
  error: { code: 'API_KEY_REQUIRED', message: 'the client was made without an apiKey', retryable: false, sent: 'no' },
} as const;

/**
 * `tidemark/platform`: the platform's offers beside orders, for other people's programs. Types and
 * promises are in types/platform.d.ts. Its token lives in memory, with client credentials.
 */
export function createPlatformClient({
  baseUrl,
  clientId,
  clientSecret,
  apiKey,
}: PlatformClientOptions): PlatformClient {
  const deps = readDeps(baseUrl, { clientId, clientSecret: new Secret(clientSecret) });
  const key = apiKey === undefined ? undefined : new Secret(apiKey);
  return {
    searchSymbols: async (query, signal = untilDone) =>
      key === undefined ? noApiKey : searchSymbols(deps, baseUrl, key, query, signal),
    chartQuotes: (symbols, signal = untilDone) => readChartQuotes(deps, baseUrl, symbols, signal),
    previousDay: (query, signal = untilDone) => readPreviousDay(deps, baseUrl, query, signal),
    async *optionsQuotes(query, signal = untilDone) {
      for await (const page of readOptionsQuotes(deps, baseUrl, query, signal))
        yield page.ok ? { ok: true, value: page.quotes } : page;
    },
    ownership: (query, signal = untilDone) => readOwnership(deps, baseUrl, query, signal),
    investmentTheme: (theme, signal = untilDone) => readInvestmentTheme(deps, baseUrl, theme, signal),
    fdaCalendar: (signal = untilDone) => readFdaCalendar(deps, baseUrl, signal),
    userSetting: (setting, signal = untilDone) => readUserSetting(deps, baseUrl, setting, signal),
    deleteUserSettings: (settings, signal = untilDone) => deleteUserSettings(deps, baseUrl, settings, signal),
    changeEmail: (email, signal = untilDone) => changeEmail(deps, baseUrl, email, signal),
    health: (signal = untilDone) => readHealth(deps, baseUrl, signal),
    close: () => deps.http.close(),
  };
}

function readDeps(baseUrl: string, credential: { readonly clientId: string; readonly clientSecret: Secret }): ReadDeps {
  const [clock, random] = [systemClock, systemRandom];
  const http = new UndiciHttp({ clock });
  const { platform: metrics } = createMetrics();
  // Results say what went wrong; a library writes no log itself.
  const log = createLogger(
    { destination: { write: () => undefined } },
    { level: 'silent', version: '', pretty: false, secrets: [] },
  );
  const tokens = new RefreshingTokenSource(
    { http, clock, random, log, metrics, store: new MemoryTokenStore({ clock }) },
    { name: 'client', holder: random.uuid(), baseUrl, credential, grant: 'client_credentials' },
  );
  return { http, clock, random, tokens, metrics };
}
