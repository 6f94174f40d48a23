import { expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { cliIo } from '../../support/rest/cli-io.ts';

it.each([
  ['TIDEMARK_URL', { TIDEMARK_URL: 'http://127.0.0.1:1', TIDEMARK_HTTP_PORT: '2' }, [], 'http://127.0.0.1:1'],
  ['--url', { TIDEMARK_URL: 'http://127.0.0.1:1' }, ['--url', 'http://127.0.0.1:3/'], 'http://127.0.0.1:3'],
  ['this machine, at the port of REST', { TIDEMARK_HTTP_PORT: '2' }, [], 'http://127.0.0.1:2'],
] as const)('a command that speaks REST finds the service by %s', async (_by, env, flags, address) => {
  const io = cliIo(env);
  await runProgram(io, ['halt', '--reason', 'now', ...flags]);
  expect(io.err()).toContain(`no answer from ${address}: `);
});
