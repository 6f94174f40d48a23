import type { Route } from '../route.ts';
import { sendJsonText } from '../send-answer.ts';

const shared = { method: 'GET', tag: 'documents', scopes: 'public' } as const;

export const showOpenapi: Route = {
  ...shared,
  path: '/openapi.json',
  operationId: 'getOpenapi',
  summary: 'This interface as OpenAPI 3.1',
  answers: { 200: { describe: 'OpenAPI 3.1', type: 'application/json', example: { openapi: '3.1.0' } } },
  handle: ({ documents }, { reply }) => sendJsonText(reply, 200, documents.openapi),
};

export const showAsyncapi: Route = {
  ...shared,
  path: '/asyncapi.json',
  operationId: 'getAsyncapi',
  summary: 'The topics on Kafka and the stream of updates as AsyncAPI 3',
  answers: { 200: { describe: 'AsyncAPI 3', type: 'application/json', example: { asyncapi: '3.0.0' } } },
  handle: ({ documents }, { reply }) => sendJsonText(reply, 200, documents.asyncapi),
};

export const showPage: Route = {
  ...shared,
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
