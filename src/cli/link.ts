import { Command, Option } from 'commander';
import type { Pool } from 'pg';
import type { ConfigWith } from '../config/config.ts';
import { type AlpacaEnvironment, alpacaHosts } from '../config/venue-options.ts';
import { ProgramError, usage } from '../runtime/program-error.ts';
import { Proxies } from '../runtime/proxies.ts';
import { type CredentialList, loginPrefix, type Token } from '../runtime/token-store.ts';
import { clientName, holderName } from '../service/run/platform-parts.ts';
import { recordAction } from '../store/commands/read-audit-trail.ts';
import { PostgresCredentialList, PostgresTokenStore } from '../store/token-store.ts';
import { UndiciHttp } from '../venue/platform/undici-http.ts';
import { numberBetween, shaped } from './io/flag-text.ts';
import { printable } from './io/format-text.ts';
import { abortOnSignal, type CliIo, printResult } from './io/io.ts';
import { readConfig } from './io/read-config.ts';
import { linkKey, readKeyPair } from './link/link-alpaca.ts';
import { type LinkDeps, linkLogin, listAccountsWith, openBrowser } from './link/link-login.ts';
import { withDatabase } from './with-database.ts';

const seconds = shaped(/^[1-9]\d{0,4}$/, 'It must be a whole number of seconds above 0.', Number);

const port = numberBetween(0, 65_535, 'It must be a port, 0 to 65535.');

const loginName = shaped(/^[A-Za-z0-9._-]{1,50}$/, 'It must be up to 50 of A-Z a-z 0-9 . _ -');

const storedName = shaped(/^(?:[a-z_]+:)?[\w.-]{1,100}$/, 'It must be a name as --list shows it.');

const examples = `
Examples:
  $ tidemark link                     opens the platform's sign-in screen, and follows the accounts of that user
  $ tidemark link --name desk-2       another user beside the first
  $ tidemark link --no-open           only prints the address
  $ tidemark link --venue alpaca      asks for a key pair, and follows its account
  $ tidemark link --venue alpaca --environment live <pair.txt
  $ tidemark link --list
  $ tidemark link --remove desk-2

The app must have the redirect URI http://127.0.0.1:8787/callback registered, or the one of --redirect-port. Without PLATFORM_CLIENT_SECRET it signs in as a public
client. A running service follows the accounts within seconds. The tokens are stored encrypted, with TIDEMARK_ENCRYPTION_KEY.

A key pair of Alpaca is read from the terminal, which does not show it, or from two lines on stdin: the key id and the secret. Its login is named by its
account, such as alpaca_paper:PA3XK7Q2M8Z1. Another pair of the same account takes its place.`;

interface Flags {
  readonly venue: 'platform' | 'alpaca';
  readonly environment?: AlpacaEnvironment;
  readonly name?: string;
  readonly redirectPort: number;
  readonly timeout: number;
  readonly open: boolean;
  readonly list?: true;
  readonly remove?: string;
  readonly json?: true;
}

/** Signs a user in, so that their accounts are followed. */
export function linkCommand(io: CliIo): Command {
  return new Command('link')
    .description(
      "Signs a user in through the platform's own screen, in a browser, or takes a key pair of Alpaca, and keeps the login for the service.",
    )
    .addOption(new Option('--venue <venue>', 'whose login it is').choices(['platform', 'alpaca']).default('platform'))
    .addOption(
      new Option('--environment <environment>', 'of a key pair; ALPACA_ENVIRONMENT if left out').choices(
        Object.keys(alpacaHosts),
      ),
    )
    .option(
      '--name <name>',
      'of a login at the platform; the same name again replaces it (default: default)',
      loginName,
    )
    .option('--redirect-port <port>', 'on which the browser comes back; 0 takes any free one', port, 8787)
    .option('--timeout <seconds>', 'how long to wait for the user', seconds, 300)
    .option('--no-open', 'only print the address, open no browser')
    .option('--list', 'print the logins that are linked')
    .option('--remove <name>', 'remove a login; its accounts are not followed any more within seconds', storedName)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples)
    .action((flags: Flags) => runLink(io, flags));
}

const linkNeeds = ['databaseUrl', 'encryptionKey', 'platformUrl', 'platformAuthUrl', 'platformClientId'] as const;
type LinkConfig = ConfigWith<(typeof linkNeeds)[number]>;

const database = { applicationName: 'tidemark-link', maxConnections: 2 };

async function runLink(io: CliIo, flags: Flags): Promise<void> {
  const { remove } = flags;
  if (flags.environment !== undefined && flags.venue !== 'alpaca')
    throw usage('--environment is for --venue alpaca', 'Name both, or leave it out.');
  if (flags.name !== undefined && flags.venue === 'alpaca')
    throw usage('a key pair has no --name: its login is named by its account', 'Leave --name out.');
  const { clock, random } = io;
  if (flags.list || remove !== undefined)
    return withDatabase(io, readConfig(io, ['databaseUrl']), database, (pool) => {
      const logins = new PostgresCredentialList({ pool, clock, random });
      return remove === undefined ? printLogins(io, logins, flags) : removeLogin(io, pool, logins, remove);
    });
  if (flags.venue === 'alpaca') return linkPair(io, flags);
  const config = readConfig(io, linkNeeds);
  return withDatabase(io, config, database, (pool) => link(io, config, pool, flags));
}

async function printLogins(io: CliIo, store: CredentialList, flags: Flags): Promise<void> {
  const names = (await store.stored(''))
    .filter(({ credential }) => credential !== clientName)
    .map(({ credential }) => credential.replace(loginPrefix, ''));
  const text = names.length === 0 ? 'No login is linked.\n' : names.map((name) => `${name}\n`).join('');
  printResult(io, flags, { logins: names }, text);
}

async function removeLogin(io: CliIo, pool: Pool, store: CredentialList, name: string): Promise<void> {
  if (await store.forget(name.includes(':') ? name : `${loginPrefix}${name}`)) {
    await recordAction(pool, 'unlink', { login: name });
    io.stdout.write(`Forgot the login ${name}.\n`);
  } else
    throw new ProgramError(`there is no login ${name}`, {
      code: 'NO_LOGIN',
      fix: '`tidemark link --list` shows them.',
    });
}

/** A key pair, tried once. */
async function linkPair(io: CliIo, flags: Flags): Promise<void> {
  const config = readConfig(io, ['databaseUrl', 'encryptionKey']);
  const { clock, random } = io;
  const pair = await readKeyPair(io, flags.timeout * 1000);
  const http = new UndiciHttp({ clock, proxies: new Proxies(config) });
  const { credential, accountId } = await withDatabase(io, config, database, async (pool) => {
    const store = new PostgresTokenStore({ pool, clock, random, key: config.encryptionKey });
    const environment = flags.environment ?? config.alpacaEnvironment;
    const linked = await linkKey(
      { clock, random, http, store },
      { config, environment, holder: holderName(random) },
      pair,
    );
    await recordAction(pool, 'link', { login: linked.credential });
    return linked;
  }).finally(() => http.close());
  if (!config.venues.includes('alpaca'))
    io.stderr.write('tidemark: warning: VENUES has no alpaca here: a service with these settings does not follow it\n');
  printResult(io, flags, { name: credential, accounts: [accountId] }, `Linked ${credential}.\n`);
}

async function link(io: CliIo, config: LinkConfig, pool: Pool, flags: Flags): Promise<void> {
  const { name = 'default' } = flags;
  const { platformUrl, platformAuthUrl, platformClientId, platformClientSecret } = config;
  const { clock, random } = io;
  const store = new PostgresTokenStore({ pool, clock, random, key: config.encryptionKey });
  const http = new UndiciHttp({ clock, proxies: new Proxies(config) });
  using interrupted = abortOnSignal(io);
  const onAddress: LinkDeps['onAddress'] = (address) => {
    io.stderr.write(`Sign in here:\n\n  ${address}\n\nWaiting for the browser to come back …\n`);
    if (flags.open) openBrowser(address);
  };
  try {
    const token = await linkLogin(
      { http, clock, store, onAddress },
      {
        platformUrl,
        authUrl: platformAuthUrl,
        credential: { clientId: platformClientId, ...(platformClientSecret && { clientSecret: platformClientSecret }) },
        storedAs: `${loginPrefix}${name}`,
        holder: holderName(random),
        redirectPort: flags.redirectPort,
        timeoutMs: flags.timeout * 1000,
      },
      interrupted.signal,
    );
    await recordAction(pool, 'link', { login: name });
    await printToken(io, { ...flags, name }, token, { http, platformUrl });
  } finally {
    await http.close();
  }
}

async function printToken(
  io: CliIo,
  flags: Flags,
  token: Token,
  platform: { http: UndiciHttp; platformUrl: string },
): Promise<void> {
  if (token.refreshToken === undefined)
    io.stderr.write('tidemark: warning: the platform gave no refresh token: this login ends with its access token\n');
  const accounts = await listAccountsWith({ ...platform, clock: io.clock, random: io.random }, token);
  const { name } = flags;
  const seen = accounts === undefined ? '' : `: ${accounts.map(printable).join(', ') || 'no accounts'}`;
  printResult(io, flags, { name, accounts: accounts ?? null }, `Linked ${name}${seen}.\n`);
}
