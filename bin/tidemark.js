#!/usr/bin/env node
// Runs the program with Node 24: the sources in a checkout, their bundle in a package, since Node
// refuses TypeScript below node_modules.
import { existsSync } from 'node:fs';
import nodeModule from 'node:module';
import { codeFolder } from './code-folder.js';
import { environment, heapBeyondContainer, missingFlags } from './flags.js';
import { runByPackagedNode } from './packaged-node.js';

const missing = missingFlags();
if (Number(process.versions.node.split('.')[0]) < 24) runByPackagedNode(missing);
else {
  // The same process to everyone outside: no script, service file or image has to name the flags.
  // Windows has no execve: there V8 keeps its own sizes.
  if (missing.length > 0)
    process.execve?.(
      process.execPath,
      [process.execPath, ...missing, ...process.execArgv, ...process.argv.slice(1)],
      environment(missing),
    );
  const warning = heapBeyondContainer();
  if (warning !== undefined) process.stderr.write(warning);
  // What V8 made of our files, for the next start: it takes two thirds of the processor time then.
  const folder = codeFolder();
  if (folder !== undefined) nodeModule.enableCompileCache(folder);
  const source = new URL('../src/main.ts', import.meta.url);
  const isCheckout = existsSync(source);
  // Stack traces of the bundle name the lines of src/; `--version` alone needs none.
  if (!isCheckout && process.argv[2] !== '--version') nodeModule.setSourceMapsSupport(true, { nodeModules: true });
  await import(isCheckout ? source.href : new URL('../dist/tidemark.js', import.meta.url).href);
}
