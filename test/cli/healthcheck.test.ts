import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../support/rest/cli-io.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/**
 * An admin port that answers as told; its paths and answers are those of
 * `AdminServer`, which has tests of its own.
 */
async function port(answer: RequestListener): Promise<number> {
  const started = createServer(answer);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return (started.address() as AddressInfo).port;
}

async function healthcheck(argv: string[], env: Record<string, string> = {}) {
  const io = cliIo(env);
  await runProgram(io, ['healthcheck', ...argv]);
  return { code: io.code(), out: io.out(), err: io.err() };
}

const verdicts: RequestListener = ({ url }, response) => {
  response.statusCode = url === '/livez' ? 200 : 503;
  response.end(JSON.stringify({ status: url === '/livez' ? 'live' : 'unready' }));
};

describe('healthcheck', () => {
  it('ends with 0 for a service that lives, also one that listens everywhere', async () => {
    const env = { TIDEMARK_ADMIN_HOST: '0.0.0.0', TIDEMARK_ADMIN_PORT: String(await port(verdicts)) };
    expect(await healthcheck([], env)).toEqual({ code: 0, out: 'live\n', err: '' });
  });

  it('ends with 1 for a service that lives and is not ready, where that was asked', async () => {
    const url = `http://127.0.0.1:${await port(verdicts)}`;
    expect(await healthcheck(['--url', url])).toMatchObject({ code: 0 });
    const { code, out, err } = await healthcheck(['--ready', '--url', url]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe('tidemark: the service is unready\n  `tidemark status` says why.\n');
  });

  it('ends with 1 when nothing answers', async () => {
    const url = `http://127.0.0.1:${await port(verdicts)}`;
    await new Promise((resolve) => server?.close(resolve));
    const { code, err } = await healthcheck(['--url', url]);
    expect(code).toBe(1);
    expect(err).toMatch(/^tidemark: no service answers at http:\/\/127\.0\.0\.1:\d+: connection refused/);
  });

  it.each(['<html>hello</html>', 'null', '{"status":1}'])(
    'does not take %s with code 200 for a service',
    async (body) => {
      const { code, err } = await healthcheck([], {
        TIDEMARK_ADMIN_PORT: String(await port((_request, it) => it.end(body))),
      });
      expect(code).toBe(1);
      expect(err).toMatch(
        /is not the admin port of a Tidemark service\n {2}Check the address: name the admin port \(9464 /,
      );
    },
  );
});
