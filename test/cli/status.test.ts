import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { AdminServer } from '../../src/http/admin-server.ts';
import { EventLoopWatch } from '../../src/observability/event-loop-watch.ts';
import { HealthRegistry } from '../../src/observability/health.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { cliIo } from '../support/cli-io.ts';
import { json } from '../support/http-server.ts';
import { problemBody, restServer } from '../support/rest-answers.ts';

let database: boolean;
let server: AdminServer;

beforeEach(async () => {
  database = true;
  const health = new HealthRegistry({ clock: systemClock }, { checkDeadlineMs: 1000, maxAgeMs: 0 });
  health.add({
    name: 'database',
    effect: 'unready',
    check: async () => ({ ok: database, detail: database ? 'answers' : 'is down' }),
  });
  const eventLoop = new EventLoopWatch({ clock: systemClock }, { sampleEveryMs: 500, lateMs: 60_000, lateInARow: 10 });
  const status = () => ({
    version: '1.2.3',
    relay: { position: '42', backlog: 0 },
    sources: [
      { source: 'account', state: 'live' },
      { source: 'prediction', state: 'down', lastError: 'reset' },
    ],
  });
  const deps = { clock: systemClock, log: pino({ level: 'silent' }), metrics: createMetrics(), health, eventLoop, status };
  server = new AdminServer(deps, { host: '127.0.0.1', port: 0 });
  await server.start();
});

afterEach(() => server.drain());

async function run(argv: string[], env: Record<string, string> = {}) {
  const io = cliIo(env);
  await runProgram(io, ['status', ...argv]);
  return { code: io.code(), out: io.out(), err: io.err() };
}

describe('status', () => {
  it('finds the service by the settings, and shows verdict, checks and what the service tells, as tables', async () => {
    const { code, out } = await run([], { TIDEMARK_ADMIN_PORT: new URL(server.address ?? '').port });
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      'ready',
      'ok  database  answers',
      '',
      'version  1.2.3',
      '',
      'relay',
      '  position  42',
      '  backlog   0',
      '',
      'sources',
      '  SOURCE      STATE  LASTERROR',
      '  account     live   -',
      '  prediction  down   reset',
      '',
    ]);
  });

  it('is JSON for a script', async () => {
    const { out } = await run(['--json', '--url', `${server.address}/`]);
    expect(JSON.parse(out)).toMatchObject({ health: { status: 'ready' }, status: { relay: { position: '42' } } });
  });

  it('ends with 1 when the service is not ready', async () => {
    database = false;
    const { code, out } = await run(['--url', `${server.address}`]);
    expect(code).toBe(1);
    expect(out).toMatch(/^unready\nunready {2}database {2}is down\n/);
  });

  it('says in one sentence that nothing answers, and ends with 69', async () => {
    const address = server.address;
    await server.drain();
    const { code, out, err } = await run(['--url', `${address}`]);
    expect([code, out]).toEqual([69, '']);
    expect(err).toBe(
      `tidemark: no service answers at ${address}: connection refused: connect ECONNREFUSED ${address?.slice('http://'.length)}\n` +
        '  Start the service with `tidemark serve`, or name its admin port with --url.\n',
    );
  });

  it('says that something else answers', async () => {
    const other = createServer((_request, response) => response.end('<html>hello</html>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address() as AddressInfo;
    const { code, err } = await run(['--url', `http://127.0.0.1:${address.port}`]);
    other.closeAllConnections();
    other.close();
    expect(code).toBe(69);
    expect(err).toMatch(/^tidemark: http:\/\/127\.0\.0\.1:\d+ is not the admin port of a Tidemark service\n/);
  });

  it('says which port it wants when it is given that of REST', async () => {
    const rest = await restServer((_request, response) => json(response, 404, problemBody(404, 'NOT_FOUND', 'nothing here')));
    const { code, err } = await run(['--url', rest.url]);
    expect(code).toBe(69);
    expect(err).toContain(
      'name the admin port (9464 unless TIDEMARK_ADMIN_PORT says otherwise) with --url, not the port of REST (8080 ',
    );
  });

  it('refuses an address that is none', async () => {
    expect(await run(['--url', 'localhost:9464'])).toMatchObject({ code: 64, out: '' });
  });
});
