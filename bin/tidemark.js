#!/usr/bin/env node
// Node refuses TypeScript below node_modules, so a checkout runs the sources and an installed
// package runs what `prepack` emitted. Started by a Node older than 24, this hands over to the Node
// 24 that npm installed beside us.
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { constants, homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// V8 sizes its heap by the machine: with 24 GB the young generation grows to 134 MB, and its pauses
// with it. V8 keeps the old generation tight, at 1.5 times what lives in it: 45 MB live meant a
// whole collection every 0.6 s, whose helper threads took the processor from Postgres, and every
// commit beside one waited. With twice what lives in it and a young generation of 8 MB the service
// takes 265 MB at 5,000 updates a second; with three times and 16 MB it took 340, and was no
// faster. Only `serve`: a sandbox with millions of orders needs more.
const serviceHeap = ['--max-semi-space-size=8', '--max-old-space-size=1024', '--heap-growing-percent=100'];
const heapOptions = /--(max|min|initial)[-_](semi|old|heap)|--heap[-_]growing/;

// glibc gives each thread a heap of its own, and keeps the memory of large buffers once some were
// freed: 16 to 57 MB at full load that nothing uses. Read by the allocator before Node begins, so
// it has to be in the environment.
const tightMalloc = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' };

/** The options that are missing: none where somebody chose sizes of their own. */
function missingHeapOptions() {
  const chosen = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((option) => heapOptions.test(option));
  return process.argv[2] !== 'serve' || chosen ? [] : serviceHeap;
}

function serviceEnv(missing) {
  return missing.length === 0 ? process.env : { ...tightMalloc, ...process.env };
}

/**
 * Starts this process anew with those options, the same process to everyone outside: no script,
 * service file or image has to name them.
 */
function boundHeap() {
  const missing = missingHeapOptions();
  // Not there on Windows: then V8 keeps its own sizes.
  if (missing.length === 0 || process.execve === undefined) return;
  const options = [...missing, ...process.execArgv];
  process.execve(process.execPath, [process.execPath, ...options, ...process.argv.slice(1)], serviceEnv(missing));
}

/**
 * Keeps what V8 and Node made of our 1,400 files for the next start, which then takes two
 * thirds of the processor time. In a folder of the user's own: Node's own choice is one
 * that everybody may write to. Where none can be made (a read-only image), or another
 * user could put code there, it goes without.
 */
function keepCompiled() {
  let folder;
  try {
    folder = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
    // One by one: with `recursive`, and in Node's own hands, this never ends where a parent can't
    // be made and says that it is not there (/proc).
    for (const name of ['.', 'tidemark', 'code']) {
      folder = join(folder, name);
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      if (!isOurs(folder, name === '.')) return;
    }
  } catch {
    return;
  }
  nodeModule.enableCompileCache(folder);
}

/**
 * Says of which kind the modules of drizzle-orm are, since Node parses the `exports` of
 * a package.json again for each `.js` file of its package: 176 kB for each of 106
 * files, a quarter of the processor time of a start. They import each other by whole
 * relative names, so nothing is left to resolve.
 */
function knowDrizzleModules() {
  nodeModule.registerHooks({
    resolve(specifier, context, next) {
      const isOfDrizzle =
        /^\.\.?\/.*\.js$/.test(specifier) && context.parentURL?.includes('/node_modules/drizzle-orm/');
      if (!isOfDrizzle) return next(specifier, context);
      return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
    },
  });
}

/**
 * Whether no user but this one (and root) can write to the folder: what lies there is run. `sudo`
 * that keeps HOME would else run, as root, what a user put there. The parent may be everybody's
 * where its sticky bit keeps ours from being moved away, and may be reached by a link.
 */
function isOurs(folder, isParent) {
  const { uid, mode } = isParent ? statSync(folder) : lstatSync(folder);
  const me = process.getuid?.();
  // Windows has neither: its profile folders are the user's own.
  if (me === undefined) return true;
  const closed = (mode & 0o022) === 0;
  if (isParent) return (uid === me || uid === 0) && (closed || (mode & 0o1000) !== 0);
  return (mode & 0o170000) === 0o040000 && uid === me && closed;
}

if (Number(process.versions.node.split('.')[0]) >= 24) {
  boundHeap();
  keepCompiled();
  knowDrizzleModules();
  const source = new URL('../src/main.ts', import.meta.url);
  await import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href);
} else {
  let node24;
  try {
    node24 = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);
  } catch {
    process.stderr.write(
      `tidemark needs Node 24 or newer; this is ${process.version}. Install it: on Linux a checkout gets one by \`npm ci\`, and a package where it is not installed with --omit=optional.\n`,
    );
    process.exit(78);
  }
  // With the options at once: a process that starts itself anew loses the channel.
  const missing = missingHeapOptions();
  const args = [...missing, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(node24, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env: serviceEnv(missing) });
  // A signal to this process alone must reach the child, or a drain would never begin. One to the
  // whole group (Ctrl-C, systemd) reaches the child by itself: sent on as a signal it would be the
  // second there, which ends it at once. As a message it is known for what it is
  // (src/cli/signal-gate.ts).
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => {
      if (child.connected) child.send({ signal }, () => undefined);
    });
  child.on('error', (error) => {
    process.stderr.write(`tidemark could not start ${node24}: ${error.message}\n`);
    process.exit(71);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
