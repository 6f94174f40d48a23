#!/usr/bin/env -S node --max-semi-space-size=16
// The young generation would grow to 134 MB, and `serve` to 470 MB resident under a burst of 50,000 frames; so bounded it stays at 370 MB, no slower.
// Node refuses TypeScript below node_modules, so a checkout runs the sources and an installed package runs what `prepack` emitted.
// Started by a Node older than 24, this hands over to the Node 24 that npm installed beside us.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

if (Number(process.versions.node.split('.')[0]) >= 24) {
  const source = new URL('../src/main.ts', import.meta.url);
  await import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href);
} else {
  let node24;
  try {
    node24 = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);
  } catch {
    process.stderr.write(
      `tidemark needs Node 24 or newer; this is ${process.version}. On Linux \`npm ci\` brings one; elsewhere install it.\n`,
    );
    process.exit(78);
  }
  const child = spawn(node24, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  // The child must see the signals that the shell sends to us, or a drain would never begin.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
}
