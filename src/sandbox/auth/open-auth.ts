import type { Ambient } from '../../observability/ambient.ts';
import type { SandboxOptions } from '../sandbox-options.ts';
import { AccessTokens } from './access-tokens.ts';
import { AuthorizationCodes } from './authorization-codes.ts';
import type { Directory } from './directory.ts';
import type { Login } from './opaque-token.ts';
import { RefreshTokens } from './refresh-tokens.ts';
import { SignIns } from './sign-ins.ts';

interface OpenAuthDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly directory: Directory;
}

/**
 * Sign-in and its tokens. A refresh token used again ends its login's access; a code used again
 * ends the login's refresh tokens too.
 */
export async function openAuth({ clock, random, directory }: OpenAuthDeps, options: SandboxOptions['tokens']) {
  const tokens = await AccessTokens.create({ clock, random }, options);
  const endAccess = (login: Login) => void tokens.revoke((principal) => principal.loginId === login.loginId);
  const refreshTokens = new RefreshTokens({ clock, onReused: endAccess }, options.refresh);
  const endLogin = (login: Login) => {
    refreshTokens.revoke(({ loginId }) => loginId === login.loginId);
    endAccess(login);
  };
  const codes = new AuthorizationCodes({ clock, random, onReused: endLogin });
  return { directory, tokens, codes, refreshTokens, signIns: new SignIns({ clock, directory, codes }) };
}
