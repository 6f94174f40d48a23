import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { run, succeeds } from './run.ts';

const forwarding = '/proc/sys/net/ipv4/ip_forward';
const bridge = ['ip', 'link', 'show', 'docker0'] as const;
const limitMs = 20_000;

/**
 * Containers of an engine that was killed with -9 keep their addresses on the bridge, and refuse
 * connections to the containers that get these addresses next. While another engine runs, they are
 * its own.
 */
export async function removeLeftAddresses(): Promise<void> {
  if (!(await succeeds(bridge, { limitMs })) || (await succeeds(['pgrep', '-x', 'dockerd'], { limitMs }))) return;
  const ports = await run(['ip', '-o', 'link', 'show', 'master', 'docker0'], { limitMs });
  for (const [, name = ''] of ports.matchAll(/^\d+: ([^@:]+)/gm))
    await run(['ip', 'link', 'delete', name], { limitMs });
}

/**
 * dockerd leaves its packet filter rules, its bridge and forwarding behind when it stops. Notes how
 * they are now, and resolves with what puts them back: rules that somebody else adds meanwhile are
 * lost with it. Where we are killed with -9 nothing is put back.
 */
export async function keepNetwork(): Promise<() => Promise<void>> {
  const rules = await run(['iptables-save'], { limitMs });
  const forwarded = readFileSync(forwarding, 'utf8');
  const hadBridge = await succeeds(bridge, { limitMs });
  return async () => {
    // An empty list names no table, and would leave all of them as they are.
    const tables = ['filter', 'nat'].filter((table) => !rules.includes(`*${table}\n`));
    for (const table of tables) {
      await run(['iptables', '-t', table, '-F'], { limitMs });
      await run(['iptables', '-t', table, '-X'], { limitMs });
    }
    if (tables.includes('filter')) await run(['iptables', '-P', 'FORWARD', 'ACCEPT'], { limitMs });
    const { status, stderr } = spawnSync('iptables-restore', { input: rules, encoding: 'utf8', timeout: limitMs });
    if (status !== 0) throw new Error(`iptables-restore: ${stderr}`);
    if (!hadBridge && (await succeeds(bridge, { limitMs })))
      await run(['ip', 'link', 'delete', 'docker0'], { limitMs });
    writeFileSync(forwarding, forwarded);
  };
}
