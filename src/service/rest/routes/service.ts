import { z } from 'zod';
import { instant } from '../../../contract/normalised-order.ts';
import { consumersAnswer, historyAnswer } from '../../../contract/pipeline-answers.ts';
import { callerAnswer, statusAnswer } from '../../../contract/status-answer.ts';
import { msOf } from '../../../domain/instant.ts';
import { scopes } from '../auth/principal.ts';
import { statusOfAll } from '../instances/status-of-all.ts';
import { operatorRead, type Route, route } from '../route.ts';
import { sendJson, sendJsonText, sendProblem } from '../send-answer.ts';

export const showCaller: Route = {
  method: 'GET',
  path: '/v1/me',
  operationId: 'getCaller',
  summary: 'Read the rights of the token',
  describe: 'For programs and pages that show only what their token may do.',
  tag: 'service',
  scopes,
  answers: { 200: { describe: 'The caller, its scopes and its accounts', schema: callerAnswer } },
  handle: ({ service, authenticator }, { reply, principal: { name, scopes: granted, accounts } }) =>
    sendJson(reply, {
      principal: name,
      signIn: authenticator.required,
      scopes: [...granted],
      ...(accounts.kind === 'accounts' && { accounts: accounts.accountIds }),
      commands: service.commands,
      streams: service.streams,
    }),
};

export const showStatus: Route = {
  ...operatorRead,
  path: '/v1/status',
  operationId: 'getStatus',
  summary: 'Read the state of the service, and whether its data can be trusted',
  describe:
    'Of the whole fleet: each instance is asked, for two seconds at most, and one that gives no answer is named. Accounts, halts, commands, losses and the dead letters are those of the token. The lane, the relay, the connections and the logins are those of the instance that answers.',
  tag: 'service',
  answers: { 200: { describe: 'Each doubt has a name, a runbook and a link', schema: statusAnswer } },
  rows: 100,
  handle: async (parts, call) => {
    const own = await parts.service.status(call.principal.accounts);
    return sendJson(call.reply, await statusOfAll(parts, call, own));
  },
};

export const showHistory = route({
  ...operatorRead,
  path: '/v1/history',
  operationId: 'getHistory',
  summary: 'Read the rates, latency and lag of the last hour',
  describe: 'Of the instance that answers, since it was started: of the whole service, so it names no account.',
  tag: 'service',
  query: z.strictObject({ since: instant.describe('Only samples after this').exactOptional() }),
  answers: { 200: { describe: 'One sample each ten seconds, oldest first', schema: historyAnswer } },
  rows: 50,
  handle: ({ service }, { reply, query: { since } }) =>
    sendJson(reply, service.history(since === undefined ? undefined : msOf(since))),
});

export const listConsumers: Route = {
  ...operatorRead,
  path: '/v1/consumers',
  operationId: 'listConsumerGroups',
  summary: 'List the consumer groups of the topics with their lag',
  describe: 'Kafka is asked at most each five seconds. Groups name no account.',
  tag: 'service',
  answers: { 200: { describe: 'Groups that have committed offsets', schema: consumersAnswer } },
  problems: ['KAFKA_UNAVAILABLE'],
  rows: 50,
  handle: async ({ service }, { reply }) => {
    const answer = await service.consumers();
    if (answer.kind === 'read') return sendJson(reply, answer.consumers);
    reply.header('retry-after', '5');
    return sendProblem(reply, 'KAFKA_UNAVAILABLE', 'Kafka did not show the consumer groups in time');
  },
};

const ofDocuments = { method: 'GET', tag: 'documents', scopes: 'public' } as const;

export const showOpenapi: Route = {
  ...ofDocuments,
  path: '/openapi.json',
  operationId: 'getOpenapi',
  summary: 'This interface as OpenAPI 3.1',
  answers: { 200: { describe: 'OpenAPI 3.1', type: 'application/json', example: { openapi: '3.1.0' } } },
  handle: ({ documents }, { reply }) => sendJsonText(reply, documents.openapi),
};

export const showAsyncapi: Route = {
  ...ofDocuments,
  path: '/asyncapi.json',
  operationId: 'getAsyncapi',
  summary: 'The topics on Kafka and the stream of updates as AsyncAPI 3',
  answers: { 200: { describe: 'AsyncAPI 3', type: 'application/json', example: { asyncapi: '3.0.0' } } },
  handle: ({ documents }, { reply }) => sendJsonText(reply, documents.asyncapi),
};

export const showPage: Route = {
  ...ofDocuments,
  path: '/docs',
  operationId: 'getDocsPage',
  summary: 'This interface as a page',
  answers: {
    200: {
      describe: 'HTML without scripts, and without anything from elsewhere',
      type: 'text/html',
      example: '<!doctype html>',
    },
  },
  handle: ({ documents }, { reply }) =>
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', documents.pagePolicy)
      .send(documents.page),
};
