import type { Http, HttpOutcome } from '../../platform/http.ts';
import { Secret } from '../../runtime/secret.ts';

/** The platform with a token for it. */
export interface SignedIn {
  readonly http: Http;
  readonly platformUrl: string;
  readonly accessToken: Secret;
}

/** One read with the token; never rejects. */
export function getSignedIn(
  { http, accessToken }: Pick<SignedIn, 'http' | 'accessToken'>,
  operation: string,
  url: string,
): Promise<HttpOutcome> {
  return http.request({
    operation,
    method: 'GET',
    url,
    headers: { authorization: new Secret(`Bearer ${accessToken.reveal()}`) },
  });
}

/** Undefined where it is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
