import type { Route } from '../route.ts';
import { sendJsonText } from '../send-answer.ts';

export const showOpenapi: Route = {
  method: 'GET',
  path: '/openapi.json',
  operationId: 'getOpenapi',
  summary: 'This interface as OpenAPI 3.1',
  tag: 'documents',
  scopes: 'public',
  answers: { 200: { describe: 'OpenAPI 3.1', type: 'application/json', example: { openapi: '3.1.0' } } },
  handle: ({ documents }, { reply }) => sendJsonText(reply, 200, documents.openapi),
};

export const showAsyncapi: Route = {
  method: 'GET',
  path: '/asyncapi.json',
  operationId: 'getAsyncapi',
  summary: 'The topics on Kafka and the stream of updates as AsyncAPI 3',
  tag: 'documents',
  scopes: 'public',
  answers: { 200: { describe: 'AsyncAPI 3', type: 'application/json', example: { asyncapi: '3.0.0' } } },
  handle: ({ documents }, { reply }) => sendJsonText(reply, 200, documents.asyncapi),
};

export const showPage: Route = {
  method: 'GET',
  path: '/docs',
  operationId: 'getDocsPage',
  summary: 'This interface as a page',
  tag: 'documents',
  scopes: 'public',
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
