import { existsSync } from 'node:fs';
import type { SandboxDescription } from '../src/sandbox/describe-sandbox.ts';
import { type Child, startChild } from './child.ts';
import type { Cleanup } from './cleanup.ts';

export interface SandboxLoad {
  /** Orders that the market keeps working, and that every change is drawn from. */
  readonly openOrders: number;
  /** Orders there at the start, the open ones included. */
  readonly knownOrders: number;
  /** That the client may see. Default: a few. */
  readonly accounts?: number;
}

/** The platform, in a process of its own: the load of every part that needs one. */
export interface SandboxProcess {
  readonly child: Child;
  readonly description: SandboxDescription;
  setRate(rate: number | 'max'): Promise<void>;
  /** Events written to a connection, over all connections. */
  eventsSent(): Promise<number>;
  stop(): Promise<void>;
}

const memoryFolder = '/dev/shm';

/** Starts it with the market at rest. */
export async function startSandboxProcess(cleanup: Cleanup, load: SandboxLoad): Promise<SandboxProcess> {
  const { openOrders, knownOrders } = load;
  const flags = ['--json', '--rate', '0', '--open-orders', `${openOrders}`, '--known-orders', `${knownOrders}`];
  if (load.accounts !== undefined) flags.push('--accounts', String(load.accounts));
  const child = await startChild(cleanup, {
    name: 'sandbox',
    script: 'bin/tidemark.js',
    args: ['sandbox', ...flags],
    // Its ledger is a record for tests: on the disk it would stand
    // between Postgres and each of its syncs.
    env: existsSync(memoryFolder) ? { TMPDIR: memoryFolder } : {},
  });
  const description = (await child.firstJson) as SandboxDescription;
  return {
    child,
    description,
    async setRate(rate) {
      const answer = await fetch(`${description.control}/rate`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ rate }),
      });
      if (!answer.ok) throw new Error(`the sandbox refused the rate: ${answer.status} ${await answer.text()}`);
    },
    async eventsSent() {
      const answer = await fetch(`${description.control}/status`);
      return ((await answer.json()) as { eventsSent: number }).eventsSent;
    },
    stop: () => child.stop(),
  };
}

/** Those that the service's client sees and may trade: everybody's but carol's. */
export function accountsOf({ description: { users } }: SandboxProcess) {
  return users.filter(({ username }) => username !== 'carol').flatMap(({ accounts }) => accounts);
}
