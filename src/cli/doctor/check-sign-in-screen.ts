import type { Http } from '../../platform/http.ts';
import { type Finding, ok, warn } from './finding.ts';

/**
 * Whether the sign-in screen is there (specification, "GET {auth_url}/oauth2/authorize"). Any answer will do, since without parameters the
 * platform must refuse; and a missing one is only a warning, since the client-credentials grant does without it.
 */
export async function checkSignInScreen(authUrl: string, http: Http): Promise<Finding> {
  const outcome = await http.request({ operation: 'authorize', method: 'GET', url: `${authUrl}/oauth2/authorize`, headers: {} });
  const mend = "Check PLATFORM_AUTH_URL; without it people can't link their accounts.";
  if (outcome.kind === 'failed') return warn('sign-in screen', `does not answer: ${outcome.message}`, mend);
  return outcome.status < 500 ? ok('sign-in screen', 'answers') : warn('sign-in screen', `answers with ${outcome.status}`, mend);
}
