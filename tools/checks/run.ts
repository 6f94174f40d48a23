import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensurePackages } from '../packages.ts';

// One of the programs of tools/checks, in the project's folder:
// node tools/checks/run.ts biome check .
const [name = '', ...args] = process.argv.slice(2);
ensurePackages(import.meta.dirname);
const { status, error } = spawnSync(join(import.meta.dirname, 'node_modules/.bin', name), args, { stdio: 'inherit' });
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
