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
  for (const { username, password, mfa, accounts } of cast.users) {
    directory.users.set(username, { username, password: new Secret(password), mfa });
    for (const account of accounts) exchange.addAccount({ ...account, owner: username, status: 'OPEN' });
  }
  for (const { clientSecret, ...client } of cast.clients)
    directory.clients.set(
      client.clientId,
      clientSecret === undefined ? client : { ...client, clientSecret: new Secret(clientSecret) },
    );
  return directory;
}

function seeAll(client: Cast['clients'][number], users: Cast['users']): Cast['clients'][number] {
  return client.clientSecret === undefined ? client : { ...client, users: users.map((user) => user.username) };
}
