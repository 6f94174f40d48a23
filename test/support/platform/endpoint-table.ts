import fc from 'fast-check';
import { z } from 'zod';
import { stocks } from '../../../src/sandbox/data/listings.ts';
import { optionContract } from '../../../src/sandbox/data/option-contracts.ts';
import {
  apiKeyHeader,
  chartQuotesPath,
  chartQuotesQuery,
  optionsQuotesPath,
  optionsQuotesQuery,
  previousDayPath,
  previousDayQuery,
  symbolSearchPath,
  symbolSearchQuery,
} from '../../../src/venue/platform/wire/market-data.ts';
import { tokenPath } from '../../../src/venue/platform/wire/oauth.ts';
import {
  listStates,
  ordersPath,
  pageLimit,
  predictionOrdersPath,
} from '../../../src/venue/platform/wire/order-pages.ts';
import {
  fdaCalendarPath,
  investmentThemePath,
  investmentThemeQuery,
  ownershipPath,
  ownershipQuery,
} from '../../../src/venue/platform/wire/research.ts';
import {
  accountsPath,
  changeEmailBody,
  changeEmailPath,
  deleteSettingsBody,
  healthPath,
  settingDeleteError,
  settingsPath,
} from '../../../src/venue/platform/wire/user.ts';
import { orderEntryEndpoints } from '../commands/order-entry-endpoints.ts';
import { accountQuery, type Endpoint } from './endpoint.ts';

const refusedAs = (code: string) => () => ({ status: 400, code });
const symbol = fc.constantFrom(...stocks.map((stock) => stock.symbol));
const contract = fc.constantFrom('O:AAPL261218C00200000', 'O:KO270115P00064000', 'O:BRKB261218C00460000');
if (optionContract('KO270115P00064000') === undefined) throw new Error('not listed');

/**
 * The lists' queries (docs/platform-assumptions.md); `cursor` is made
 * by the platform, so none can be made up.
 */
const listQuery = {
  accountId: z.string().min(1),
  updatedAfter: z.iso.datetime().optional(),
  limit: z.int().min(1).max(pageLimit.max).optional(),
};
const clientCredentials = z.object({
  grant_type: z.enum(['client_credentials']),
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  scope: z.string().optional(),
});

const reads: readonly Endpoint[] = [
  get('GET /v1/health', healthPath),
  get('GET /v2/users/me/accounts', accountsPath, { scope: 'account:information' }),
  get('GET /v1/config/{category}/user-settings/{key}', `${settingsPath('display')}/theme`, {
    scope: 'account:information',
  }),
  get('GET /v1/marketdata/search', symbolSearchPath, {
    scope: 'market:information',
    query: symbolSearchQuery,
    headers: ({ description }) => ({ [apiKeyHeader]: description.apiKey }),
  }),
  get('GET /v1/chart/quotes', chartQuotesPath, {
    scope: 'market:information',
    query: chartQuotesQuery,
    known: { symbols: fc.array(symbol, { minLength: 1, maxLength: 5 }).map((symbols) => symbols.join(',')) },
  }),
  get('GET /v1/options/quotes', optionsQuotesPath, {
    scope: 'options:information',
    // A cursor can't be made up either.
    query: optionsQuotesQuery.omit({ next: true }),
    known: { ticker: contract, limit: fc.integer({ min: 1, max: 50 }) },
  }),
  get('GET /v1/stocks/prev', previousDayPath, {
    scope: 'market:information',
    query: previousDayQuery,
    known: { ticker: symbol },
  }),
  get('GET /v1/ownership/data', ownershipPath, { scope: 'market:supplemental', query: ownershipQuery }),
  get('GET /v1/stock/investment-theme', investmentThemePath, {
    scope: 'market:supplemental',
    query: investmentThemeQuery,
  }),
  get('GET /v1/stock/fda-advisory-committee-calendar', fdaCalendarPath, { scope: 'calendar:information' }),
  get('GET /v1/orders', ordersPath, {
    scope: 'order:information',
    query: z.object({ ...listQuery, clOrdId: z.string().optional(), status: z.enum(listStates).optional() }),
    known: { accountId: fc.constantFrom('SIM-1001', 'SIM-1002', 'SIM-1003') },
  }),
  get('GET /v1/orders/{ordId}', orderPath('account', ordersPath), {
    scope: 'order:information',
    query: accountQuery,
    known: { accountId: fc.constant('SIM-1001') },
  }),
  get('GET /v1/predictions/orders', predictionOrdersPath, {
    listener: 'staging',
    scope: 'order:information',
    query: z.object({ ...listQuery, clientOrderRef: z.string().optional(), state: z.enum(listStates).optional() }),
    known: { accountId: fc.constantFrom('SIM-1001', 'SIM-1003') },
    refused: refusedAs('INVALID_ORDER'),
  }),
  get('GET /v1/predictions/orders/{orderId}', orderPath('prediction', predictionOrdersPath), {
    listener: 'staging',
    scope: 'order:information',
    query: accountQuery,
    known: { accountId: fc.constant('SIM-1001') },
    refused: refusedAs('INVALID_ORDER'),
  }),
];

const writes: readonly Endpoint[] = [
  {
    name: 'POST /v1/oauth2/token (client credentials)',
    method: 'POST',
    listener: 'platform',
    path: tokenPath,
    body: clientCredentials,
    known: {
      client_id: fc.constant('sandbox-desk'),
      client_secret: fc.constant('sandbox-desk-secret'),
      scope: fc.constantFrom('order:information', 'market:information user:information'),
    },
    accepted: [200],
    refused: (field, keyword) => {
      if (field === 'grant_type' && keyword === 'enum') return { status: 400, code: 'unsupported_grant_type' };
      // An empty text counts as absent, and who names no client or secret has not authenticated.
      const names = field.startsWith('client_') && (keyword === 'required' || keyword === 'minLength');
      return names ? { status: 401, code: 'invalid_client' } : { status: 400, code: 'invalid_request' };
    },
  },
  {
    name: 'POST /v1/users/me/email/change',
    method: 'POST',
    listener: 'platform',
    scope: 'user:information',
    path: changeEmailPath,
    body: changeEmailBody,
    accepted: [200],
    refused: refusedAs('INVALID_EMAIL'),
    tolerated: ['unheardOf additionalProperties'],
  },
  {
    name: 'DELETE /v1/config/{category}/user-settings',
    method: 'DELETE',
    listener: 'platform',
    scope: 'account:information',
    path: settingsPath('display'),
    body: deleteSettingsBody,
    known: { keys: fc.uniqueArray(fc.constantFrom('theme', 'fontSize', 'columns')) },
    accepted: [200],
    refused: refusedAs(settingDeleteError),
    tolerated: ['unheardOf additionalProperties'],
    fresh: true,
  },
];

/**
 * Every documented endpoint but the screens of the sign-in, which
 * have forms of their own (test/sandbox/auth).
 */
export const endpoints: readonly Endpoint[] = [...reads, ...writes, ...orderEntryEndpoints];

function get(name: string, path: Endpoint['path'], more: Partial<Endpoint> = {}): Endpoint {
  return {
    name,
    method: 'GET',
    listener: 'platform',
    path,
    accepted: [200],
    refused: refusedAs('INVALID_PARAMETER'),
    ...more,
  };
}

/** The path of some order of SIM-1001. */
function orderPath(stream: 'account' | 'prediction', base: string): Endpoint['path'] {
  return ({ parts }) => {
    const orders = [...parts.exchange.orders.values()].map(({ terms }) => terms);
    return `${base}/${orders.find((terms) => terms.stream === stream && terms.account.id === 'SIM-1001')?.orderId}`;
  };
}
