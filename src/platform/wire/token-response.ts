import { z } from 'zod';

/**
 * The token endpoint's answer.
 *
 * Specification ("Token response", "POST /v1/oauth2/token"): the fields; a returned refresh token replaces the one before it.
 *
 * Assumption: the body of the client-credentials grant (`client_id`, `client_secret`, optional `scope`; no refresh token in the answer), and
 * that errors are RFC 6749 bodies, which are also the flat error body.
 */
export const tokenResponse = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string(),
  expires_in: z.number().positive(),
  refresh_token: z.string().min(1).optional(),
  scope: z.string().optional(),
});

/** RFC 6749, section 5.2. */
export const tokenError = z.looseObject({ error: z.string(), error_description: z.string().optional() });

/** Specification ("Authentication"): every scope that is named there. */
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

export type TokenResponse = z.infer<typeof tokenResponse>;
export type TokenErrorBody = z.infer<typeof tokenError>;
