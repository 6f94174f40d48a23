import { z } from 'zod';
import { plainTextField } from '../../../contract/body-fields.ts';
import {
  deadLetterAnswer,
  deadLetterJobAnswer,
  deadLetterJobBody,
  deadLetterJobList,
  deadLetterJobSize,
  deadLettersPage,
  parseDeadLetterJob,
} from '../../../contract/dead-letter-bodies.ts';
import { type DeadLetterJob, mostOpenJobs } from '../../../store/dead-letters/dead-letter-access.ts';
import { wordOf } from '../auth/operator-scope.ts';
import { maySee } from '../auth/principal.ts';
import {
  accountField,
  cursorField,
  idKinds,
  limitField,
  pageDefault,
  positionField,
  streamField,
} from '../request-fields.ts';
import { preferredWaitSeconds } from '../request-headers.ts';
import { type Call, ofBody, operatorAct, operatorRead, type Route, type RouteParts, route } from '../route.ts';
import { readStore, sendJson, sendProblem } from '../send-answer.ts';

/** The number of a page's last row. */
const rowPosition = z.tuple([z.string().regex(idKinds.rowId)]);

export const listDeadLetters = route({
  ...operatorRead,
  path: '/v1/dead-letters',
  operationId: 'listDeadLetterRows',
  summary: 'List messages that were unreadable or not accepted',
  describe:
    'Those that have not been dealt with, oldest first, without their text. Rows that name no account are shown only to a token of every account.',
  tag: 'dead-letters',
  query: z.strictObject({
    stream: streamField.exactOptional(),
    accountId: accountField.exactOptional(),
    reason: plainTextField(1, 100).exactOptional().describe('Why a row is a dead letter: bad_decimal, poison …'),
    after: positionField.exactOptional().describe('Only rows with a higher id'),
    limit: limitField,
    cursor: cursorField,
  }),
  answers: { 200: { describe: 'A page of rows', schema: deadLettersPage } },
  problems: ['INVALID_CURSOR', 'ACCOUNT_NOT_FOUND'],
  handle: ({ deadLetters, pages }, call) => {
    const { limit = pageDefault, cursor, ...filter } = call.query;
    const { after = '0', ...rows } = filter;
    const read = (position: readonly string[] = [after]) =>
      readStore(deadLetters.list(call.principal.accounts, rows, position, limit));
    return pages.send(call, { list: 'dead-letters', filter, cursor, position: rowPosition }, read, JSON.stringify);
  },
});

export const showDeadLetter: Route = {
  ...operatorRead,
  path: '/v1/dead-letters/{rowId}',
  operationId: 'getDeadLetterRow',
  summary: 'Read one dead letter, with the message as it came',
  tag: 'dead-letters',
  answers: { 200: { describe: 'The row, dealt with or not', schema: deadLetterAnswer } },
  handle: sendRow,
};

async function sendRow({ deadLetters }: RouteParts, { reply, principal, params: { rowId = '' } }: Call<unknown>) {
  const found = await readStore(deadLetters.find(principal.accounts, rowId));
  return found === undefined ? sendProblem(reply, 'ROW_NOT_FOUND') : sendJson(reply, found);
}

const problemsOfActions = [...ofBody, 'ALREADY_DEALT_WITH'] as const;

export const retryDeadLetters = route({
  ...operatorAct,
  path: '/v1/dead-letters/{rowId}/retry',
  operationId: 'retryDeadLetterRow',
  summary: 'Read the order of a row again from the platform',
  describe:
    'The process that follows the account reads it, within seconds; the old bytes are never used. The row is dealt with once its order has passed ingest. With `Prefer: wait` the answer is held until then.',
  tag: 'dead-letters',
  headers: ['Prefer'],
  answers: {
    200: {
      describe: 'It was read: `retry` has the result',
      schema: deadLetterAnswer,
      headers: ['Preference-Applied'],
    },
    202: {
      describe: 'It is asked for, and not answered yet',
      schema: deadLetterAnswer,
      headers: ['Preference-Applied'],
    },
  },
  problems: [...problemsOfActions, 'NAMES_NO_ORDER'],
  handle: async (parts, call) => {
    const { reply, request, principal } = call;
    const row = await rowToDealWith(parts, call);
    if ('code' in row) return sendProblem(reply, row.code);
    if (row.accountId === undefined || row.orderId === undefined) return sendProblem(reply, 'NAMES_NO_ORDER');
    await readStore(parts.deadLetters.retry(principal.accounts, row.id, wordOf(call)));
    const waitSeconds = preferredWaitSeconds(request.headers['prefer']);
    if (waitSeconds !== undefined) reply.header('preference-applied', `wait=${waitSeconds}`);
    const found = await untilAnswered(parts, call, row.id, (waitSeconds ?? 0) * 1_000);
    if (found === undefined) return sendProblem(reply, 'ROW_NOT_FOUND');
    return sendJson(reply.code(found.retry?.result === undefined ? 202 : 200), found);
  },
});

export const discardDeadLetters = route({
  ...operatorAct,
  path: '/v1/dead-letters/{rowId}/discard',
  operationId: 'discardDeadLetterRow',
  summary: 'Say that a row was checked and needs no action',
  describe: 'It is kept as long as the log is.',
  tag: 'dead-letters',
  answers: { 200: { describe: 'The row, dealt with', schema: deadLetterAnswer } },
  problems: problemsOfActions,
  handle: async (parts, call) => {
    const { reply, principal } = call;
    const row = await rowToDealWith(parts, call);
    if ('code' in row) return sendProblem(reply, row.code);
    if (!(await readStore(parts.deadLetters.discard(principal.accounts, row.id, wordOf(call)))))
      return sendProblem(reply, 'ALREADY_DEALT_WITH');
    return sendRow(parts, call);
  },
});

/** The path's row, or why there is nothing to deal with. */
async function rowToDealWith({ deadLetters }: RouteParts, { principal, params }: Call<unknown>) {
  const row = await readStore(deadLetters.find(principal.accounts, params['rowId'] ?? ''));
  if (row === undefined) return { code: 'ROW_NOT_FOUND' } as const;
  return row.dealtAt === undefined ? row : ({ code: 'ALREADY_DEALT_WITH' } as const);
}

const lookEveryMs = 250;

/** The row once its retry is answered, after `waitMs`, or when the server drains. */
async function untilAnswered(
  { deadLetters, clock, draining }: RouteParts,
  { principal }: Call<unknown>,
  id: string,
  waitMs: number,
) {
  const giveUpMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const row = await readStore(deadLetters.find(principal.accounts, id));
    const isOver = row?.retry?.result !== undefined || row === undefined;
    if (isOver || draining.aborted || clock.monotonicMs() >= giveUpMs) return row;
    await clock.sleep(lookEveryMs, draining);
  }
}

export const openDeadLetterJob = route({
  method: 'POST',
  path: '/v1/dead-letters/jobs',
  operationId: 'openDeadLetterJob',
  summary: 'Retry or discard every dead letter that matches',
  describe:
    'The job and its rows are journaled before the answer; it has the oldest 20,000 that match, and rows that come later are not in it. A discard has ended with the answer. The processes that follow the accounts carry a retry out at a bounded pace, and the next ones go on with it. It has only rows of the accounts of the token, and rows without an account only with a token of every account. Rows for which a retry is open already are left out of a retry. After a day, the rows that are still open are withdrawn.',
  tag: 'dead-letters',
  scopes: ['ops:write'],
  body: deadLetterJobBody,
  parse: parseDeadLetterJob,
  answers: {
    200: { describe: 'With `dryRun`: the rows that it would have', schema: deadLetterJobSize },
    202: { describe: 'The job as it is journaled', schema: deadLetterJobAnswer, headers: ['Location'] },
  },
  problems: [...ofBody, 'ACCOUNT_NOT_FOUND', 'TOO_MANY_JOBS'],
  handle: async ({ deadLetters, random }, call) => {
    const { reply, body } = call;
    const { action, filter, dryRun } = body;
    const { accounts } = call.principal;
    if (filter.accountId !== undefined && !maySee(accounts, filter.accountId))
      return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
    if (dryRun) return sendJson(reply, await readStore(deadLetters.measureJob(accounts, action, filter)));
    const jobId = random.uuid();
    const asked = { jobId, action, filter, ...wordOf(call) };
    if (!(await readStore(deadLetters.openJob(accounts, asked)))) {
      reply.header('retry-after', '60');
      return sendProblem(reply, 'TOO_MANY_JOBS', `${mostOpenJobs} retries have not ended: wait for one, or cancel one`);
    }
    const job = await readStore(deadLetters.findJob(accounts, jobId));
    reply.header('location', `/v1/dead-letters/jobs/${jobId}`);
    return job === undefined ? sendProblem(reply, 'JOB_NOT_FOUND') : sendJson(reply.code(202), { job: jobBody(job) });
  },
});

const jobsShown = 50;

export const listDeadLetterJobs: Route = {
  ...operatorRead,
  path: '/v1/dead-letters/jobs',
  operationId: 'listDeadLetterJobs',
  summary: `List the newest ${jobsShown} jobs over dead letters`,
  describe: 'Those whose accounts are all of the token. A job is kept as long as the log is.',
  tag: 'dead-letters',
  answers: { 200: { describe: 'Newest first', schema: deadLetterJobList } },
  rows: jobsShown,
  handle: async ({ deadLetters }, { reply, principal }) => {
    const jobs = await readStore(deadLetters.listJobs(principal.accounts, jobsShown));
    return sendJson(reply, { items: jobs.map(jobBody) });
  },
};

export const showDeadLetterJob: Route = {
  ...operatorRead,
  path: '/v1/dead-letters/jobs/{jobId}',
  operationId: 'getDeadLetterJob',
  summary: 'Read one job over dead letters, with its progress',
  tag: 'dead-letters',
  answers: { 200: { describe: 'The job', schema: deadLetterJobAnswer } },
  handle: sendJob,
};

export const cancelDeadLetterJob = route({
  ...operatorAct,
  path: '/v1/dead-letters/jobs/{jobId}/cancel',
  operationId: 'cancelDeadLetterJob',
  summary: 'Cancel a job over dead letters',
  describe: 'Its rows that are open are withdrawn, and stay dead letters. Rows that were done stay done.',
  tag: 'dead-letters',
  answers: {
    200: {
      describe: 'The job now; one that had ended is unchanged, as a discard always is',
      schema: deadLetterJobAnswer,
    },
  },
  problems: ofBody,
  handle: async (parts, call) => {
    const { deadLetters } = parts;
    const { jobId = '' } = call.params;
    const { accounts } = call.principal;
    if ((await readStore(deadLetters.findJob(accounts, jobId))) === undefined)
      return sendProblem(call.reply, 'JOB_NOT_FOUND');
    await readStore(deadLetters.cancelJob(accounts, jobId, wordOf(call)));
    return sendJob(parts, call);
  },
});

async function sendJob({ deadLetters }: RouteParts, { reply, principal, params: { jobId = '' } }: Call<unknown>) {
  const job = await readStore(deadLetters.findJob(principal.accounts, jobId));
  return job === undefined ? sendProblem(reply, 'JOB_NOT_FOUND') : sendJson(reply, { job: jobBody(job) });
}

function jobBody(job: DeadLetterJob) {
  const ended = job.cancelledBy === undefined ? 'ended' : 'cancelled';
  return { ...job, state: job.endedAt === undefined ? 'running' : ended };
}
