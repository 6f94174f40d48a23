import { z } from 'zod';
import type { SandboxDescription } from '../../sandbox/describe-sandbox.ts';

const token = z.object({ access_token: z.string() });
const listed = z.object({ accounts: z.array(z.object({ trading_account_id: z.string() })) });

/** The accounts that the sandbox's client may see, asked as any client would: the others are nobody's loss. */
export async function visibleAccounts(fetchUrl: typeof fetch, sandbox: SandboxDescription): Promise<ReadonlySet<string>> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: sandbox.clientId,
    client_secret: sandbox.clientSecret,
  });
  const granted = await fetchUrl(`${sandbox.platform}/v1/oauth2/token`, { method: 'POST', body: form });
  const { access_token: bearer } = token.parse(await granted.json());
  const answer = await fetchUrl(`${sandbox.platform}/v2/users/me/accounts`, { headers: { authorization: `Bearer ${bearer}` } });
  return new Set(listed.parse(await answer.json()).accounts.map((account) => account.trading_account_id));
}
