import { z } from 'zod';
import { plainTextField } from '../../../contract/body-fields.ts';
import { parseReason, reasonBody } from '../../../contract/command-bodies.ts';
import {
  parseQuarantineJob,
  quarantineAnswer,
  quarantineJobAnswer,
  quarantineJobBody,
  quarantineJobList,
  quarantineJobSize,
  quarantinePage,
} from '../../../contract/quarantine-bodies.ts';
import {
  mostOpenJobs,
  type QuarantineEntry,
  type QuarantineJob,
  type QuarantineMessage,
} from '../../../store/quarantine/quarantine-access.ts';
import { maySee } from '../auth/principal.ts';
import { readStore } from '../problem.ts';
import { ofBody } from '../problem-codes.ts';
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
import { type Call, type Route, route } from '../route.ts';
import type { RouteParts } from '../route-parts.ts';
import { sendBodyFaults, sendJson, sendProblem } from '../send-answer.ts';

/** The number of a page's last row. */
const rowPosition = z.tuple([z.string().regex(idKinds.rowId)]);

export const listQuarantine = route({
  method: 'GET',
  path: '/v1/quarantine',
  operationId: 'listQuarantineRows',
  summary: 'List messages that were unreadable or not accepted',
  describe:
    'Those that have not been dealt with, oldest first, without their text. Rows that name no account are shown only to a token of every account.',
  tag: 'quarantine',
  scopes: ['ops:read'],
  query: z.strictObject({
    stream: streamField.exactOptional(),
    accountId: accountField.exactOptional(),
    reason: plainTextField(1, 100).exactOptional().describe('Why a row is in quarantine: bad_decimal, poison …'),
    after: positionField.exactOptional().describe('Only rows with a higher id'),
    limit: limitField,
    cursor: cursorField,
  }),
  answers: { 200: { describe: 'A page of rows', schema: quarantinePage } },
  problems: ['INVALID_CURSOR', 'ACCOUNT_NOT_FOUND'],
  handle: ({ quarantine, pages }, call) => {
    const { limit = pageDefault, cursor, ...filter } = call.query;
    const { after = '0', ...rows } = filter;
    const read = (position: readonly string[] = [after]) =>
      readStore(quarantine.list(call.principal.accounts, rows, position, limit));
    return pages.send(call, { list: 'quarantine', filter, cursor, position: rowPosition }, read, (entry) =>
      JSON.stringify(entryBody(entry)),
    );
  },
});

export const showQuarantined: Route = {
  method: 'GET',
  path: '/v1/quarantine/{rowId}',
  operationId: 'getQuarantineRow',
  summary: 'Read one row in quarantine, with the message as it came',
  tag: 'quarantine',
  scopes: ['ops:read'],
  params: { rowId: 'rowId' },
  answers: { 200: { describe: 'The row, dealt with or not', schema: quarantineAnswer } },
  problems: ['ROW_NOT_FOUND'],
  handle: async ({ quarantine }, { reply, principal, params: { rowId = '' } }) => {
    const found = await readStore(quarantine.find(principal.accounts, rowId));
    return found === undefined ? sendProblem(reply, 'ROW_NOT_FOUND') : sendJson(reply, 200, messageBody(found));
  },
};

const problemsOfActions = [...ofBody, 'ROW_NOT_FOUND', 'ALREADY_DEALT_WITH'] as const;

export const retryQuarantined: Route = {
  method: 'POST',
  path: '/v1/quarantine/{rowId}/retry',
  operationId: 'retryQuarantineRow',
  summary: 'Read the order of a row again from the platform',
  describe:
    'The process that follows the account reads it, within seconds; the old bytes are never used. The row is dealt with once its order has passed ingest. With `Prefer: wait` the answer is held until then.',
  tag: 'quarantine',
  scopes: ['ops:write'],
  params: { rowId: 'rowId' },
  headers: ['Prefer'],
  body: reasonBody,
  answers: {
    200: {
      describe: 'It was read: `retry` has the outcome',
      schema: quarantineAnswer,
      headers: ['Preference-Applied'],
    },
    202: {
      describe: 'It is asked for, and not answered yet',
      schema: quarantineAnswer,
      headers: ['Preference-Applied'],
    },
  },
  problems: [...problemsOfActions, 'NAMES_NO_ORDER'],
  handle: async (parts, call) => {
    const { reply, request, principal } = call;
    const asked = await rowToDealWith(parts, call);
    if ('answered' in asked) return asked.answered;
    const { row, word } = asked;
    if (row.accountId === undefined || row.orderId === undefined) return sendProblem(reply, 'NAMES_NO_ORDER');
    await readStore(parts.quarantine.retry(principal.accounts, row.id, word));
    const waitSeconds = preferredWaitSeconds(request.headers['prefer']);
    if (waitSeconds !== undefined) reply.header('preference-applied', `wait=${waitSeconds}`);
    const found = await untilAnswered(parts, call, row.id, (waitSeconds ?? 0) * 1_000);
    if (found === undefined) return sendProblem(reply, 'ROW_NOT_FOUND');
    return sendJson(reply, found.retry?.outcome === undefined ? 202 : 200, messageBody(found));
  },
};

export const discardQuarantined: Route = {
  method: 'POST',
  path: '/v1/quarantine/{rowId}/discard',
  operationId: 'discardQuarantineRow',
  summary: 'Say that a row was checked and needs no action',
  describe: 'It is kept as long as the log is.',
  tag: 'quarantine',
  scopes: ['ops:write'],
  params: { rowId: 'rowId' },
  body: reasonBody,
  answers: { 200: { describe: 'The row, dealt with', schema: quarantineAnswer } },
  problems: problemsOfActions,
  handle: async (parts, call) => {
    const { reply, principal } = call;
    const asked = await rowToDealWith(parts, call);
    if ('answered' in asked) return asked.answered;
    const { row, word } = asked;
    if (!(await readStore(parts.quarantine.discard(principal.accounts, row.id, word)))) return sendDealtWith(call);
    const found = await readStore(parts.quarantine.find(principal.accounts, row.id));
    return found === undefined ? sendProblem(reply, 'ROW_NOT_FOUND') : sendJson(reply, 200, messageBody(found));
  },
};

/**
 * The path's row and the caller's word, or the answer that says why there is nothing to deal with.
 */
async function rowToDealWith({ quarantine }: RouteParts, call: Call) {
  const { request, reply, principal, params } = call;
  const body = parseReason(request.body);
  if (!body.ok) return { answered: sendBodyFaults(reply, 'INVALID_BODY', body.faults) };
  const row = await readStore(quarantine.find(principal.accounts, params['rowId'] ?? ''));
  if (row === undefined) return { answered: sendProblem(reply, 'ROW_NOT_FOUND') };
  if (row.dealtAt !== undefined) return { answered: sendDealtWith(call) };
  return { row, word: { by: principal.name, reason: body.reason, requestId: request.id } };
}

function sendDealtWith({ reply }: Call) {
  return sendProblem(reply, 'ALREADY_DEALT_WITH');
}

const lookEveryMs = 250;

/** The row once its retry is answered, after `waitMs`, or when the server drains. */
async function untilAnswered(
  { quarantine, clock, draining }: RouteParts,
  { principal }: Call,
  id: string,
  waitMs: number,
) {
  const giveUpMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const row = await readStore(quarantine.find(principal.accounts, id));
    const isOver = row?.retry?.outcome !== undefined || row === undefined;
    if (isOver || draining.aborted || clock.monotonicMs() >= giveUpMs) return row;
    await clock.sleep(lookEveryMs, draining);
  }
}

function entryBody({ observedAt, recordedAt, dealtAt, ...entry }: QuarantineEntry) {
  return {
    ...entry,
    observedAt: observedAt.toISOString(),
    recordedAt: recordedAt.toISOString(),
    ...(dealtAt !== undefined && { dealtAt: dealtAt.toISOString() }),
  };
}

function messageBody({ retry, ...message }: QuarantineMessage) {
  if (retry === undefined) return entryBody(message);
  const { requestedAt, answeredAt, ...answer } = retry;
  const times = {
    requestedAt: requestedAt.toISOString(),
    ...(answeredAt !== undefined && { answeredAt: answeredAt.toISOString() }),
  };
  return { ...entryBody(message), retry: { ...times, ...answer } };
}

export const openQuarantineJob: Route = {
  method: 'POST',
  path: '/v1/quarantine/jobs',
  operationId: 'openQuarantineJob',
  summary: 'Retry or discard every row in quarantine that matches',
  describe:
    'The job and its rows are journaled before the answer; it has the oldest 20,000 that match, and rows that come later are not in it. A discard has ended with the answer. The processes that follow the accounts carry a retry out at a bounded pace, and the next ones go on with it. It has only rows of the accounts of the token, and rows without an account only with a token of every account. Rows for which a retry is open already are left out of a retry. After a day, the rows that are still open are withdrawn.',
  tag: 'quarantine',
  scopes: ['ops:write'],
  body: quarantineJobBody,
  answers: {
    200: { describe: 'With `dryRun`: the rows that it would have', schema: quarantineJobSize },
    202: { describe: 'The job as it is journaled', schema: quarantineJobAnswer, headers: ['Location'] },
  },
  problems: [...ofBody, 'ACCOUNT_NOT_FOUND', 'TOO_MANY_JOBS'],
  handle: async ({ quarantine, random }, { request, reply, principal }) => {
    const body = parseQuarantineJob(request.body);
    if (!body.ok) return sendBodyFaults(reply, 'INVALID_BODY', body.faults);
    const { action, filter, reason, dryRun } = body;
    const { accounts, name } = principal;
    if (filter.accountId !== undefined && !maySee(accounts, filter.accountId))
      return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
    if (dryRun) return sendJson(reply, 200, await readStore(quarantine.measureJob(accounts, action, filter)));
    const jobId = random.uuid();
    const asked = { jobId, action, filter, by: name, reason, requestId: request.id };
    if (!(await readStore(quarantine.openJob(accounts, asked)))) {
      reply.header('retry-after', '60');
      return sendProblem(reply, 'TOO_MANY_JOBS', `${mostOpenJobs} retries have not ended: wait for one, or cancel one`);
    }
    const job = await readStore(quarantine.findJob(accounts, jobId));
    reply.header('location', `/v1/quarantine/jobs/${jobId}`);
    return job === undefined ? sendProblem(reply, 'JOB_NOT_FOUND') : sendJson(reply, 202, { job: jobBody(job) });
  },
};

const jobsShown = 50;

export const listQuarantineJobs: Route = {
  method: 'GET',
  path: '/v1/quarantine/jobs',
  operationId: 'listQuarantineJobs',
  summary: `List the newest ${jobsShown} jobs over the quarantine`,
  describe: 'Those whose accounts are all of the token. A job is kept as long as the log is.',
  tag: 'quarantine',
  scopes: ['ops:read'],
  answers: { 200: { describe: 'Newest first', schema: quarantineJobList } },
  rows: jobsShown,
  handle: async ({ quarantine }, { reply, principal }) => {
    const jobs = await readStore(quarantine.listJobs(principal.accounts, jobsShown));
    return sendJson(reply, 200, { items: jobs.map(jobBody) });
  },
};

export const showQuarantineJob: Route = {
  method: 'GET',
  path: '/v1/quarantine/jobs/{jobId}',
  operationId: 'getQuarantineJob',
  summary: 'Read one job over the quarantine, with its progress',
  tag: 'quarantine',
  scopes: ['ops:read'],
  params: { jobId: 'jobId' },
  answers: { 200: { describe: 'The job', schema: quarantineJobAnswer } },
  problems: ['JOB_NOT_FOUND'],
  handle: async ({ quarantine }, { reply, principal, params: { jobId = '' } }) => {
    const job = await readStore(quarantine.findJob(principal.accounts, jobId));
    return job === undefined ? sendProblem(reply, 'JOB_NOT_FOUND') : sendJson(reply, 200, { job: jobBody(job) });
  },
};

export const cancelQuarantineJob: Route = {
  method: 'POST',
  path: '/v1/quarantine/jobs/{jobId}/cancel',
  operationId: 'cancelQuarantineJob',
  summary: 'Cancel a job over the quarantine',
  describe: 'Its rows that are open are withdrawn, and stay in quarantine. Rows that were done stay done.',
  tag: 'quarantine',
  scopes: ['ops:write'],
  params: { jobId: 'jobId' },
  body: reasonBody,
  answers: {
    200: {
      describe: 'The job now; one that had ended is unchanged, as a discard always is',
      schema: quarantineJobAnswer,
    },
  },
  problems: [...ofBody, 'JOB_NOT_FOUND'],
  handle: async ({ quarantine }, { request, reply, principal, params: { jobId = '' } }) => {
    const body = parseReason(request.body);
    if (!body.ok) return sendBodyFaults(reply, 'INVALID_BODY', body.faults);
    const { accounts, name } = principal;
    if ((await readStore(quarantine.findJob(accounts, jobId))) === undefined)
      return sendProblem(reply, 'JOB_NOT_FOUND');
    const word = { by: name, reason: body.reason, requestId: request.id };
    await readStore(quarantine.cancelJob(accounts, jobId, word));
    const job = await readStore(quarantine.findJob(accounts, jobId));
    return job === undefined ? sendProblem(reply, 'JOB_NOT_FOUND') : sendJson(reply, 200, { job: jobBody(job) });
  },
};

function jobBody({ askedAt, endedAt, ...job }: QuarantineJob) {
  return {
    ...job,
    state: endedAt === undefined ? 'running' : job.cancelledBy === undefined ? 'ended' : 'cancelled',
    askedAt: askedAt.toISOString(),
    ...(endedAt !== undefined && { endedAt: endedAt.toISOString() }),
  };
}
