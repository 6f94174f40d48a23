import { connect } from 'node:net';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventLoopWatch } from '../../../src/observability/event-loop-watch.ts';
import { type CheckResult, HealthRegistry } from '../../../src/observability/health.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { AdminServer } from '../../../src/service/rest/admin-server.ts';

const fine: CheckResult = { ok: true, detail: 'answers' };
let results: { database: CheckResult; source: CheckResult; lane: CheckResult };
let status: () => unknown;
let logged: string[];
let server: AdminServer;

beforeEach(async () => {
  results = { database: fine, source: fine, lane: fine };
  status = () => ({ build: 'test', relay: { position: '12' } });
  logged = [];
  const health = new HealthRegistry({ clock: systemClock }, { checkDeadlineMs: 1000, maxAgeMs: 0 });
  health.add({ name: 'database', effect: 'unready', check: async () => results.database });
  health.add({ name: 'source', effect: 'degraded', check: async () => results.source });
  health.add({ name: 'lane', effect: 'leader', check: async () => results.lane });
  const log = pino({ level: 'error' }, { write: (line: string) => logged.push(line) });
  const eventLoop = new EventLoopWatch({ clock: systemClock }, { sampleEveryMs: 500, lateMs: 60_000, lateInARow: 10 });
  server = new AdminServer(
    { clock: systemClock, log, metrics: createMetrics(), health, eventLoop, status: () => status() },
    { host: '127.0.0.1', port: 0 },
  );
  await server.start();
});

afterEach(() => server.drain());

async function get(path: string, init: RequestInit = {}) {
  const response = await fetch(`${server.address}${path}`, init);
  const text = await response.text();
  return { status: response.status, type: response.headers.get('content-type') ?? '', text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What the server answers to these bytes, until it closes the connection. */
function raw(bytes: string): Promise<string> {
  const { hostname, port } = new URL(server.address ?? '');
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? undefined : reject(error),
    );
  });
}

const bad = (detail: string): CheckResult => ({ ok: false, detail });

describe('/livez', () => {
  it('answers for the event loop alone, whatever the parts say', async () => {
    results.database = bad('down');
    expect(await get('/livez')).toMatchObject({ status: 200, body: { status: 'live' } });
  });
});

describe('/readyz', () => {
  it('is ready when every check passes, and names none of them to a probe', async () => {
    expect(await get('/readyz')).toMatchObject({ status: 200, text: '{"status":"ready"}' });
  });

  it('is unready without the database', async () => {
    results.database = bad('down');
    expect(await get('/readyz')).toMatchObject({ status: 503, body: { status: 'unready' } });
  });

  it('is degraded, and still ready, without a source', async () => {
    results.source = bad('down');
    expect(await get('/readyz')).toMatchObject({ status: 200, body: { status: 'degraded' } });
  });

  it('lists the checks to who asks', async () => {
    results.source = bad('no frame for 31 s');
    const { body } = await get('/readyz?verbose');
    expect(body).toMatchObject({
      checks: [{ name: 'database' }, { name: 'source', ok: false, detail: 'no frame for 31 s' }, { name: 'lane' }],
    });
  });

  it('sends who asks for the leader away from a standby', async () => {
    results.lane = bad('standing by');
    expect(await get('/readyz')).toMatchObject({ status: 200 });
    expect(await get('/readyz?role=leader')).toMatchObject({ status: 503, body: { status: 'not_leader' } });
    results.lane = fine;
    expect(await get('/readyz?role=leader')).toMatchObject({ status: 200, body: { status: 'ready' } });
  });

  it('refuses a role that it does not know', async () => {
    expect(await get('/readyz?role=boss')).toMatchObject({ status: 400, body: { code: 'UNKNOWN_ROLE' } });
  });
});

describe('/status', () => {
  it('is the JSON that the service gives of itself', async () => {
    const { type, body } = await get('/status');
    expect(type).toBe('application/json; charset=utf-8');
    expect(body).toEqual({ build: 'test', relay: { position: '12' } });
  });

  it('answers 500 without the reason when the service fails to tell, and logs it', async () => {
    status = () => {
      throw new Error('c4n4ry');
    };
    const answer = await get('/status');
    expect(answer).toMatchObject({
      status: 500,
      type: 'application/problem+json; charset=utf-8',
      body: { code: 'INTERNAL', retryable: false },
    });
    expect(answer.text).not.toContain('c4n4ry');
    expect(logged.join()).toContain('c4n4ry');
  });
});

describe('/metrics', () => {
  it('is the text of the registry, and counts the requests before', async () => {
    await get('/livez');
    const { type, text } = await get('/metrics');
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('http_request_duration_seconds_count{method="GET",route="/livez",code_class="2xx"} 1');
  });
});

describe('the admin port', () => {
  it.each([
    ['an unknown path', '/nothing?here=1', 'GET'],
    ['a path out of bounds', '/%2e%2e/%2e%2e/etc/passwd', 'GET'],
    ['a method without a route', '/livez', 'DELETE'],
  ])('answers %s with a problem, and does not repeat it', async (_what, path, method) => {
    const answer = await get(path, { method });
    expect(answer).toMatchObject({ status: 404, type: 'application/problem+json; charset=utf-8' });
    expect(answer.body).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
      retryable: false,
      requestId: expect.any(String),
    });
    expect(answer.text).not.toContain('passwd');
  });

  it('counts unknown paths under one label', async () => {
    await get('/a');
    await get('/b');
    expect((await get('/metrics')).text).toContain(
      'http_request_duration_seconds_count{method="GET",route="unknown",code_class="4xx"} 2',
    );
  });

  it('forbids caches', async () => {
    expect((await fetch(`${server.address}/readyz`)).headers.get('cache-control')).toBe('no-store');
  });

  it('refuses a header block over 8 KiB', async () => {
    expect(await raw(`GET /livez HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(9000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('refuses a body over 1 KiB', async () => {
    const answer = await get('/livez', {
      method: 'POST',
      body: 'x'.repeat(2000),
      headers: { 'content-type': 'text/plain' },
    });
    expect(answer).toMatchObject({ status: 413, body: { code: 'TOO_LARGE' } });
  });

  it('closes a connection whose headers never end', async () => {
    expect(await raw('GET /livez HTTP/1.1\r\nHost: a\r\n')).toMatch(/^(HTTP\/1\.1 408 |$)/);
  });

  it('refuses what is not HTTP', async () => {
    expect(await raw('\u0016\u0003\u0001 hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('closes at once, kept-alive connections included', async () => {
    const address = server.address;
    await get('/livez');
    const open = raw('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await server.drain();
    expect(await open).toMatch(/^(HTTP\/1\.1 200 |$)/);
    await expect(fetch(`${address}/livez`)).rejects.toThrow();
  });

  it('does not start on a port that is taken', async () => {
    const eventLoop = new EventLoopWatch({ clock: systemClock }, { sampleEveryMs: 500, lateMs: 1000, lateInARow: 3 });
    const health = new HealthRegistry({ clock: systemClock }, { checkDeadlineMs: 1000, maxAgeMs: 0 });
    const second = new AdminServer(
      {
        clock: systemClock,
        log: pino({ level: 'silent' }),
        metrics: createMetrics(),
        health,
        eventLoop,
        status: () => ({}),
      },
      { host: '127.0.0.1', port: Number(new URL(server.address ?? '').port) },
    );
    await expect(second.start()).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: expect.stringMatching(/^port \d+ of 127\.0\.0\.1 is in use/),
    });
    await second.drain();
  });
});
