import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { type Received, type ScriptedServer, scriptedServer } from '../servers/http-server.ts';
import { cliIo } from './cli-io.ts';

/** A command as REST tells of it (docs/rest.md), with what a test changes. */
export function commandBody(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    commandId: '4f7c1d1e-1111-4222-8333-444455556666',
    kind: 'place',
    stream: 'account',
    accountId: 'SIM-1001',
    result: 'accepted',
    state: 'accepted',
    unresolved: false,
    presumedAbsent: false,
    terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '187.5' },
    principal: 'loopback',
    idempotencyKey: 'key-1',
    version: 2,
    misses: 0,
    createdAt: '2026-11-21T15:00:00.000Z',
    updatedAt: '2026-11-21T15:00:00.020Z',
    deadlineAt: '2026-11-21T15:00:10.000Z',
    attempts: [
      {
        attemptId: 'tm-0a1b2c3d-1111-4222-8333-444455556666',
        number: 1,
        state: 'accepted',
        epoch: '3',
        preparedAt: '2026-11-21T15:00:00.001Z',
        sendingAt: '2026-11-21T15:00:00.004Z',
        answeredAt: '2026-11-21T15:00:00.020Z',
      },
    ],
    links: { self: '/v1/commands/4f7c1d1e-1111-4222-8333-444455556666' },
    ...changes,
  };
}

export function problemBody(status: number, code: string, detail: string, more: object = {}): object {
  return {
    type: 'about:blank',
    title: 'x',
    status,
    detail,
    code,
    retryable: status === 503,
    requestId: 'r-1',
    ...more,
  };
}

/** A server that stands for REST, ended with the test. */
export async function restServer(
  answer: (request: Received, response: ServerResponse) => void,
): Promise<ScriptedServer> {
  const server = await scriptedServer(answer);
  onTestFinished(() => server.close());
  return server;
}

/** `tidemark …` against a REST address. */
export async function runAgainst(url: string, argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const io = cliIo({ TIDEMARK_URL: url, ...env });
  await runProgram(io, argv);
  return { code: io.code(), out: io.out(), err: io.err() };
}
