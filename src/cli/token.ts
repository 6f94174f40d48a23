import { createHash } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { formatInstant } from '../domain/instant.ts';
import { isPlatformId } from '../domain/platform-id.ts';
import { isReservedName } from '../domain/reserved-name.ts';
import { ProgramError, usage } from '../runtime/program-error.ts';
import { scopes } from '../service/rest/auth/principal.ts';
import { type NumberedToken, PostgresPrincipalStore } from '../store/principals.ts';
import { shaped } from './io/flag-text.ts';
import { tableText } from './io/format-text.ts';
import { type CliIo, printJson, printResult } from './io/io.ts';
import { ambientOf, readConfig } from './io/read-config.ts';
import { withDatabase } from './with-database.ts';

const tokenNumber = shaped(/^[1-9]\d{0,8}$/, 'It must be the number of a token.', Number);

const examples = `
Examples:
  $ tidemark token add risk --scopes orders:read --all-accounts --expires-in 90d
  $ tidemark token add desk --scopes orders:read,orders:write --accounts SIM-1001,SIM-1002 --json | jq -r .token > desk.token
  $ tidemark token add desk --another         one more token of the same caller, with the rights of its last one
  $ tidemark token revoke desk 1 --in 1h      the old one ends once every process has the new one
  $ tidemark token ls
  $ tidemark token revoke desk                all of the caller's, at once

All tokens of a principal are one caller: idempotency keys and references are the principal's, so a new token goes on where the old one stopped. They are
accepted by services that run with TIDEMARK_AUTH_PRINCIPALS=on, within 5 s. Needs DATABASE_URL, as a member of tidemark_owner. A token is shown once: only its hash is kept.`;

interface ListFlags {
  readonly json?: true;
}

interface AddFlags extends ListFlags {
  readonly another?: true;
  readonly scopes?: readonly string[];
  readonly accounts?: readonly string[];
  readonly allAccounts?: true;
  readonly expiresIn?: number;
}

/** `token add`, `token ls` and `token revoke`: who may use REST, kept in the database. */
export function tokenCommand(io: CliIo): Command {
  const command = new Command('token')
    .description('Makes, lists and revokes the tokens of REST that are kept in the database.')
    .addHelpText('after', examples);
  command
    .command('add')
    .description('Makes a token, and shows it once.')
    .argument('<principal>', 'its owner: the name in the journal and in the audit trail', principalName)
    .option('--another', 'one more token of a principal that has had some')
    .option('--scopes <list>', `its rights: ${scopes.join(', ')}`, scopeList)
    .option('--accounts <list>', 'accounts whose orders it may see and change', accountList)
    .option('--all-accounts', 'every account, also those to come')
    .option('--expires-in <time>', 'when it ends, as 12h or 90d; without it, only when it is revoked', duration)
    .option('--json', 'print { principal, number, token } as JSON')
    .action((name: string, flags: AddFlags) => withPrincipals(io, (store) => add(io, store, name, flags)));
  command
    .command('ls')
    .description('Lists the tokens that are in force.')
    .option('--json', 'print a JSON array; hashes are left out')
    .action((flags: ListFlags) => withPrincipals(io, (store) => list(io, store, flags)));
  command
    .command('revoke')
    .description('Ends a token of a principal for good, or all of them.')
    .argument('<principal>', 'their owner', principalName)
    .argument('[number]', 'of the token, as `token ls` shows it; without it, all', tokenNumber)
    .option('--in <time>', 'not now but after this time, as 30m or 12h', duration, 0)
    .action((name: string, number: number | undefined, flags: { in: number }) =>
      withPrincipals(io, (store) => revoke(io, store, name, number, flags.in)),
    );
  return command;
}

async function withPrincipals(io: CliIo, work: (store: PostgresPrincipalStore) => Promise<void>): Promise<void> {
  const config = readConfig(io, ['databaseUrl']);
  await withDatabase(io, config, { applicationName: 'tidemark-token', maxConnections: 1 }, (pool) =>
    work(new PostgresPrincipalStore({ ...ambientOf(io, config), pool })),
  );
}

async function add(io: CliIo, store: PostgresPrincipalStore, name: string, flags: AddFlags): Promise<void> {
  if (flags.accounts !== undefined && flags.allAccounts !== undefined)
    throw usage('which accounts? Give --accounts or --all-accounts, not both');
  const last = (await store.tokensOf(name)).at(-1);
  if (last !== undefined && flags.another === undefined)
    throw new ProgramError(`there is, or was, a principal of the name ${name}`, {
      code: 'NAME_TAKEN',
      fix: 'For another caller choose another name. For the same one give --another: its tokens share idempotency keys.',
    });
  if (last === undefined && flags.another !== undefined)
    throw new ProgramError(`there is no principal ${name}`, {
      code: 'NO_PRINCIPAL',
      fix: 'Leave out --another to make its first token.',
    });
  // 244 random bits.
  const token = `${io.random.uuid()}${io.random.uuid()}`.replaceAll('-', '');
  const sha256 = createHash('sha256').update(token).digest('hex');
  const number = (last?.number ?? 0) + 1;
  const expiry = flags.expiresIn === undefined ? {} : { expiresAtMs: io.clock.nowMs() + flags.expiresIn };
  if (!(await store.add({ name, number, sha256, ...rightsOf(flags, last), ...expiry })))
    throw new ProgramError(`another token of ${name} was made at the same time`, {
      code: 'BUSY',
      fix: 'Run it again.',
    });
  if (flags.json) return printJson(io, { principal: name, number, token });
  io.stdout.write(`${token}\n`);
  io.stderr.write('This is the only time that it is shown.\n');
}

/** The given rights; the others are those of the principal's last token. */
function rightsOf({ scopes: granted, accounts, allAccounts }: AddFlags, last: NumberedToken | undefined) {
  const given = granted ?? last?.scopes;
  const seen = accounts ?? (allAccounts ? 'all' : last?.accounts);
  if (given === undefined) throw usage(`the token needs rights. Give --scopes, some of ${scopes.join(', ')}`);
  if (seen === undefined) throw usage('which accounts? Give --accounts or --all-accounts');
  return { scopes: given, accounts: seen };
}

async function list(io: CliIo, store: PostgresPrincipalStore, flags: ListFlags): Promise<void> {
  const active = (await store.active()).map(({ name, number, scopes: granted, accounts, expiresAtMs }) => ({
    principal: name,
    number,
    scopes: granted,
    accounts,
    expiresAt: expiresAtMs === undefined ? null : formatInstant(expiresAtMs),
  }));
  const table = tableText(
    active,
    {
      PRINCIPAL: 'principal',
      NUMBER: 'number',
      SCOPES: ({ scopes: granted }) => granted.join(','),
      ACCOUNTS: ({ accounts }) => (accounts === 'all' ? '*' : accounts.join(',')),
      EXPIRES: ({ expiresAt }) => expiresAt ?? 'never',
    },
    'There are no tokens in the database.',
  );
  printResult(io, flags, active, table);
}

async function revoke(
  io: CliIo,
  store: PostgresPrincipalStore,
  name: string,
  number: number | undefined,
  inMs: number,
): Promise<void> {
  const ended = await store.end(name, number, inMs);
  if (ended.length === 0)
    throw new ProgramError(
      `${name} has no valid token${number === undefined ? '' : ` ${number}`}${inMs === 0 ? '' : ' that would last longer'}`,
      {
        code: 'NO_TOKEN',
        fix: '`tidemark token ls` shows them.',
      },
    );
  const at = formatInstant(io.clock.nowMs() + inMs);
  const line = (each: number) =>
    inMs === 0
      ? `Revoked token ${each} of ${name}.\n`
      : `Token ${each} of ${name} ends at ${at}. Until then it is valid.\n`;
  io.stdout.write(ended.map(line).join(''));
}

/** Reserved names: see `isReservedName`. */
function principalName(text: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(text) && !isReservedName(text)) return text;
  throw new InvalidArgumentError('It must be up to 64 of A-Z a-z 0-9 . _ - and not loopback.');
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function duration(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,3})([mhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('It must be a time like 30m, 12h or 90d.');
  return Number(count) * unitMs[unit as keyof typeof unitMs];
}

function scopeList(text: string): readonly string[] {
  const words = [...new Set(text.split(','))];
  if (words.every((word) => scopes.some((scope) => scope === word))) return words;
  throw new InvalidArgumentError(`It must be some of ${scopes.join(', ')}, separated by commas.`);
}

function accountList(text: string): readonly string[] {
  const ids = [...new Set(text.split(','))];
  if (ids.every((id) => isPlatformId(id) && id !== '*')) return ids;
  throw new InvalidArgumentError('It must be account ids, separated by commas. For every account use --all-accounts.');
}
