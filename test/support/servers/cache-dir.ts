import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Where the devstack keeps what took long to fetch or build:
 * shared by all checkouts and runs of this user.
 */
export const cacheDir = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tidemark');
