import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

/**
 * The runner resolves imports in a way of its own: it took a named import from a
 * CommonJS package that Node does not find there (`ConfigResourceTypes` of kafkajs), so
 * the tests passed and the program did not start.
 */
it('every module but the three main.ts loads in Node itself', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    // They begin at once: one is the program, the others pages in a browser.
    (file) => file.endsWith('.ts') && !['main.ts', 'console/main.ts', 'demo/console/main.ts'].includes(file),
  );
  const imports = files.map(
    (file) =>
      `import(${JSON.stringify(resolve('src', file))}).catch((error) => failed.push(${JSON.stringify(file)} + ': ' + error.message))`,
  );
  const script = `const failed = []; await Promise.all([${imports.join(',')}]); console.log(JSON.stringify(failed)); process.exit(0)`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-'], {
    input: script,
    encoding: 'utf8',
    timeout: 50_000,
  });
  expect(run.stderr).toBe('');
  expect(JSON.parse(run.stdout)).toEqual([]);
});
