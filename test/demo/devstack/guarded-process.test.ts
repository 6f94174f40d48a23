import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GuardedProcess, type GuardedProcessOptions } from '../../../src/demo/devstack/guarded-process.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { eventually } from '../../support/runs/poll.ts';
import { forgetHeld, holdDevstack } from '../../support/servers/held-devstack.ts';
import { commandLinesWith, lives } from '../../support/servers/processes.ts';

describe('a guarded process', () => {
  let folder: string;
  let lines: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-guarded-'));
    lines = [];
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function start(script: string, options: Partial<GuardedProcessOptions> = {}): Promise<GuardedProcess> {
    return GuardedProcess.start(
      { clock: systemClock },
      {
        ...{
          name: 'test server',
          folder,
          stopSignal: 'TERM',
          patienceMs: 5_000,
          onLine: (line: string) => lines.push(line),
        },
        ...{ command: ['sh', '-c', script] as const, ...options },
      },
    );
  }

  it('is told by its own process id, and passes its output on', async () => {
    const server = await start('echo $$; echo trouble >&2; exec sleep 1000');
    await eventually(() => expect(lines.toSorted()).toEqual([String(server.pid), 'trouble']));
    await server.stop();
  });

  it('stops with its folder', async () => {
    const server = await start('exec sleep 1000');
    writeFileSync(join(folder, 'data'), 'x');
    await server.stop();
    expect([lives(server.pid), existsSync(folder)]).toEqual([false, false]);
    await server.stop();
  });

  it('can leave its folder to the next one', async () => {
    const server = await start('exec sleep 1000');
    writeFileSync(join(folder, 'data'), 'x');
    await server.stop({ keepFolder: true });
    expect([lives(server.pid), readdirSync(folder)]).toEqual([false, ['data']]);
  });

  it('tells how the server ended, and keeps the folder until it is stopped', async () => {
    const server = await start('exit 7');
    expect(await server.exited).toBe(7);
    expect(existsSync(folder)).toBe(true);
    await server.stop();
    expect(existsSync(folder)).toBe(false);
  });

  it('has read the last words of a server when it has ended, and keeps the sentences of them', async () => {
    const server = await start(
      'echo "{}"; echo first; head -c 200000 /dev/zero | tr "\\0" "\\n"; echo last >&2; exit 7',
    );
    await server.exited;
    expect(lines.length).toBeGreaterThan(200_000);
    const fault = server.fault('ended');
    expect([fault.message, fault.exitCode]).toEqual(['test server ended', 69]);
    expect(fault.fix).toMatch(/^It said at last:\n[^{]*last/);
    await server.stop();
  });

  it('does not wait for the output of what a server leaves behind', async () => {
    const server = await start('sleep 1000 & echo $!; exit 7');
    expect(await server.exited).toBe(7);
    process.kill(Number(lines[0]), 'SIGKILL');
    await server.stop();
  });

  it('tells of a server that was killed', async () => {
    const server = await start('exec sleep 1000');
    process.kill(server.pid, 'SIGKILL');
    expect(await server.exited).toBe(128 + 9);
    await server.stop();
  });

  it('kills a server that does not heed the signal', async () => {
    const server = await start("trap '' TERM; echo deaf; while :; do sleep 1; done", { patienceMs: 200 });
    await eventually(() => expect(lines).toEqual(['deaf']));
    await server.stop();
    expect(await server.exited).toBe(128 + 9);
  });

  it('fails to start where there is no such program', async () => {
    const server = await start('', { command: ['/no/such/program'] });
    expect(await server.exited).toBe(127);
    await server.stop();
  });

  it('leaves no process and no folder when its parent is killed with -9, ten times of ten', async () => {
    for (let time = 1; time <= 10; time += 1) {
      const held = await holdDevstack('sleep', folder);
      held.process.kill('SIGKILL');
      await eventually(() => expect([held.pids.filter(lives), readdirSync(held.folder)]).toEqual([[], []]));
      await eventually(() => expect(commandLinesWith(held.folder)).toEqual([]));
      forgetHeld(held);
    }
  });

  it('leaves nothing either when its parent exits by itself without stopping it', async () => {
    const held = await holdDevstack('sleep', folder);
    held.process.kill('SIGTERM');
    await eventually(() => expect([held.pids.filter(lives), readdirSync(held.folder)]).toEqual([[], []]));
    forgetHeld(held);
  });
});
