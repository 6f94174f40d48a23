import { defineConfig } from 'vitest/config';

/** `npm run test:deep`: what takes too long for every run: on simulated time, and once on real parts. Its files end in `.deep.ts`, so that `npm test` leaves them out. */
export default defineConfig({
  test: {
    name: 'deep',
    include: ['test/deep/**/*.deep.ts'],
    globalSetup: ['test/support/global-setup-postgres.ts', 'test/support/global-setup-kafka.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // A bound against hanging, not a measure: nothing here fails because the machine is slow today.
    testTimeout: 1_200_000,
    teardownTimeout: 30_000,
  },
});
