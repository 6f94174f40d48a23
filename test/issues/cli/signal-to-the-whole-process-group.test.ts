// What a user saw: Ctrl-C ended the program at once, without the drain that one signal should begin.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

const entry = join(import.meta.dirname, '../../../bin/tidemark.js');
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
