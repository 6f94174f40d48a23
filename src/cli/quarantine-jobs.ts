import { Command, Option } from 'commander';
import { plural } from '../runtime/plural.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { formatTable, printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { ProgressBar } from './repair/repair-run.ts';
import type { RestClient } from './rest/rest-client.ts';
import {
  addReasonFlag,
  addRestFlags,
  type RestFlags,
  reasonText,
  refuseFlags,
  restClient,
  segment,
} from './rest/rest-flags.ts';

/**
 * The flags of `quarantine retry` and `discard` for every row that matches: a
 * job of the service, asked for over REST.
 */
export interface JobFlags extends Omit<RestFlags, 'json'> {
  readonly all?: true;
  readonly reason?: string;
  readonly stream?: string;
  readonly account?: string;
  readonly only?: string;
  readonly dryRun?: true;
  readonly wait?: number;
  readonly json?: true;
}

export function addJobFlags(command: Command): Command {
  return addRestFlags(
    command
      .option('--all', 'every row that matches, as one job of the service, asked for over REST')
      .option('--reason <text>', 'with --all, why: recorded in the audit trail', reasonText)
      .addOption(new Option('--stream <name>', 'with --all, only this stream').choices(['account', 'prediction']))
      .option('--account <id>', 'with --all, only rows of this account')
      .option('--only <reason>', 'with --all, only rows that are in quarantine for this reason, such as bad_decimal')
      .option('--dry-run', 'with --all, only count the rows'),
  );
}

/** Throws unless the line names either rows, or `--all` with a reason. True: `--all`. */
export function isForAll(
  ids: readonly bigint[],
  flags: JobFlags,
): flags is JobFlags & { readonly all: true; readonly reason: string } {
  if (flags.all !== true) {
    refuseFlags(
      flags,
      ['reason', 'stream', 'account', 'only', 'dryRun', 'url', 'token'],
      'is for --all, and rows were named',
    );
    if (ids.length > 0) return false;
    throw usage('it needs the numbers of rows, or --all', '`tidemark quarantine ls` shows them.');
  }
  if (ids.length > 0) throw usage('it takes the numbers of rows or --all, not both');
  if (flags.reason === undefined) throw usage('--all needs --reason, which is recorded in the audit trail');
  return true;
}

function usage(message: string, fix?: string): ProgramError {
  return new ProgramError(message, { code: 'USAGE', exitCode: exitCodes.usage, ...(fix !== undefined && { fix }) });
}

/** An hour: a full quarantine of different orders is read again in a little over half of one. */
const waitSeconds = 3_600;
const lookEveryMs = 500;

/**
 * Has the service make the job, and shows its progress until it has ended. A user who interrupts
 * stops watching; the job goes on.
 */
export async function runJob(
  io: CliIo,
  action: 'retry' | 'discard',
  flags: JobFlags & { readonly reason: string },
): Promise<void> {
  const { stream, account, only, reason, dryRun = false } = flags;
  const client = restClient(io, restFlags(flags));
  const filter = { stream, accountId: account, reason: only };
  const { body } = await client.ask({
    method: 'POST',
    path: '/v1/quarantine/jobs',
    body: { action, filter, reason, dryRun },
  });
  if (dryRun) {
    io.stdout.write(flags.json ? `${JSON.stringify(body)}\n` : sizeLine(action, body));
    return;
  }
  const job = await watch(io, client, jobOf(body), flags.wait ?? waitSeconds);
  io.stdout.write(flags.json ? `${JSON.stringify({ job })}\n` : jobText(job));
  if (job.state === 'running') {
    io.stderr.write(
      `It goes on without this command. \`tidemark quarantine jobs ${job.jobId}\` shows it, \`cancel-job\` cancels it.\n`,
    );
    io.exit(exitCodes.unresolved);
  } else if (job.failed > 0) io.exit(exitCodes.failed);
  else if (job.withdrawn > 0) io.exit(exitCodes.unresolved);
}

function restFlags({ url, token }: JobFlags): RestFlags {
  return { ...(url !== undefined && { url }), ...(token !== undefined && { token }) };
}

/**
 * As it is at the end, or when the time is over. An instance that
 * does not answer for a moment is asked again.
 */
async function watch(io: CliIo, client: RestClient, made: Job, seconds: number): Promise<Job> {
  const bar = io.isTerminal ? new ProgressBar({ out: io.stderr, nowMs: () => io.clock.monotonicMs() }) : undefined;
  const interrupted = new AbortController();
  const unsubscribe = io.onSignal(() => interrupted.abort());
  const giveUpMs = io.clock.monotonicMs() + seconds * 1_000;
  let job = made;
  try {
    for (;;) {
      const answered = job.done + job.failed + job.withdrawn;
      const failed = job.failed === 0 ? '' : `, ${job.failed} failed`;
      bar?.show(job.total === 0 ? 1 : answered / job.total, `${answered} of ${plural(job.total, 'row')}${failed}`);
      if (job.state !== 'running' || interrupted.signal.aborted || io.clock.monotonicMs() >= giveUpMs) return job;
      await io.clock.sleep(lookEveryMs, interrupted.signal);
      job = await readJob(client, job.jobId).catch((error: unknown) => {
        if (error instanceof ProgramError && error.exitCode === exitCodes.unavailable) return job;
        throw error;
      });
    }
  } finally {
    unsubscribe();
    bar?.end();
  }
}

async function readJob(client: RestClient, jobId: string): Promise<Job> {
  return jobOf((await client.ask({ method: 'GET', path: `/v1/quarantine/jobs/${segment(jobId)}` })).body);
}

/** `quarantine jobs`: the newest, or one. */
export function jobsCommand(io: CliIo): Command {
  const command = new Command('jobs')
    .description(
      'Shows the jobs of retry --all and discard --all, over REST: the newest, or one with the reasons of its failures.',
    )
    .argument('[id]', 'of one job');
  return addRestFlags(command).action(async (id: string | undefined, flags: RestFlags) => {
    const client = restClient(io, flags);
    const path = id === undefined ? '/v1/quarantine/jobs' : `/v1/quarantine/jobs/${segment(id)}`;
    const { body } = await client.ask({ method: 'GET', path });
    if (flags.json) io.stdout.write(`${JSON.stringify(id === undefined ? body['items'] : body)}\n`);
    else io.stdout.write(id === undefined ? jobTable(body['items']) : jobText(jobOf(body)));
  });
}

/** `quarantine cancel-job`. */
export function cancelJobCommand(io: CliIo): Command {
  const command = new Command('cancel-job')
    .description('Cancels a job, over REST: rows that it has not dealt with stay in quarantine.')
    .argument('<id>', 'of the job');
  return addReasonFlag(command).action(async (id: string, flags: RestFlags & { readonly reason: string }) => {
    const path = `/v1/quarantine/jobs/${segment(id)}/cancel`;
    const { body } = await restClient(io, flags).ask({ method: 'POST', path, body: { reason: flags.reason } });
    io.stdout.write(flags.json ? `${JSON.stringify(body)}\n` : jobText(jobOf(body)));
  });
}

interface Job {
  readonly jobId: string;
  readonly action: string;
  readonly state: string;
  readonly by: string;
  readonly reason: string;
  readonly askedAt: string;
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly withdrawn: number;
  readonly failures: readonly { readonly detail: string; readonly rows: number }[];
}

function jobOf({ job }: Readonly<Record<string, unknown>>): Job {
  return job as Job;
}

function sizeLine(action: string, { total, nameless }: Readonly<Record<string, unknown>>): string {
  const rows = plural(Number(total), 'row');
  const fails = Number(nameless) === 0 ? '' : `; ${nameless} of them name no order, and it would fail for them`;
  return `${rows} would be ${action === 'retry' ? 'retried' : 'discarded'}${fails}.\n`;
}

function jobText({ jobId, action, state, total, done, failed, withdrawn, failures }: Job): string {
  const head = `${action} ${jobId}: ${state}, ${plural(total, 'row')}, ${done} done, ${failed} failed, ${withdrawn} withdrawn\n`;
  return head + failures.map(({ detail, rows }) => `  ${plural(rows, 'row')}: ${printable(detail)}\n`).join('');
}

function jobTable(items: unknown): string {
  const jobs = Array.isArray(items) ? (items as Job[]) : [];
  if (jobs.length === 0) return 'There is no job.\n';
  return formatTable([
    ['ID', 'ASKED', 'ACTION', 'STATE', 'ROWS', 'DONE', 'FAILED', 'BY', 'REASON'],
    ...jobs.map(({ jobId, askedAt, action, state, total, done, failed, by, reason }) =>
      [jobId, askedAt, action, state, total, done, failed, by, reason].map((cell) => printable(String(cell))),
    ),
  ]);
}
