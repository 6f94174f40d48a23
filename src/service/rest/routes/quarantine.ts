import { z } from 'zod';
import { plainTextField } from '../../../contract/body-fields.ts';
import { parseReason, reasonBody } from '../../../contract/command-bodies.ts';
import { quarantineAnswer, quarantinePage } from '../../../contract/quarantine-bodies.ts';
import type { QuarantineEntry, QuarantineMessage } from '../../../store/quarantine/quarantine-access.ts';
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
