import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedProcess } from '../../src/demo/devstack/guarded-process.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { eventually } from '../support/runs/poll.ts';
import { ensureProgram } from '../support/servers/debian-package.ts';
import type { Engine } from './engine.ts';
import { keepNetwork, removeLeftAddresses } from './keep-network.ts';
import { run, say } from './run.ts';

/**
 * A Docker engine of this test alone: data and socket are in a folder that goes with it, also when
 * the test is killed, and the usual socket stays free, so that nobody else takes it for the
 * machine's. Its network is the machine's: see `keepNetwork`.
 */
export async function startOwnEngine(): Promise<Engine> {
  ensureProgram('ip', 'iproute2');
  // `docker top` asks it.
  ensureProgram('ps', 'procps');
  await removeLeftAddresses();
  const restoreNetwork = await keepNetwork();
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-engine-'));
  const host = `unix://${join(folder, 'sock')}`;
  const lines: string[] = [];
  const started = systemClock.monotonicMs();
  const engine = await GuardedProcess.start(
    { clock: systemClock },
    {
      command: [
        'dockerd',
        `--host=${host}`,
        `--data-root=${join(folder, 'data')}`,
        `--exec-root=${join(folder, 'exec')}`,
        `--pidfile=${join(folder, 'pid')}`,
      ],
      name: 'dockerd',
      folder,
      stopSignal: 'TERM',
      // Its folder is removed within this time as well: for tens of thousands of small files 70 s
      // were too few on a busy disk.
      patienceMs: 300_000,
      onLine: (line) => {
        lines.push(line);
        if (lines.length > 20) lines.shift();
      },
    },
  );
  let ended = false;
  void engine.exited.then(() => {
    ended = true;
  });
  const stop = async () => {
    await engine.stop();
    await restoreNetwork();
  };
  try {
    await eventually(() => run(['docker', '--host', host, 'info'], { limitMs: 10_000 }), {
      ...{ deadlineMs: 60_000, everyMs: 250 },
      giveUp: () => ended,
    });
  } catch {
    await stop();
    throw new Error(
      `no Docker engine answers, and dockerd does not start on this machine (it takes more than a container without privileges has): ` +
        `start an engine.\n${lines.join('\n')}`,
    );
  }
  say(`engine: dockerd of our own, ${host}, after ${Math.round((systemClock.monotonicMs() - started) / 100) / 10} s`);
  return { host, own: true, stop };
}
