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
import { connect } from 'node:net';
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
      if (launcher.exitCode === null) process.kill(-pid, 'SIGKILL');
    });
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
    return { pid, exited, drains };
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

    it('to the launcher alone is one drain to its end', async () => {
      const run = await launched();
      process.kill(run.pid, 'SIGTERM');
      await run.drains();
      expect(await run.exited).toBe(0);
    });
  });
});
