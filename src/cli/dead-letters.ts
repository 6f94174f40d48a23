import { Command, Option } from 'commander';
import type { z } from 'zod';
import { deadLetterAnswer, deadLettersPage } from '../contract/dead-letter-bodies.ts';
import type { ProgramError } from '../runtime/program-error.ts';
import { addJobFlags, cancelJobVerb, isForAll, type JobFlags, jobsVerb, jobVerbs } from './dead-letter-jobs.ts';
import { shaped } from './io/flag-text.ts';
import { factsText, linesText, printable, tableText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { type EachVerb, each, runEach } from './rest/each-verb.ts';
import { endAs, follow, stillAsked } from './rest/follow.ts';
import { type ListFlags, type ListVerb, listCommand } from './rest/list-verb.ts';
import type { RestClient } from './rest/rest-client.ts';
import { segment, waitSeconds } from './rest/rest-flags.ts';
import { commandOf, runVerb, type Verb, verbCommand } from './rest/verb.ts';

const rowId = shaped(/^\d{1,18}$/, 'It must be the number of a row.', (text) => String(BigInt(text)));

const examples = `
Examples:
  $ tidemark dead-letters ls                    messages that were unreadable or not accepted, the oldest first
  $ tidemark dead-letters show 17               one whole row, with the message as it came
  $ tidemark dead-letters retry 17 18           the order is read again from the platform, by the running service
  $ tidemark dead-letters discard 17            it was checked, and needs no action
  $ tidemark dead-letters retry --all --only bad_decimal --reason "the new build reads it"
  $ tidemark dead-letters discard --all --stream account --account SIM-1001 --reason "test data" --dry-run
  $ tidemark dead-letters ls --json | jq -r '.[] | select(.reason == "bad_decimal") | .id'

The service is asked over REST: the token needs ops:read, and ops:write for retry and discard. With --all it journals one job, which goes on after this command and over a takeover.
A retry never uses the old bytes again: they are older than the facts known by now. Exit codes: 0 done, 1 not all of it, 69 no service answers, 75 it goes on without this command, 77 not allowed with this token.`;

type Row = z.infer<typeof deadLetterAnswer>;

export const deadLetterLs: ListVerb<typeof deadLettersPage, ListFlags & { readonly after?: string }> = {
  name: 'ls',
  does: 'Lists the rows that were not dealt with yet, the oldest first.',
  route: 'GET /v1/dead-letters',
  flags: (command) =>
    command.addOption(
      new Option('--after <id>', 'only rows after this one').argParser(rowId).default(undefined, 'from the first'),
    ),
  filter: ({ after }) => ({ after }),
  about: 'the dead letters',
  page: deadLettersPage,
  text: (rows, { after }) =>
    tableText(
      rows,
      {
        ID: 'id',
        OBSERVED: 'observedAt',
        STREAM: 'stream',
        ACCOUNT: 'accountId',
        ORDER: 'orderId',
        REASON: 'reason',
        DETAIL: 'detail',
      },
      after === undefined ? 'There are no dead letters.' : 'There are no rows after that one.',
    ),
};

export const deadLetterShow: Verb<typeof deadLetterAnswer> = {
  name: 'show',
  does: 'Prints one row, with the message as it came.',
  route: 'GET /v1/dead-letters/{rowId}',
  takes: [['<id>', 'of the row', rowId]],
  about: 'a dead letter',
  answer: deadLetterAnswer,
  text: rowText,
};

/** `dead-letters ls`, `show`, `retry` and `discard`, and the jobs. */
export function deadLetterCommand(io: CliIo): Command {
  const command = new Command('dead-letters')
    .description('Shows messages that were unreadable or not accepted, and deals with them.')
    .addCommand(listCommand(io, deadLetterLs))
    .addCommand(verbCommand(io, deadLetterShow))
    .addHelpText('after', examples);
  for (const [at, verb] of rowVerbs.entries()) {
    const ofAll = jobVerbs[at] as (typeof jobVerbs)[0];
    command.addCommand(
      commandOf<JobFlags>(verb, async (ids, flags) =>
        isForAll(ids, flags) ? runVerb(io, ofAll, [], flags) : runEach(io, verb, ids, flags),
      ),
    );
  }
  return command.addCommand(verbCommand(io, jobsVerb)).addCommand(verbCommand(io, cancelJobVerb));
}

function rowText({ raw, retry, id, stream, accountId, orderId, reason, detail, ...times }: Row): string {
  const { observedAt, recordedAt, dealtAt } = times;
  return `${factsText({
    id,
    stream,
    accountId: accountId ?? '-',
    orderId: orderId ?? '-',
    reason,
    detail,
    observedAt,
    recordedAt,
    dealtAt: dealtAt ?? '-',
    retry: retry && `${retry.result ?? 'waiting'}, asked ${retry.requestedAt}`,
  })}\n${printable(raw)}\n`;
}

interface Result {
  readonly id: string;
  readonly result: 'done' | 'failed' | 'withdrawn' | 'waiting';
  readonly detail: string;
}

type RowVerb = EachVerb<typeof deadLetterAnswer, JobFlags, Result>;

/** Asks for each row, waits for the answers, and prints a line for each. */
const ofRow = (name: 'retry' | 'discard', more: Pick<RowVerb, 'does' | 'flags' | 'result'>): RowVerb => ({
  name,
  route: `POST /v1/dead-letters/{rowId}/${name}`,
  takes: [['[ids...]', 'of the rows', each(rowId)]],
  ask: ({ reason = 'at the command line' }) => ({ body: { reason } }),
  about: deadLetterShow.about,
  answer: deadLetterAnswer,
  refused: async (id, error, client) => ({ id, result: 'failed', detail: await whyNot(client, id, error) }),
  complete: (asked, { io, client, flags: { wait = 60 } }) =>
    follow(io, asked, {
      read: (newest) =>
        Promise.all(
          newest.map(async (result) =>
            isWaiting(result) ? resultOf(result.id, await readRow(client, result.id)) : result,
          ),
        ),
      isOver: (newest) => !newest.some(isWaiting),
      seconds: wait,
    }),
  text: (results) => linesText(results.map(({ id, result, detail }) => `${id}: ${result}, ${detail}`)),
  end: endAs,
  ...more,
});

export const rowVerbs = [
  ofRow('retry', {
    does: 'Has the running service read the orders again from the platform; a row is dealt with once its order passes ingest.',
    flags: (command) =>
      addJobFlags(command).option(
        '--wait <seconds>',
        'how long to wait for the answers: 60 without it, and 3600 with --all',
        waitSeconds(99_999),
      ),
    result: resultOf,
  }),
  ofRow('discard', {
    does: 'Marks rows as dealt with. They are kept as long as the log is.',
    flags: addJobFlags,
    result: (id) => ({ id, result: 'done', detail: 'discarded' }),
  }),
];

const isWaiting = ({ result }: Result) => result === 'waiting';

function resultOf(id: string, { retry }: Row): Result {
  const { result = 'waiting', detail = result === 'waiting' ? stillAsked : '-' } = retry ?? {};
  return { id, result, detail };
}

function readRow(client: RestClient, id: string): Promise<Row> {
  return client.read(`/v1/dead-letters/${segment(id)}`, deadLetterShow.about, deadLetterAnswer);
}

const reasons: Readonly<Record<string, string>> = {
  ROW_NOT_FOUND: 'there is no such row',
  ALREADY_DEALT_WITH: 'it has been dealt with',
};

async function whyNot(client: RestClient, id: string, { code, message }: ProgramError): Promise<string> {
  if (code !== 'NAMES_NO_ORDER') return reasons[code] ?? message;
  const { accountId } = await readRow(client, id);
  return `it names no order: ${accountId === undefined ? 'check it' : `run \`tidemark backfill ${accountId}\``}, and discard it`;
}
