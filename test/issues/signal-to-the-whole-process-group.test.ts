import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/poll.ts';

const entry = join(import.meta.dirname, '../../bin/tidemark.js');
/** Makes the process take itself for an older Node, so that it starts the Node 24 beside it, whatever Node runs the tests. */
const olderNode = "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.0.0'}})";

/** A sandbox behind the launcher, in a process group of its own, whose drain lasts until `release`. */
async function launched() {
  const launcher = spawn(process.execPath, ['--import', olderNode, entry, 'sandbox', '--rate', '0', '--json'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const group = -(launcher.pid ?? Number.NaN);
  const exited = once(launcher, 'exit').then(([code]) => code as number | null);
  onTestFinished(() => {
    if (launcher.exitCode === null) process.kill(group, 'SIGKILL');
  });
  const [line] = (await once(createInterface(launcher.stdout), 'line')) as [string];
  const { hostname, port } = new URL((JSON.parse(line) as { control: string }).control);
  const dial = () => connect({ host: hostname, port: Number(port) });
  // The server can't close before the body of this request has come; it says that it waits for one.
  const request = dial();
  request.on('error', () => undefined);
  request.write(
    'POST /heal HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n',
  );
  expect(String((await once(request, 'data'))[0])).toMatch(/^HTTP\/1.1 100 /);
  const drains = () =>
    eventually(async () => {
      const probe = dial();
      const how = await new Promise((resolve) => {
        probe.once('connect', () => resolve('accepted')).once('error', () => resolve('refused'));
      });
      probe.destroy();
      expect(how).toBe('refused');
    });
  return { launcher: launcher.pid ?? Number.NaN, group, exited, drains, release: () => request.destroy() };
}

/** The process has run its handlers of every signal that it was sent, and sleeps. The launcher is there on Linux alone. */
const atRest = (pid: number) =>
  eventually(() => expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^State:\tS[\s\S]*^ShdPnd:\t0+$/m));

describe('a signal behind the launcher', () => {
  it.each([
    ['SIGINT', 'as Ctrl-C sends it'],
    ['SIGTERM', 'as systemd sends it'],
  ] as const)('%s to the whole group, %s, is one drain to its end, however late the launcher passes it on', async (signal, _) => {
    const run = await launched();
    process.kill(run.launcher, 'SIGSTOP');
    process.kill(run.group, signal);
    await run.drains();
    process.kill(run.launcher, 'SIGCONT');
    await atRest(run.launcher);
    run.release();
    expect(await run.exited).toBe(0);
  });

  it('to the launcher alone is one drain to its end', async () => {
    const run = await launched();
    process.kill(run.launcher, 'SIGTERM');
    await run.drains();
    run.release();
    expect(await run.exited).toBe(0);
  });

  it.each(['group', 'launcher'] as const)('that is really the second one to the %s ends the drain at once', async (to) => {
    const run = await launched();
    process.kill(run[to], 'SIGINT');
    await run.drains();
    process.kill(run[to], 'SIGINT');
    expect(await run.exited).toBe(130);
  });
});
