import { defineConfig } from 'vitest/config';
import { temporaryFolder } from '../support/servers/temporary-folder.ts';

process.env['TMPDIR'] = temporaryFolder();

/**
 * `npm run test:deep`: what takes too long for every commit. Thousands of seeds on
 * simulated time; on real parts whole processes that are killed, frozen or cut off, bad
 * input on whole streams, and the long ways through the console. Its files end in
 * `.deep.ts`, so that `npm test` leaves them out.
 */
export default defineConfig({
  test: {
    name: 'deep',
    include: ['test/deep/**/*.deep.ts'],
    globalSetup: ['test/support/servers/global-setup-postgres.ts', 'test/support/servers/global-setup-kafka.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Bounds against hanging, not measures: nothing here fails because the machine is slow today.
    testTimeout: 1_200_000,
    // Helm is built with Go before its first test: five minutes beside other work.
    hookTimeout: 1_200_000,
    expect: { poll: { timeout: 60_000 } },
    teardownTimeout: 30_000,
  },
});
