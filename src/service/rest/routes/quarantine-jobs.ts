import { parseReason, reasonBody } from '../../../contract/command-bodies.ts';
import {
  parseQuarantineJob,
  quarantineJobAnswer,
  quarantineJobBody,
  quarantineJobList,
  quarantineJobSize,
} from '../../../contract/quarantine-bodies.ts';
import { mostOpenJobs, type QuarantineJob } from '../../../store/quarantine/quarantine-access.ts';
import { maySee } from '../auth/principal.ts';
import { readStore } from '../problem.ts';
import { ofBody } from '../problem-codes.ts';
import type { Route } from '../route.ts';
import { sendBodyFaults, sendJson, sendProblem } from '../send-answer.ts';

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
