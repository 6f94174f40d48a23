import { createHash } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { scopes } from '../http/auth/principal.ts';
import { PostgresPrincipalStore } from '../store/principals.ts';
import { CliError, exitCodes } from './cli-error.ts';
import { formatTable } from './format-table.ts';
import type { CliIo } from './io.ts';
import { readConfig } from './read-config.ts';
import { withDatabase } from './with-database.ts';

const examples = `
Examples:
  $ tidemark token add risk --scopes orders:read --all-accounts
  $ tidemark token add desk --scopes orders:read,orders:write --accounts SIM-1001,SIM-1002 --json | jq -r .token > desk.token
  $ tidemark token ls
  $ tidemark token revoke desk

They are accepted by services that run with TIDEMARK_AUTH_PRINCIPALS=on, within 10 s. Needs DATABASE_URL. The token is shown once: only its hash is kept.`;

interface AddFlags {
  readonly scopes: readonly string[];
  readonly accounts?: readonly string[];
  readonly allAccounts?: true;
  readonly json?: true;
}

/** `token add`, `token ls` and `token revoke`: who may use REST, kept in the database. */
export function tokenCommand(io: CliIo): Command {
  const command = new Command('token')
    .description('Makes, lists and revokes the tokens of REST that are kept in the database.')
    .addHelpText('after', examples);
  command
    .command('add')
    .description('Makes a token, and shows it once.')
    .argument('<name>', 'of the principal: in the journal, in the audit trail', principalName)
    .requiredOption('--scopes <list>', `what it may do: ${scopes.join(', ')}`, scopeList)
    .option('--accounts <list>', 'accounts that it may see and move', accountList)
    .option('--all-accounts', 'every account, also those to come')
    .option('--json', 'print { name, token } as JSON')
    .action((name: string, flags: AddFlags) => withPrincipals(io, (store) => add(io, store, name, flags)));
  command
    .command('ls')
    .description('Lists those that are in force.')
    .option('--json', 'print a JSON array; hashes are left out')
    .action((flags: { json?: true }) => withPrincipals(io, (store) => list(io, store, flags.json === true)));
  command
    .command('revoke')
    .description('Ends a token for good; its name is not given again.')
    .argument('<name>', 'of the principal')
    .action((name: string) => withPrincipals(io, (store) => revoke(io, store, name)));
  return command;
}

async function withPrincipals(io: CliIo, work: (store: PostgresPrincipalStore) => Promise<void>): Promise<void> {
  const config = readConfig(io, ['databaseUrl']);
  await withDatabase(io, config, { applicationName: 'tidemark-token', maxConnections: 1 }, (pool) =>
    work(new PostgresPrincipalStore({ pool, clock: io.clock, random: io.random })),
  );
}

async function add(io: CliIo, store: PostgresPrincipalStore, name: string, flags: AddFlags): Promise<void> {
  const { scopes: granted, accounts, allAccounts, json } = flags;
  if ((accounts === undefined) === (allAccounts === undefined))
    throw new CliError('which accounts? Give --accounts or --all-accounts', { code: 'USAGE', exitCode: exitCodes.usage });
  // 244 random bits.
  const token = `${io.random.uuid()}${io.random.uuid()}`.replaceAll('-', '');
  const sha256 = createHash('sha256').update(token).digest('hex');
  if (!(await store.add({ name, sha256, scopes: granted, accounts: accounts ?? 'all' })))
    throw new CliError(`there is, or was, a token of the name ${name}`, {
      code: 'NAME_TAKEN',
      mend: 'Choose another name: the audit trail tells them apart by it.',
    });
  io.stdout.write(json ? `${JSON.stringify({ name, token })}\n` : `${token}\n`);
  if (!json) io.stderr.write('This is the only time that it is shown.\n');
}

async function list(io: CliIo, store: PostgresPrincipalStore, asJson: boolean): Promise<void> {
  const active = (await store.active()).map(({ sha256: _kept, ...told }) => told);
  if (asJson) io.stdout.write(`${JSON.stringify(active)}\n`);
  else if (active.length === 0) io.stdout.write('There are no tokens in the database.\n');
  else {
    const rows = active.map(({ name, scopes: granted, accounts }) => [
      name,
      granted.join(','),
      accounts === 'all' ? '*' : accounts.join(','),
    ]);
    io.stdout.write(formatTable([['NAME', 'SCOPES', 'ACCOUNTS'], ...rows]));
  }
}

async function revoke(io: CliIo, store: PostgresPrincipalStore, name: string): Promise<void> {
  if (await store.revoke(name)) io.stdout.write(`Revoked ${name}.\n`);
  else
    throw new CliError(`there is no token of the name ${name} in force`, {
      code: 'NO_TOKEN',
      mend: '`tidemark token ls` shows them.',
    });
}

/** `loopback` is who calls without any sign-in. */
function principalName(text: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(text) && text !== 'loopback') return text;
  throw new InvalidArgumentError('It must be up to 64 of A-Z a-z 0-9 . _ - and not loopback.');
}

function scopeList(text: string): readonly string[] {
  const words = [...new Set(text.split(','))];
  if (words.every((word) => scopes.some((scope) => scope === word))) return words;
  throw new InvalidArgumentError(`It must be some of ${scopes.join(', ')}, separated by commas.`);
}

function accountList(text: string): readonly string[] {
  const ids = [...new Set(text.split(','))];
  if (ids.every((id) => /^[\x21-\x29\x2b\x2d-\x7e]{1,50}$/.test(id))) return ids;
  throw new InvalidArgumentError('It must be account ids, separated by commas.');
}
