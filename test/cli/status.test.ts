import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { EventLoopWatch } from '../../src/observability/event-loop-watch.ts';
import { HealthRegistry } from '../../src/observability/health.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { AdminServer } from '../../src/service/rest/admin-server.ts';
import { statusDocument } from '../../src/service/run/status-document.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { problemBody, restServer } from '../support/rest/rest-answers.ts';
import { sampleStatusParts } from '../support/rest/status-parts.ts';
import { eventually } from '../support/runs/poll.ts';
import { json, scriptedServer } from '../support/servers/http-server.ts';

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
  const status = () => statusDocument(sampleStatusParts(), { kind: 'all' });
  const deps = {
    clock: systemClock,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    health,
    eventLoop,
    status,
  };
  server = new AdminServer(deps, { host: '127.0.0.1', port: 0 });
  await server.start();
});

afterEach(() => server.drain());

const silent = { detail: 'no answer from three', since: null, runbook: 'TargetDown', link: '/v1/fleet' };

async function run(argv: string[], env: Record<string, string> = {}) {
  const io = cliIo(env);
  await runProgram(io, ['status', ...argv]);
  return { code: io.code(), out: io.out(), err: io.err() };
}

describe('status', () => {
  it('finds the service by the settings, and says first whether its data can be trusted', async () => {
    const { code, out } = await run([], { TIDEMARK_ADMIN_PORT: new URL(server.address ?? '').port });
    expect([code, out.split('\n')[0]]).toEqual([0, 'trusted']);
  });

  it('warns once of a name that is no option', async () => {
    const { err } = await run([], {
      TIDEMARK_ADMIN_PORT: new URL(server.address ?? '').port,
      KAFKA_TOPIC_PREFIX: 'desk',
    });
    expect(err.match(/did you mean TIDEMARK_TOPIC_PREFIX/g)).toHaveLength(1);
  });

  it('is JSON for a script', async () => {
    const { out } = await run(['--json', '--url', `${server.address}/`]);
    expect(JSON.parse(out)).toMatchObject({
      health: { status: 'ready' },
      status: { relay: { acknowledgedSeq: '484' } },
    });
  });

  it('is that of all instances with --fleet, by REST and its token, with those that gave no answer', async () => {
    const status = await statusDocument(sampleStatusParts(), { kind: 'all' });
    const part = { trusted: true, updatesPerSecond: 12.5, ingestQueued: 0, relayRows: 4, unresolved: null };
    const instances = ['one', 'two'].map((instance) => ({ instance, ...part }));
    const unanswered = [{ instance: 'three', code: 'NOT_REACHED' }];
    const trust = { trusted: false, doubts: [{ ...silent, name: 'instances_unanswered' }] };
    const rest = await scriptedServer((_request, response) => {
      response.writeHead(200).end(JSON.stringify({ ...status, trust, instances, unanswered }));
    });
    const { code, out } = await run(['--fleet', '--url', rest.url], { TIDEMARK_TOKEN: 'secret' });
    await rest.close();
    expect(rest.received).toMatchObject([{ path: '/v1/status', headers: { authorization: 'Bearer secret' } }]);
    expect([code, out.split('\n')[0]]).toEqual([1, 'in doubt: instances unanswered']);
    expect(out).toMatch(/^ {2}one +yes +12.5 +0 +4 +-$/m);
    expect(out).toMatch(/^ {2}three +no answer +- +- +- +NOT_REACHED$/m);
  });

  it('is the verdict of the fleet without a flag, where REST of this machine gives it, and says when it is of one process alone', async () => {
    const own = await statusDocument(sampleStatusParts(), { kind: 'all' });
    const part = { updatesPerSecond: 0, ingestQueued: 0, relayRows: 0, unresolved: null };
    const doubt = {
      name: 'rows_not_stored',
      detail: 'waits: the disk of the database is full (SQLSTATE 53100)',
      since: null,
    };
    const trust = { trusted: false, doubts: [{ ...doubt, runbook: 'IngestStuck', link: '/v1/history' }] };
    let answer: { status: number; body: object } = { status: 200, body: {} };
    const rest = await scriptedServer((_request, response) => json(response, answer.status, answer.body));
    const env = { TIDEMARK_ADMIN_PORT: new URL(server.address ?? '').port, TIDEMARK_URL: rest.url };
    const instances = [
      { ...part, instance: own.lane.instance, trusted: true },
      { ...part, instance: 'two', trusted: false },
    ];
    answer = { status: 200, body: { ...own, lane: { ...own.lane, instance: 'two' }, trust, instances } };
    const all = await run([], env);
    expect([all.code, all.out.split('\n')[0]]).toEqual([1, 'in doubt: rows not stored']);
    expect(all.out).toContain('the disk of the database is full');
    expect(await run(['--instance'], env)).toMatchObject({ code: 0, out: expect.not.stringContaining('alone') });
    // REST of another service, which happens to be at that port.
    answer = {
      status: 200,
      body: { ...own, lane: { ...own.lane, instance: 'two' }, trust, instances: instances.slice(1) },
    };
    expect(await run([], env)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^trusted\n.*\nof this process alone: REST/),
    });
    answer = { status: 401, body: problemBody(401, 'UNAUTHENTICATED', 'no token') };
    expect(await run([], env)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/\nof this process alone: .*TIDEMARK_TOKEN/),
    });
    await rest.close();
  });

  it('ends with 1 when the service is not ready', async () => {
    database = false;
    const { code, out } = await run(['--url', `${server.address}`]);
    expect(code).toBe(1);
    expect(out).toMatch(/^not ready: database\n.*\n {2}database {2}not ready {2}is down\n/s);
  });

  it('shows it again until it is interrupted, also while nothing answers, and ends with the last verdict', async () => {
    const io = cliIo({});
    const running = runProgram(io, ['status', '--watch', '--url', `${server.address}`]);
    await eventually(() => expect(io.out()).toMatch(/^trusted\n.*\n\ntrusted\n/s));
    await server.drain();
    await eventually(() => expect(io.out()).toMatch(/no service answers at .*\n\n$/s));
    io.signal('SIGINT');
    await running;
    expect(io.code()).toBe(1);
  }, 30_000);

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
    const rest = await restServer((_request, response) =>
      json(response, 404, problemBody(404, 'NOT_FOUND', 'nothing here')),
    );
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
