import type { Config } from '../../config/config.ts';
import type { HttpOutcome } from '../../platform/http.ts';
import { accountsPath, userAccounts } from '../../platform/wire/accounts.ts';
import { ordersPath, predictionOrdersPath } from '../../platform/wire/order-pages.ts';
import { type Finding, fail, ok } from './finding.ts';
import { getSignedIn, parsedJson, type SignedIn } from './signed-in.ts';

/** The accounts that the token sees, beside those of PLATFORM_ACCOUNTS, and whether their orders may be read. */
export async function checkAccounts(config: Config, at: SignedIn): Promise<Finding[]> {
  const outcome = await getSignedIn(at, 'list_accounts', `${at.platformUrl}${accountsPath}`);
  if (outcome.kind === 'failed')
    return [fail('accounts', outcome.message, 'Check PLATFORM_URL, and that this machine may reach it.')];
  if (outcome.status !== 200) {
    return [fail('accounts', `the list is answered with ${outcome.status}`, 'Give the client the scope account:information.')];
  }
  const listed = userAccounts.safeParse(parsedJson(outcome.text));
  if (!listed.success)
    return [
      fail('accounts', 'the list has another shape than specified', 'Check that PLATFORM_URL is the base of the platform.'),
    ];
  const seen = listed.data.accounts.map((account) => account.trading_account_id);
  const followed = config.platformAccounts ?? seen;
  const absent = followed.filter((id) => !seen.includes(id)).length;
  if (absent > 0)
    return [
      fail(
        'accounts',
        `${absent} of PLATFORM_ACCOUNTS ${absent === 1 ? 'is' : 'are'} not among the ${seen.length} that the client sees`,
        'Correct PLATFORM_ACCOUNTS.',
      ),
    ];
  const [first] = followed;
  if (first === undefined)
    return [fail('accounts', 'the client sees no account', 'Link an account to the app in the client center.')];
  return [ok('accounts', `${followed.length} of ${seen.length} are followed`), ...(await checkOrders(config, at, first))];
}

/** One row of each order list of one account. 403 from the prediction list is an answer too: that account is not in the beta. */
async function checkOrders(config: Config, at: SignedIn, accountId: string): Promise<Finding[]> {
  const query = `?accountId=${encodeURIComponent(accountId)}&limit=1`;
  const { platformStagingUrl: staging } = config;
  const [orders, predictions] = await Promise.all([
    getSignedIn(at, 'list_orders', `${at.platformUrl}${ordersPath}${query}`),
    staging === undefined ? undefined : getSignedIn(at, 'list_orders', `${staging}${predictionOrdersPath}${query}`),
  ]);
  const found = [listFinding('orders', orders, 'Check PLATFORM_URL.')];
  if (predictions === undefined) return found;
  const notEnrolled = predictions.kind === 'answered' && predictions.status === 403;
  return [
    ...found,
    notEnrolled
      ? ok('predictions', 'the first account is not enrolled for prediction orders')
      : listFinding('predictions', predictions, 'Check PLATFORM_STAGING_URL.'),
  ];
}

function listFinding(part: string, outcome: HttpOutcome, mend: string): Finding {
  if (outcome.kind === 'failed') return fail(part, `the list does not answer: ${outcome.message}`, mend);
  if (outcome.status === 200) return ok(part, 'the list can be read');
  const scope = outcome.status === 403 ? 'Give the client the scope order:information.' : mend;
  return fail(part, `the list is answered with ${outcome.status}`, scope);
}
