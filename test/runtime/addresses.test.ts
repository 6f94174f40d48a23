import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/cli/io/read-config.ts';
import { runProgram } from '../../src/cli/program.ts';
import { portsBesideAnother } from '../../src/cli/serve.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { cacheFolder } from '../../src/runtime/cache-folder.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { makeTemporaryFolder } from '../../src/runtime/temporary-folder.ts';
import { advertisedUrl } from '../../src/service/fleet/advertised-url.ts';
import { kafkaDefaults } from '../../src/service/log/kafka-options.ts';
import { openKafkaClient } from '../../src/service/log/kafkajs/kafka-client.ts';
import { wsSocketFactory } from '../../src/service/sources/ws-socket.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { fixedToken, writeDeps, writes } from '../support/commands/order-writes.ts';
import { platformDeps } from '../support/platform/platform-deps.ts';
import { runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { silentLog } from '../support/runs/silent-log.ts';

describe('issue: With an address such as [::1], the service and its commands could not connect.', () => {
  const signIn = { TIDEMARK_AUTH_PRINCIPALS: 'on' };

  async function listening(server: Server): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, '::1', resolve));
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  }

  /** A server on ::1 that ends each connection, and counts them. */
  async function counting() {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
      socket.destroy();
    });
    return { port: await listening(server), connections: () => connections };
  }

  it('a platform on [::1] is signed in to, read, streamed and written to', async () => {
    const { description } = await runningSandbox({ host: '::1' });
    const { platform, stream, control, clientId, clientSecret } = description;
    for (const address of [platform, control, stream]) expect(new URL(address).hostname).toBe('[::1]');
    const { tokens, http } = platformDeps(platform, { clientId, clientSecret });
    const token = await tokens.get('http://platform');
    if (!token.ok) throw new Error('there is no token');
    const health = await http.request({
      operation: 'health',
      method: 'GET',
      url: `${platform}/v1/health`,
      headers: {},
    });
    expect(health).toMatchObject({ kind: 'answered', status: 200 });
    const opened = Promise.withResolvers<void>();
    const nothing = () => undefined;
    const socket = wsSocketFactory(systemClock)(stream, token.token.secret, {
      ...{ onFrame: nothing, onPong: nothing, onOpen: opened.resolve },
      onEnd: (end) => opened.reject(new Error(JSON.stringify(end))),
    });
    await opened.promise;
    socket.close();
    // A token that the sandbox refuses is an answer all the same: the write has arrived.
    const result = await writes['placeOrder']?.run(writeDeps(fixedToken()), platform);
    expect(result).toMatchObject({ kind: 'refused' });
  });

  it('a Kafka broker is found at [::1]:port', async () => {
    const { port, connections } = await counting();
    const { kafka, retire } = openKafkaClient({ ...kafkaDefaults, brokers: [`[::1]:${port}`] }, { log: silentLog });
    await expect(kafka.admin().connect()).rejects.toThrow();
    retire();
    expect(connections()).toBe(1);
  });

  it('a database is found at [::1]:port', async () => {
    const { port, connections } = await counting();
    const pool = createPool(
      { log: silentLog },
      { url: `postgres://u:p@[::1]:${port}/d`, applicationName: 't', maxConnections: 1 },
    );
    await expect(pool.query('select 1')).rejects.toThrow();
    await pool.end();
    expect(connections()).toBe(1);
  });

  it.each(['::1', '[::1]', '::'])('a command asks the admin port of a service on %s', async (host) => {
    const server = createHttpServer((request, response) =>
      response.end(JSON.stringify({ status: request.headers.host })),
    );
    const port = await listening(server);
    const io = cliIo({ TIDEMARK_ADMIN_HOST: host, TIDEMARK_ADMIN_PORT: String(port), ...signIn });
    await runProgram(io, ['healthcheck']);
    expect(io.out()).toBe(`[::1]:${port}\n`);
  });

  it.each([
    ['::1', 'http://[::1]:2'],
    ['[::1]', 'http://[::1]:2'],
    ['::', 'http://[::1]:2'],
    ['0.0.0.0', 'http://127.0.0.1:2'],
    ['fd00::7', 'http://[fd00::7]:2'],
  ])('a command that speaks REST finds a service that listens on %s', async (host, address) => {
    const io = cliIo({ TIDEMARK_HTTP_HOST: host, TIDEMARK_HTTP_PORT: '2', ...signIn });
    expect(readConfig(io).httpHost).not.toContain('[');
    await runProgram({ ...io, fetch: async () => Promise.reject(new Error('no way')) }, ['halt', '--reason', 'now']);
    expect(io.err()).toContain(`no answer from ${address}: `);
  });

  it('a second service on ::1 takes free ports beside the first', async () => {
    const adminPort = await listening(createHttpServer((_, response) => response.end('{"status":"live"}')));
    const ports = { adminHost: '::1', adminPort, httpHost: '::1', httpPort: 8080 };
    const effective = ['TIDEMARK_ADMIN_PORT', 'TIDEMARK_HTTP_PORT'].map(
      (env) => ({ env, source: 'default', shown: '', secret: false }) as const,
    );
    expect(await portsBesideAnother({ io: cliIo(), log: silentLog }, ports, effective)).toEqual({
      adminPort: 0,
      httpPort: 0,
    });
  });

  it('the address that other instances get has brackets', () => {
    const bound = 'http://[::1]:8080';
    expect(advertisedUrl({ httpHost: '::1' }, { bound, hostname: 'a-host' })).toBe(bound);
    expect(advertisedUrl({ httpHost: '::' }, { bound, hostname: 'a-host' })).toBe('http://a-host:8080');
    expect(advertisedUrl({ httpHost: '::' }, { bound, hostname: 'fd00::7' })).toBe('http://[fd00::7]:8080');
  });

  it.each([
    [{ PLATFORM_URL: 'http://[::1]:8700' }, []],
    [{ PLATFORM_URL: 'http://[0:0:0:0:0:0:0:1]:8700', PLATFORM_STREAM_URL: 'ws://[::1]:8700/s' }, []],
    [{ PLATFORM_URL: 'http://[fd00::7]:8700' }, ['PLATFORM_URL']],
    [{ TIDEMARK_HTTP_HOST: '::1', TIDEMARK_ADMIN_HOST: '[::1]' }, []],
    [{ TIDEMARK_HTTP_HOST: '::' }, ['TIDEMARK_HTTP_HOST']],
    [{ TIDEMARK_HTTP_HOST: 'fd00::7' }, ['TIDEMARK_HTTP_HOST']],
    [{ TIDEMARK_HTTP_HOST: '127.0.0.1:8080' }, ['TIDEMARK_HTTP_HOST']],
    [{ TIDEMARK_ADMIN_HOST: '[::1]:9464' }, ['TIDEMARK_ADMIN_HOST']],
    [{ KAFKA_BROKERS: '[::1]:9092,[fd00::7]:9092,b:9092' }, []],
    [{ DATABASE_URL: 'postgres://u:p@[::1]:5432/d' }, []],
    [{ TIDEMARK_CONSOLE_DEMO_URL: 'http://[::1]:1' }, []],
  ])('%o in production is refused for %o', (env, names) => {
    const loaded = loadConfig({ NODE_ENV: 'production', ...env }, () => '');
    expect(loaded.ok ? [] : loaded.faults.map(({ name }) => name)).toEqual(names);
  });
});

describe('issue: A user without a home folder got a raw system error (`uv_os_homedir`) from each command.', () => {
  const entry = 'bin/tidemark.js';
  const path = process.env['PATH'] ?? '';

  /** What Node does for a user that no passwd file names, and without HOME. */
  const homeless = `data:text/javascript,${encodeURIComponent(
    `import os from 'node:os'; import module from 'node:module';
  os.homedir = () => { throw new Error('A system error occurred: uv_os_homedir returned ENOENT (no such file or directory)') };
  module.syncBuiltinESMExports();`,
  )}`;

  function tidemark(args: string[], env: Record<string, string>) {
    const run = spawnSync(process.execPath, ['--import', homeless, entry, ...args], {
      encoding: 'utf8',
      timeout: 60_000,
      env: { PATH: path, ...env },
    });
    return { code: run.status, out: run.stdout, err: run.stderr };
  }

  describe('a user without a home folder', () => {
    it('may run what needs none', () => {
      const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
      expect(tidemark(['--version'], {})).toEqual({ code: 0, out: `${version}\n`, err: '' });
    });

    it('reads in plain words what is missing where one is needed', () => {
      const { code, err } = tidemark(['dev'], {});
      expect(code).toBe(78);
      expect(err).toContain('this user has no home folder');
      expect(err).toContain('Set XDG_CACHE_HOME');
      expect(err).not.toContain('uv_os_homedir');
    });

    it('may name another place', () => {
      expect(cacheFolder({ XDG_CACHE_HOME: '/var/cache' })).toBe('/var/cache/tidemark');
    });
  });

  it('a /tmp that can not be written to is told, with what to set', async () => {
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = '/proc/none';
    try {
      await expect(makeTemporaryFolder('x-')).rejects.toMatchObject({
        ...{ code: 'TEMPORARY_FOLDER', exitCode: 78 },
        message: expect.stringMatching(/^no folder can be made in \/proc\/none: /),
        fix: 'Set TMPDIR to a folder that this user may write to.',
      });
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
  });

  describe('a reader of the output that has stalled', () => {
    const filling = 'data:text/javascript,process.stdout.write(`x`.repeat(4e6))';
    // By the environment, so that it holds for the process itself
    // where an older Node only launches it.
    const env = { PATH: path, NODE_OPTIONS: `--import=${filling}` };
    const start = (args: string[]) =>
      spawn(process.execPath, [entry, ...args], { stdio: ['ignore', 'pipe', 'ignore'], env });

    it('does not keep a service from its end', async () => {
      const child = start(['serve']);
      // Its own exit code, and nothing was read.
      expect(await once(child, 'exit')).toEqual([78, null]);
      child.stdout.destroy();
    });

    it('gets all of the output of another command, as late as it likes', async () => {
      const child = start(['--version']);
      let length = 0;
      child.stdout.on('data', (chunk: Buffer) => {
        length += chunk.length;
      });
      await once(child, 'close');
      expect(length).toBeGreaterThan(4_000_000);
    });
  });
});
