import { Command, InvalidArgumentError, Option } from 'commander';
import type { Pool } from 'pg';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { recordDeed } from '../store/commands/audit-log.ts';
import {
  countQuarantined,
  findQuarantined,
  listQuarantined,
  markDealt,
  type QuarantinedRow,
} from '../store/quarantine/quarantine.ts';
import { backfillSeconds } from './backfill.ts';
import { formatTable, printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { addJobFlags, cancelJobCommand, isForAll, type JobFlags, jobsCommand, runJob } from './quarantine-jobs.ts';
import { repairBy, withRepairPool } from './repair/repair-run.ts';
import { rowLimit } from './rest/rest-flags.ts';

const examples = `
Examples:
  $ tidemark quarantine ls                    messages that were unreadable or not accepted, the oldest first
  $ tidemark quarantine show 17               one whole row, with the message as it came
  $ tidemark quarantine retry 17 18           the order is read again from the platform, by the running service
  $ tidemark quarantine discard 17            it was checked, and needs no action
  $ tidemark quarantine retry --all --only bad_decimal --reason "the new build reads it"
  $ tidemark quarantine discard --all --stream account --account SIM-1001 --reason "test data" --dry-run
  $ tidemark quarantine ls --json | jq -r '.[] | select(.reason == "bad_decimal") | .id'

Rows by number need DATABASE_URL. With --all, and for jobs, the service is asked over REST: it journals one job, which goes on after this command and over a takeover.
A retry never uses the old bytes again: they are older than the facts known by now. Exit codes: 0 done, 1 not all of it, 75 no service took it in time, or the job goes on.`;

interface ListFlags {
  readonly after: bigint;
  readonly limit: number;
  readonly json?: true;
}

interface ActFlags {
  readonly json?: true;
}

/** `quarantine ls`, `show`, `retry` and `discard`. */
export function quarantineCommand(io: CliIo): Command {
  const command = new Command('quarantine')
    .description('Shows messages that were unreadable or not accepted, and deals with them.')
    .addHelpText('after', examples);
  command
    .command('ls')
    .description('Lists the rows that were not dealt with yet, the oldest first.')
    // Help writes defaults as JSON, which has no bigint: this one is written in words.
    .addOption(new Option('--after <id>', 'only rows after this one').argParser(rowId).default(0n, 'from the first'))
    .option('--limit <n>', 'at most so many', rowLimit, 50)
    .option('--json', 'print an array of the rows as JSON')
    .action((flags: ListFlags) => withRepairPool(io, (pool) => list(io, pool, flags)));
  command
    .command('show')
    .description('Prints one row, with the message as it came.')
    .argument('<id>', 'of the row', rowId)
    .option('--json', 'print the row as JSON')
    .action((id: bigint, flags: ActFlags) => withRepairPool(io, (pool) => show(io, pool, id, flags.json === true)));
  addJobFlags(
    command
      .command('retry')
      .description(
        'Has the running service read the orders again from the platform; a row is dealt with once its order passes ingest.',
      )
      .argument('[ids...]', 'of the rows', rowIds)
      .option(
        '--wait <seconds>',
        'how long to wait for the answers: 60 without it, and 3600 with --all',
        backfillSeconds,
      ),
  ).action((ids: bigint[], flags: JobFlags) =>
    isForAll(ids, flags)
      ? runJob(io, 'retry', flags)
      : withRepairPool(io, (pool, signal) => retry(io, { pool, signal }, ids, flags)),
  );
  addJobFlags(
    command
      .command('discard')
      .description('Marks rows as dealt with. They are kept as long as the log is.')
      .argument('[ids...]', 'of the rows', rowIds),
  ).action((ids: bigint[], flags: JobFlags) =>
    isForAll(ids, flags)
      ? runJob(io, 'discard', flags)
      : withRepairPool(io, (pool) => discard(io, pool, ids, flags.json === true)),
  );
  command.addCommand(jobsCommand(io)).addCommand(cancelJobCommand(io));
  return command;
}

function rowId(text: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError('It must be the number of a row.');
}

function rowIds(text: string, before: bigint[] | undefined): bigint[] {
  return [...(before ?? []), rowId(text)];
}

async function list(io: CliIo, pool: Pool, { after, limit: count, json }: ListFlags): Promise<void> {
  const rows = await listQuarantined(pool, after, count);
  if (json) {
    io.stdout.write(`${JSON.stringify(rows.map(shown))}\n`);
    return;
  }
  const total = (await countQuarantined(pool)).reduce((sum, { rows: some }) => sum + some, 0);
  if (rows.length === 0) {
    io.stdout.write(total === 0 ? 'The quarantine is empty.\n' : 'There are no rows after that one.\n');
    return;
  }
  const table = rows.map((row) => [
    String(row.id),
    row.observedAt.toISOString(),
    row.stream,
    printable(row.accountId ?? '-'),
    printable(row.orderId ?? '-'),
    row.reason,
    printable(row.detail),
  ]);
  io.stdout.write(formatTable([['ID', 'OBSERVED', 'STREAM', 'ACCOUNT', 'ORDER', 'REASON', 'DETAIL'], ...table]));
  if (total > rows.length) io.stderr.write(`${rows.length} of ${total}; --after ${rows.at(-1)?.id} shows the next.\n`);
}

async function show(io: CliIo, pool: Pool, id: bigint, asJson: boolean): Promise<void> {
  const row = await findQuarantined(pool, id);
  if (row === undefined) throw unknownRow(id);
  if (asJson) {
    io.stdout.write(`${JSON.stringify(shown(row))}\n`);
    return;
  }
  const { raw, ...fields } = shown(row);
  const lines = Object.entries(fields).map(([name, value]) => [name, printable(value ?? '-')]);
  io.stdout.write(`${formatTable(lines)}\n${printable(raw)}\n`);
}

async function retry(
  io: CliIo,
  deps: { readonly pool: Pool; readonly signal: AbortSignal },
  ids: readonly bigint[],
  { wait = 60, json }: ActFlags & { readonly wait?: number },
): Promise<void> {
  const one = async (id: bigint): Promise<Result> => {
    const row = await findQuarantined(deps.pool, id);
    if (row === undefined) return { id, outcome: 'failed', detail: 'there is no such row' };
    if (row.dealtAt !== null) return { id, outcome: 'failed', detail: 'it has been dealt with' };
    const { stream, accountId, orderId } = row;
    if (accountId === null || orderId === null) {
      const instead =
        accountId === null ? 'check it, and discard it' : `run \`tidemark backfill ${accountId}\`, and discard it`;
      return { id, outcome: 'failed', detail: `it names no order: ${instead}` };
    }
    const request = {
      kind: 'retry',
      stream: stream === 'account' ? 'account' : 'prediction',
      accountId,
      quarantineId: id,
    } as const;
    await recordDeed(deps.pool, 'quarantine_retry', { id: String(id), stream, accountId, orderId });
    return { id, ...(await repairBy({ ...deps, clock: io.clock }, request, wait * 1_000)) };
  };
  printResults(io, await Promise.all(ids.map(one)), json === true);
}

async function discard(io: CliIo, pool: Pool, ids: readonly bigint[], asJson: boolean): Promise<void> {
  const results: Result[] = [];
  for (const id of ids)
    results.push(
      (await discardOne(pool, id))
        ? { id, outcome: 'done', detail: 'discarded' }
        : { id, outcome: 'failed', detail: 'there is no such row, or it has been dealt with' },
    );
  printResults(io, results, asJson);
}

async function discardOne(pool: Pool, id: bigint): Promise<boolean> {
  const done = await markDealt(pool, id);
  if (done) await recordDeed(pool, 'quarantine_discard', { id: String(id) });
  return done;
}

interface Result {
  readonly id: bigint;
  readonly outcome: 'done' | 'failed' | 'withdrawn';
  readonly detail: string;
}

function printResults(io: CliIo, results: readonly Result[], asJson: boolean): void {
  io.stdout.write(
    asJson
      ? `${JSON.stringify(results.map((result) => ({ ...result, id: String(result.id) })))}\n`
      : results.map(({ id, outcome, detail }) => `${id}: ${outcome}, ${printable(detail)}\n`).join(''),
  );
  if (results.some(({ outcome }) => outcome === 'failed')) io.exit(exitCodes.failed);
  else if (results.some(({ outcome }) => outcome === 'withdrawn')) io.exit(exitCodes.unresolved);
}

/** A row for printing: numbers of 64 bits and instants as text. */
function shown({
  id,
  stream,
  accountId,
  orderId,
  reason,
  detail,
  raw,
  observedAt,
  recordedAt,
  dealtAt,
}: QuarantinedRow) {
  return {
    id: String(id),
    stream,
    accountId,
    orderId,
    reason,
    detail,
    observedAt: observedAt.toISOString(),
    recordedAt: recordedAt.toISOString(),
    dealtAt: dealtAt?.toISOString() ?? null,
    raw,
  };
}

function unknownRow(id: bigint): ProgramError {
  return new ProgramError(`there is no row ${id} in quarantine`, {
    code: 'NO_ROW',
    fix: '`tidemark quarantine ls` shows them.',
  });
}
