import { defineConfig } from 'vitest/config';
import { temporaryFolder } from './test/support/servers/temporary-folder.ts';

// Before anything starts: servers, workers and the processes of the tests all get it from here.
process.env['TMPDIR'] = temporaryFolder();

// One project per suffix: the suffix says what a test needs, and so what has to be started for it.
const suffixes = {
  // Not a process for each file: starting 290 of them took a quarter of the time, and what these files share they put back themselves.
  unit: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.{property,pg,kafka,e2e,simulation}.test.ts'],
    isolate: false,
  },
  property: { include: ['test/**/*.property.test.ts'], isolate: false },
  simulation: { include: ['test/**/*.simulation.test.ts'] },
  // A file of these took 1.8 s of processor time in a process of its own, and takes 1.2 s without.
  pg: {
    include: ['test/**/*.pg.test.ts'],
    globalSetup: ['test/support/servers/global-setup-postgres.ts'],
    isolate: false,
  },
  kafka: {
    include: ['test/**/*.kafka.test.ts'],
    // As those of e2e: some start servers, and one has Maven fetch them first.
    testTimeout: 240_000,
    globalSetup: ['test/support/servers/global-setup-kafka.ts'],
    isolate: false,
  },
  e2e: {
    include: ['test/**/*.e2e.test.ts'],
    // Processes that start processes: on a machine that is busy otherwise, one start alone has taken a minute.
    testTimeout: 240_000,
    globalSetup: ['test/support/servers/global-setup-postgres.ts', 'test/support/servers/global-setup-kafka.ts'],
    isolate: false,
  },
};

export default defineConfig({
  test: {
    pool: 'forks',
    // Node's own import, as in production. Vite's way to each file took a sixth of the time of the tests in memory.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // One more than CI has cores: real parts are waited for, and two workers left a third of two cores idle.
    maxWorkers: 3,
    // A bound against hanging, not a measure: nothing here fails because the machine is slow today.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    teardownTimeout: 30_000,
    projects: Object.entries(suffixes).map(([name, options]) => ({ extends: true, test: { name, ...options } })),
  },
});
