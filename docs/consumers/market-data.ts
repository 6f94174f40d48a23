/**
 * Shows what the platform tells beside orders: which symbols match a word, their quotes just now, and a setting of the user.
 *
 *   npm install tidemark-0.1.0.tgz && PLATFORM_URL=… PLATFORM_CLIENT_ID=… PLATFORM_CLIENT_SECRET=… API_KEY=… node market-data.ts apple      # Node 24
 *
 * `tidemark dev` prints all of these but the key: that of the sandbox is `sandbox-api-key`. docs/platform-client.md explains it.
 */
import { createPlatformClient, type Fetched } from 'tidemark/platform';

const {
  PLATFORM_URL = 'http://127.0.0.1:8700',
  PLATFORM_CLIENT_ID = '',
  PLATFORM_CLIENT_SECRET = '',
  API_KEY = '',
} = process.env;
const [word = 'apple'] = process.argv.slice(2);

const platform = createPlatformClient({
  baseUrl: PLATFORM_URL,
  clientId: PLATFORM_CLIENT_ID,
  clientSecret: PLATFORM_CLIENT_SECRET,
  apiKey: API_KEY,
});

/** The value, or an end of the program with the reason. */
function granted<T>(answer: Fetched<T>): T {
  if (answer.ok) return answer.value;
  const { status = 'no status', code = 'no code', message } = answer.error;
  throw new Error(`the platform did not answer (${status}, ${code}): ${message}`);
}

try {
  const found = granted(await platform.searchSymbols({ query: word, limit: 5 }));
  for (const { symbol, description } of found) process.stdout.write(`${symbol}: ${description}\n`);

  const stocks = found.filter(({ type }) => type === 'stock').map(({ symbol }) => symbol);
  const quotes = stocks.length === 0 ? [] : granted(await platform.chartQuotes(stocks));
  // Prices are decimal text: printed and compared as they are, never as a double.
  for (const { s, v } of quotes) process.stdout.write(`${s}: ${v.bid ?? '-'} / ${v.ask ?? '-'}\n`);

  const theme = await platform.userSetting({ category: 'display', key: 'theme' });
  process.stdout.write(`theme: ${theme.ok ? JSON.stringify(theme.value) : 'not set'}\n`);
} finally {
  await platform.close();
}
