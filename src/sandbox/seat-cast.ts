import { Secret } from '../runtime/secret.ts';
import { Directory } from './auth/directory.ts';
import { defaultCast } from './default-cast.ts';
import type { Exchange } from './exchange/exchange.ts';
import { type SandboxOptions, sandboxOptions } from './sandbox-options.ts';

/** Who takes part, with every default filled in. */
export interface Cast {
  readonly users: NonNullable<SandboxOptions['users']>;
  readonly clients: NonNullable<SandboxOptions['clients']>;
}

/** The users and clients of the options, or the default ones in their place. */
export function castOf(options: SandboxOptions): Cast {
  const usual = sandboxOptions.parse(defaultCast(options.accounts));
  const users = options.users ?? usual.users ?? [];
  // A scenario with users of its own and no clients: the usual clients see all of them.
  const clients =
    options.clients ?? (usual.clients ?? []).map((client) => (options.users === undefined ? client : seeAll(client, users)));
  return { users, clients };
}

/** Opens their accounts on the exchange and registers them. */
export function seatCast(exchange: Exchange, cast: Cast): Directory {
  const directory = new Directory(exchange);
  for (const user of cast.users) seatUser(exchange, directory, user);
  for (const client of cast.clients) seatClient(directory, client);
  return directory;
}

/** One user; accounts that are open already stay as they are. */
export function seatUser(exchange: Exchange, directory: Directory, user: Cast['users'][number]): void {
  const { username, password, mfa, accounts } = user;
  directory.users.set(username, { username, password: new Secret(password), mfa });
  for (const account of accounts)
    if (!exchange.accounts.has(account.id)) exchange.addAccount({ ...account, owner: username, status: 'OPEN' });
}

/** One app. */
export function seatClient(directory: Directory, { clientSecret, ...client }: Cast['clients'][number]): void {
  directory.clients.set(
    client.clientId,
    clientSecret === undefined ? client : { ...client, clientSecret: new Secret(clientSecret) },
  );
}

function seeAll(client: Cast['clients'][number], users: Cast['users']): Cast['clients'][number] {
  return client.clientSecret === undefined ? client : { ...client, users: users.map((user) => user.username) };
}
