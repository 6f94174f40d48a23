import { scopes } from '../platform/wire/token-response.ts';
import type { SandboxInput } from './sandbox-options.ts';

type Users = NonNullable<SandboxInput['users']>;
type Clients = NonNullable<SandboxInput['clients']>;

export const redirectUri = 'http://127.0.0.1:8787/callback';

/**
 * The people and apps of a sandbox without a cast of its own: alice without MFA and with an account of each kind, bob with MFA, carol whose accounts the
 * others may not see; a confidential and a public client. Secrets are fixed texts: everything here is made up.
 */
export function defaultCast(accounts: number): { users: Users; clients: Clients } {
  const alice = [
    { id: 'SIM-1001', predictions: true },
    { id: 'SIM-1002', predictions: false },
  ];
  // Further accounts are enrolled by turns: an account that isn't still has equities and options.
  for (let i = 3; i < accounts; i += 1) alice.push({ id: `SIM-${1001 + i}`, predictions: i % 2 === 1 });
  const bob = accounts > 2 ? [{ id: 'SIM-1003', predictions: true }] : [];
  return {
    users: [
      { username: 'alice', password: 'sandbox-alice', mfa: null, accounts: alice },
      { username: 'bob', password: 'sandbox-bob', mfa: '246810', accounts: bob },
      {
        username: 'carol',
        password: 'sandbox-carol',
        mfa: null,
        accounts: [{ id: 'SIM-9001', predictions: true, traded: false }],
      },
    ],
    clients: [
      {
        clientId: 'sandbox-desk',
        clientSecret: 'sandbox-desk-secret',
        redirectUris: [redirectUri],
        scopes: [...scopes],
        users: ['alice', 'bob'],
      },
      { clientId: 'sandbox-app', redirectUris: [redirectUri], scopes: [...scopes], users: [] },
    ],
  };
}
