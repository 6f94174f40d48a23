import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { environment } from './flags.js';

/** Hands over to the Node 24 that npm installed beside us, and ends with it. */
export function runByPackagedNode(flags) {
  const node = packagedNode();
  // With the flags at once: a process that starts itself anew loses the channel.
  const child = spawn(node, [...flags, ...process.argv.slice(1)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: environment(flags),
  });
  // A signal to this process alone must reach the child, or a drain would never begin. One to the
  // whole group (Ctrl-C, systemd) reaches the child by itself: sent on as a signal it would be the
  // second there, which ends it at once. As a message it is known for what it is
  // (src/cli/signal-gate.ts).
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => {
      if (child.connected) child.send({ signal }, () => undefined);
    });
  child.on('error', (error) => {
    process.stderr.write(`tidemark could not start ${node}: ${error.message}\n`);
    process.exit(71);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function packagedNode() {
  try {
    return createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);
  } catch {
    process.stderr.write(
      `tidemark needs Node 24 or newer; this is ${process.version}. Install it: on Linux a checkout gets one by \`npm ci\`, and a package where it is not installed with --omit=optional.\n`,
    );
    process.exit(78);
  }
}
