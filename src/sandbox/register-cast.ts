import { Secret } from '../runtime/secret.ts';
import { scopes } from '../venue/platform/wire/oauth.ts';
import { Directory } from './auth/directory.ts';
import type { Exchange } from './exchange/exchange.ts';
import { type SandboxInput, type SandboxOptions, sandboxOptions } from './sandbox-options.ts';

type Users = NonNullable<SandboxInput['users']>;
type Clients = NonNullable<SandboxInput['clients']>;

const redirectUri = 'http://127.0.0.1:8787/callback';
/** The others' accounts are numbered past it. */
const carolsNumber = 9001;

/**
 * The people and apps in a sandbox without a cast of its own: alice without MFA and with an account
 * of each kind, bob with MFA, carol with accounts that the others may not see; a confidential and a
 * public client. Secrets are fixed texts: everything here is made up.
 */
export function defaultCast(accounts: number): { users: Users; clients: Clients } {
  const alice = [{ id: 'SIM-1001', predictions: true }];
  if (accounts > 1) alice.push({ id: 'SIM-1002', predictions: false });
  // Further accounts are enrolled by turns: an account that isn't still has equities and options.
  for (let i = 3; i < accounts; i += 1) {
    const number = 1001 + i;
    alice.push({ id: `SIM-${number < carolsNumber ? number : number + 1}`, predictions: i % 2 === 1 });
  }
  const bob = accounts > 2 ? [{ id: 'SIM-1003', predictions: true }] : [];
  return {
    users: [
      { username: 'alice', password: 'sandbox-alice', mfa: null, accounts: alice },
      { username: 'bob', password: 'sandbox-bob', mfa: '246810', accounts: bob },
      {
        username: 'carol',
        password: 'sandbox-carol',
        mfa: null,
        accounts: [{ id: `SIM-${carolsNumber}`, predictions: true, traded: false }],
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

/** Who takes part, with every default filled in. */
export interface Cast {
  readonly users: NonNullable<SandboxOptions['users']>;
  readonly clients: NonNullable<SandboxOptions['clients']>;
}

/** The options' users and clients, or the default ones in their place. */
export function castOf(options: SandboxOptions): Cast {
  const usual = sandboxOptions.parse(defaultCast(options.accounts));
  const users = options.users ?? usual.users ?? [];
  // A scenario with users of its own and no clients: the usual clients see them all.
  const clients =
    options.clients ??
    (usual.clients ?? []).map((client) => (options.users === undefined ? client : seeAll(client, users)));
  return { users, clients };
}

/** Opens their accounts on the exchange and registers them. */
export function registerCast(exchange: Exchange, cast: Cast): Directory {
  const directory = new Directory(exchange);
  for (const user of cast.users) registerUser(exchange, directory, user);
  for (const client of cast.clients) registerClient(directory, client);
  return directory;
}

/** One user; accounts that are open already stay as they are. */
export function registerUser(exchange: Exchange, directory: Directory, user: Cast['users'][number]): void {
  const { username, password, mfa, accounts } = user;
  directory.users.set(username, { username, password: new Secret(password), mfa });
  for (const account of accounts)
    if (!exchange.accounts.has(account.id)) exchange.addAccount({ ...account, owner: username, status: 'OPEN' });
}

/** One app. */
export function registerClient(directory: Directory, { clientSecret, ...client }: Cast['clients'][number]): void {
  directory.clients.set(
    client.clientId,
    clientSecret === undefined ? client : { ...client, clientSecret: new Secret(clientSecret) },
  );
}

function seeAll(client: Cast['clients'][number], users: Cast['users']): Cast['clients'][number] {
  return client.clientSecret === undefined ? client : { ...client, users: users.map((user) => user.username) };
}
