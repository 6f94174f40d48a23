import { type Command, Option } from 'commander';
import { z } from 'zod';
import {
  type DeadLetterJobDocument,
  type DeadLetterJobSizeDocument,
  deadLetterJobAnswer,
  deadLetterJobList,
  deadLetterJobSize,
} from '../contract/dead-letter-bodies.ts';
import { streams } from '../domain/order.ts';
import { plural } from '../runtime/plural.ts';
import { exitCodes, usage } from '../runtime/program-error.ts';
import { printable, tableText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { follow } from './rest/follow.ts';
import type { RestClient } from './rest/rest-client.ts';
import { type RestFlags, reasonText, refuseFlags, segment } from './rest/rest-flags.ts';
import type { Verb } from './rest/verb.ts';

const jobOrJobs = z.union([deadLetterJobAnswer, deadLetterJobList]);

/** Flags of `dead-letters retry` and `discard` for every matching row: a job in the service. */
export interface JobFlags extends RestFlags {
  readonly all?: true;
  readonly reason?: string;
  readonly stream?: string;
  readonly account?: string;
  readonly only?: string;
  readonly dryRun?: true;
  readonly wait?: number;
}

export function addJobFlags(command: Command): Command {
  return command
    .option('--all', 'every row that matches, as one job of the service, asked for over REST')
    .option('--reason <text>', 'why: recorded in the audit trail; --all needs it', reasonText)
    .addOption(new Option('--stream <name>', 'with --all, only this stream').choices(streams))
    .option('--account <id>', 'with --all, only rows of this account')
    .option('--only <reason>', 'with --all, only rows that are dead letters for this reason, such as bad_decimal')
    .option('--dry-run', 'with --all, only count the rows');
}

/** Throws unless the line names either rows, or `--all` with a reason. True: `--all`. */
export function isForAll(
  ids: readonly string[],
  flags: JobFlags,
): flags is JobFlags & { readonly all: true; readonly reason: string } {
  if (flags.all !== true) {
    refuseFlags(flags, ['stream', 'account', 'only', 'dryRun'], 'is for --all, and rows were named');
    if (ids.length > 0) return false;
    throw usage('it needs the numbers of rows, or --all', '`tidemark dead-letters ls` shows them.');
  }
  if (ids.length > 0) throw usage('it takes the numbers of rows or --all, not both');
  if (flags.reason === undefined) throw usage('--all needs --reason, which is recorded in the audit trail');
  return true;
}

/** An hour: 20,000 dead letters of different orders are read again in a little over half of one. */
const jobSeconds = 3_600;

const openedJob = z.union([deadLetterJobAnswer, deadLetterJobSize]);

/**
 * Has the service make the job, and shows its progress until it has ended. A user who interrupts
 * stops watching; the job goes on.
 */
const ofAll = (action: 'retry' | 'discard'): Verb<typeof openedJob, JobFlags> => ({
  name: `${action} --all`,
  does: `One job of the service, to ${action} every row that matches.`,
  route: 'POST /v1/dead-letters/jobs',
  ask: ({ stream, account: accountId, only, reason, dryRun = false }) => ({
    body: { action, filter: { stream, accountId, reason: only }, reason, dryRun },
  }),
  about: 'a job',
  answer: openedJob,
  complete: async (opened, { io, client, flags }) =>
    'job' in opened ? untilEnded(io, client, opened, flags.wait ?? jobSeconds) : opened,
  text: (opened) => ('job' in opened ? jobText(opened.job) : sizeLine(action, opened)),
  json: (_body, shown) => shown,
  end: (io, opened) => {
    if ('job' in opened) endOfJob(io, opened.job);
  },
});

export const jobVerbs = [ofAll('retry'), ofAll('discard')] as const;

type JobAnswer = z.infer<typeof deadLetterJobAnswer>;

function untilEnded(io: CliIo, client: RestClient, opened: JobAnswer, seconds: number): Promise<JobAnswer> {
  return follow(io, opened, {
    read: ({ job: { jobId } }) => client.read(`/v1/dead-letters/jobs/${segment(jobId)}`, 'a job', deadLetterJobAnswer),
    isOver: ({ job: { state } }) => state !== 'running',
    progress: ({ job }) => progressOf(job),
    seconds,
  });
}

function endOfJob(io: CliIo, { state, jobId, failed, withdrawn }: DeadLetterJobDocument): void {
  if (state === 'running') {
    io.stderr.write(
      `It goes on without this command. \`tidemark dead-letters jobs ${jobId}\` shows it, \`cancel-job\` cancels it.\n`,
    );
    io.exit(exitCodes.unresolved);
  } else if (failed > 0) io.exit(exitCodes.failed);
  else if (withdrawn > 0) io.exit(exitCodes.unresolved);
}

function progressOf({ done, failed, withdrawn, total }: DeadLetterJobDocument) {
  const answered = done + failed + withdrawn;
  const failures = failed === 0 ? '' : `, ${failed} failed`;
  return { part: total === 0 ? 1 : answered / total, words: `${answered} of ${plural(total, 'row')}${failures}` };
}

/** `dead-letters jobs`: the newest, or one. */
export const jobsVerb: Verb<typeof jobOrJobs> = {
  name: 'jobs',
  does: 'Shows the jobs of retry --all and discard --all, over REST: the newest, or one with the reasons of its failures.',
  route: ['GET /v1/dead-letters/jobs', 'GET /v1/dead-letters/jobs/{jobId}'],
  takes: [['[id]', 'of one job']],
  about: 'the jobs',
  answer: jobOrJobs,
  json: (body) => body['items'],
  text: (shown) => ('items' in shown ? jobTable(shown.items) : jobText(shown.job)),
};

/** `dead-letters cancel-job`. */
export const cancelJobVerb: Verb<typeof deadLetterJobAnswer> = {
  name: 'cancel-job',
  does: 'Cancels a job, over REST: rows that it has not dealt with stay dead letters.',
  route: 'POST /v1/dead-letters/jobs/{jobId}/cancel',
  takes: [['<id>', 'of the job']],
  reasoned: true,
  about: 'a job',
  answer: deadLetterJobAnswer,
  text: ({ job }) => jobText(job),
};

function sizeLine(action: string, { total, nameless }: DeadLetterJobSizeDocument): string {
  const fails = nameless === 0 ? '' : `; ${nameless} of them name no order, and it would fail for them`;
  return `${plural(total, 'row')} would be ${action === 'retry' ? 'retried' : 'discarded'}${fails}.\n`;
}

function jobText({ jobId, action, state, total, done, failed, withdrawn, failures }: DeadLetterJobDocument): string {
  const head = `${action} ${jobId}: ${state}, ${plural(total, 'row')}, ${done} done, ${failed} failed, ${withdrawn} withdrawn\n`;
  return head + failures.map(({ detail, rows }) => `  ${plural(rows, 'row')}: ${printable(detail)}\n`).join('');
}

function jobTable(jobs: readonly DeadLetterJobDocument[]): string {
  return tableText(
    jobs,
    {
      ID: 'jobId',
      ASKED: 'askedAt',
      ACTION: 'action',
      STATE: 'state',
      ROWS: 'total',
      DONE: 'done',
      FAILED: 'failed',
      BY: 'by',
      REASON: 'reason',
    },
    'There is no job.',
  );
}
