import { z } from 'zod';
import { neededFlag, neededText, optionalText, text, textOrNone } from './optional-field.ts';

/**
 * Signing a user in.
 *
 * Specification ("OAuth2", "Authentication"): the screen's address and query, `is_mfa` and
 * `next_step_auth_id`, the MFA step's fields, and confirm after it.
 *
 * Assumption: the screen posts to `POST /v1/oauth2/authorize` with the request's own parameters,
 * `username` and `password`; the answers to its three steps; a code lives 60 s. `decision=deny` in
 * that post says no.
 */
export const authorizeScreenPath = '/oauth2/authorize';
/** Assumption, on the screen's address. */
export const signInPath = '/v1/oauth2/authorize';
export const mfaPath = '/v1/oauth2/authorize/mfa';
export const confirmPath = '/v1/oauth2/authorize/confirm';
/** Assumption: RFC 8414. */
export const metadataPath = '/.well-known/oauth-authorization-server';

/** Assumption, but `is_mfa` and `next_step_auth_id`. */
export const mfaAsked = z.looseObject({ is_mfa: neededFlag.pipe(z.literal(true)), next_step_auth_id: neededText });
/** Assumption. A field left out of `state` was left out of the request. */
export const codeGiven = z.looseObject({
  code: neededText,
  state: optionalText,
  redirect_uri: optionalText,
});
/** Assumption. */
export const mfaAnswer = z.looseObject({ next_step_auth_id: neededText });

/**
 * The token endpoint's answer.
 *
 * Specification ("Token response", "POST /v1/oauth2/token"): the fields; a returned refresh token
 * replaces the one before it.
 *
 * Assumption: the client-credentials grant's body (`client_id`, `client_secret`, optional `scope`;
 * no refresh token in the answer). Errors are RFC 6749 bodies, and these are also the flat error
 * body.
 */
export const tokenResponse = z.looseObject({
  access_token: z.string().min(1),
  token_type: text,
  expires_in: z.number().positive(),
  refresh_token: z.string().min(1).optional(),
  scope: textOrNone,
});

/** RFC 6749, section 5.2. */
export const tokenError = z.looseObject({ error: text, error_description: textOrNone });

/** Specification ("Authentication"): every scope named there. */
export const scopes = [
  'user:information',
  'watchlist:information',
  'watchlist:management',
  'account:information',
  'order:execution',
  'order:information',
  'position:information',
  'market:information',
  'calendar:information',
  'options:information',
  'analytics:information',
  'market:supplemental',
] as const;

export const tokenPath = '/v1/oauth2/token';
/** Assumption. */
export const jwksPath = '/v1/oauth2/jwks';
