import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { signedIn } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';

describe('issue: Tidemark ran compiled code that another user of the machine had put into its cache.', () => {
  let cache: string;
  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), 'tidemark-cache-'));
  });
  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  /** Starts the program once with this cache; whether it kept compiled code there. */
  function keepsCode(): boolean {
    const env = { PATH: process.env['PATH'] ?? '', XDG_CACHE_HOME: cache };
    const { status } = spawnSync(process.execPath, ['bin/tidemark.js', '--version'], { env, timeout: 60_000 });
    expect(status).toBe(0);
    const code = join(cache, 'tidemark', 'code');
    return existsSync(code) && readdirSync(code).length > 0;
  }

  it('the program keeps compiled code in folders that only its own user can write to', () => {
    expect(keepsCode()).toBe(true);
    for (const name of ['tidemark', 'tidemark/code']) expect(statSync(join(cache, name)).mode & 0o777).toBe(0o700);
  });

  it('the program keeps its code below a shared folder whose sticky bit protects it', () => {
    chmodSync(cache, 0o1777);
    expect(keepsCode()).toBe(true);
  });

  it.each([
    ['.', '777'],
    ['tidemark', '777'],
    ['tidemark', '770'],
    ['tidemark/code', '777'],
  ])('the program runs no code of a cache whose folder %s has the mode %s', (name, mode) => {
    mkdirSync(join(cache, 'tidemark', 'code'), { recursive: true, mode: 0o700 });
    chmodSync(join(cache, name), Number.parseInt(mode, 8));
    expect(keepsCode()).toBe(false);
  });

  it('the program runs no code of a cache whose folder is a link', () => {
    mkdirSync(join(cache, 'tidemark'), { mode: 0o700 });
    mkdirSync(join(cache, 'elsewhere'), { mode: 0o700 });
    symlinkSync(join(cache, 'elsewhere'), join(cache, 'tidemark', 'code'));
    expect(keepsCode()).toBe(false);
  });

  // Only root can give a folder away; CI and containers run the tests as root.
  const givenAway = process.getuid?.() === 0 ? ['.', 'tidemark', 'tidemark/code'] : [];
  it.each(givenAway)('the program runs no code of a cache whose folder %s belongs to another user', (name) => {
    mkdirSync(join(cache, 'tidemark', 'code'), { recursive: true, mode: 0o700 });
    chownSync(join(cache, name), 65_534, 65_534);
    expect(keepsCode()).toBe(false);
  });
});

describe("issue: `npx tidemark` ended with ESTRICTALLOWSCRIPTS where npm's strict-allow-scripts was on.", () => {
  // With strict-allow-scripts npm refuses to run our own program while this package has a script
  // that an install would run, whatever allowScripts says: `npx tidemark` of every page ended with
  // ESTRICTALLOWSCRIPTS. The script `dependencies` runs after an install too, and is none of these.
  it('npx runs tidemark in a checkout', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    // As at the first run on a machine: once it has worked, npm asks no more.
    const cache = mkdtempSync(join(tmpdir(), 'tidemark-npm-'));
    try {
      const env = { ...process.env, npm_config_cache: cache };
      expect(execFileSync('npx', ['tidemark', '--version'], { encoding: 'utf8', env, timeout: 60_000 }).trim()).toBe(
        version,
      );
    } finally {
      rmSync(cache, { recursive: true, force: true });
    }
  });
});

describe('issue: Ctrl-C ended the program at once, without the drain that one signal should begin.', () => {
  const entry = join(import.meta.dirname, '../../bin/tidemark.js');
  /**
   * Makes the process take itself for an older Node, so that it starts the Node 24 beside it,
   * whatever Node runs the tests.
   */
  const olderNode =
    "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.0.0'}})";

  /**
   * A sandbox behind the launcher, in a process group of its own, with a reader that never answers
   * its goodbye: its drain waits half a second for that.
   */
  async function launched() {
    const launcher = spawn(process.execPath, ['--import', olderNode, entry, 'sandbox', '--rate', '0', '--json'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const pid = launcher.pid ?? Number.NaN;
    const exited = once(launcher, 'exit').then(([code]) => code as number | null);
    onTestFinished(() => {
      if (launcher.exitCode === null && launcher.signalCode === null) process.kill(-pid, 'SIGKILL');
    });
    // The program has the other end as well.
    const allEnded = once(launcher.stdout, 'close');
    const [line] = (await once(createInterface(launcher.stdout), 'line')) as [string];
    const sandbox = JSON.parse(line) as SandboxDescription;
    const { hostname, port, pathname } = new URL(sandbox.stream);
    const { authorization } = await signedIn(sandbox);
    const reader = connect({ host: hostname, port: Number(port) });
    onTestFinished(() => void reader.destroy());
    reader.on('error', () => undefined);
    const received: Buffer[] = [];
    reader.on('data', (bytes) => received.push(bytes));
    const upgrade = `Host: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==`;
    reader.write(`GET ${pathname} HTTP/1.1\r\n${upgrade}\r\nAuthorization: ${authorization}\r\n\r\n`);
    await eventually(() => expect(String(Buffer.concat(received))).toMatch(/^HTTP\/1.1 101 [\s\S]*\r\n\r\n/));
    const before = received.length;
    /** Resolves with the goodbye: a close frame. */
    const drains = () =>
      eventually(() => expect(received.slice(before).some((bytes) => bytes.includes(0x88))).toBe(true));
    return { pid, exited, allEnded, drains };
  }

  describe('a signal behind the launcher', () => {
    it.each([
      ['SIGINT', 'as Ctrl-C sends it'],
      ['SIGTERM', 'as systemd sends it'],
    ] as const)(
      '%s to the whole group, %s, is one drain to its end, though the launcher passes it on',
      async (signal, _) => {
        const run = await launched();
        process.kill(run.pid, 'SIGSTOP');
        process.kill(-run.pid, signal);
        await run.drains();
        // Only now the launcher hears of it, and passes it on into the drain.
        process.kill(run.pid, 'SIGCONT');
        expect(await run.exited).toBe(0);
      },
    );

    it('that kills the launcher is a drain to its end, so that nothing goes on without one', async () => {
      const run = await launched();
      process.kill(run.pid, 'SIGKILL');
      await run.drains();
      await run.allEnded;
    });

    it('that kills the launcher in the middle of a drain does not cut the drain short', async () => {
      const run = await launched();
      process.kill(run.pid, 'SIGTERM');
      await run.drains();
      process.kill(run.pid, 'SIGKILL');
      await run.allEnded;
    });

    it('that kills the launcher before the program has begun ends the program, too', async () => {
      const launcher = spawn(process.execPath, ['--import', olderNode, entry, 'sandbox', '--rate', '0', '--json'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const ended = once(launcher.stdout.resume(), 'close');
      const children = `/proc/${launcher.pid}/task/${launcher.pid}/children`;
      await eventually(() => expect(readFileSync(children, 'utf8')).not.toBe(''));
      launcher.kill('SIGKILL');
      await ended;
    });

    it('to the launcher alone is one drain to its end', async () => {
      const run = await launched();
      process.kill(run.pid, 'SIGTERM');
      await run.drains();
      expect(await run.exited).toBe(0);
    });
  });
});

describe('issue: After a taken port came a drain of parts that had not begun, and its line was the last.', () => {
  it.each(['TIDEMARK_HTTP_PORT', 'TIDEMARK_ADMIN_PORT'])('with %s taken the last line says why', async (setting) => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const service = spawn(process.execPath, ['bin/tidemark.js', 'serve'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        ...{ PATH: process.env['PATH'], TIDEMARK_HTTP_PORT: '0', TIDEMARK_ADMIN_PORT: '0', [setting]: String(port) },
        ...{
          DATABASE_URL: 'postgres://127.0.0.1:1/x',
          KAFKA_BROKERS: '127.0.0.1:1',
          PLATFORM_URL: 'http://127.0.0.1:1',
        },
        ...{ PLATFORM_STREAM_URL: 'ws://127.0.0.1:1', PLATFORM_CLIENT_ID: 'x', PLATFORM_CLIENT_SECRET: 'x' },
      },
    });
    const lines: { level: string; msg: string }[] = [];
    createInterface(service.stdout).on('line', (line) => lines.push(JSON.parse(line)));
    const [code] = (await once(service, 'close')) as [number];
    expect(code).toBe(69);
    expect(lines.at(-1)).toMatchObject({
      level: 'error',
      msg: `ended: port ${port} of 127.0.0.1 is in use by another program, or another Tidemark`,
      err: { code: 'PORT_TAKEN', fix: expect.stringContaining(setting) },
    });
    expect(lines.filter(({ msg }) => msg.includes('drain'))).toEqual([]);
  });
});
