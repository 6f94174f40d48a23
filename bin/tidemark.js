#!/usr/bin/env node
// Node refuses TypeScript below node_modules, so a checkout runs the sources and an installed package runs what `prepack` emitted.
// Started by a Node older than 24, this hands over to the Node 24 that npm installed beside us.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

// V8 sizes its heap by the machine: with 24 GB the young generation grows to 134 MB, and the old one to four times what lives in it. The service then takes
// 590 MB resident under full load; with these 400 to 500 MB, and with pauses half as long. Only `serve`: a sandbox with millions of orders needs more.
const serviceHeap = ['--max-semi-space-size=16', '--max-old-space-size=1024'];
const heapOptions = /--(max|min|initial)[-_](semi|old|heap)/;

/** Starts this process anew with those options, the same process to everyone outside: no script, service file or image has to name them. */
function boundHeap() {
  const chosen = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((option) => heapOptions.test(option));
  // Not there on Windows: then V8 keeps its own sizes.
  if (process.argv[2] !== 'serve' || chosen || process.execve === undefined) return;
  const options = [...serviceHeap, ...process.execArgv];
  process.execve(process.execPath, [process.execPath, ...options, ...process.argv.slice(1)], process.env);
}

if (Number(process.versions.node.split('.')[0]) >= 24) {
  boundHeap();
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
  const child = spawn(node24, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  // The child must see the signals that the shell sends to us, or a drain would never begin.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
}
