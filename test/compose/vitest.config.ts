import { defineConfig } from 'vitest/config';

/**
 * `npm run test:compose`: docker-compose.yml on a real engine. Its files end in `.compose.ts`, so
 * that `npm test` leaves them out; a whole `npm run test:deep` runs them beside its own.
 */
export default defineConfig({
  test: {
    name: 'compose',
    include: ['test/compose/**/*.compose.ts'],
    globalSetup: ['test/compose/global-setup.ts'],
    pool: 'forks',
    // One after the other: each has the whole of it running.
    fileParallelism: false,
    // Bounds against hanging, not measures: nothing here fails because the machine is slow today.
    testTimeout: 600_000,
    hookTimeout: 1_200_000,
    teardownTimeout: 400_000,
  },
});
