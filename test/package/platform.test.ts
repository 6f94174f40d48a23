import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runningSandbox } from '../support/platform/sandbox.ts';
import { unpackPackage } from './unpack-package.ts';

/**
 * What `npm install --omit=dev --omit=optional` puts there, and nothing else: a package that only
 * this checkout has must be missed.
 */
function linkDependencies(home: string): void {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  for (const [path, { dev, optional, devOptional }] of Object.entries<Record<string, boolean>>(packages)) {
    if (dev || optional || devOptional || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue;
    mkdirSync(dirname(join(home, path)), { recursive: true });
    symlinkSync(resolve(path), join(home, path));
  }
}

describe('the packed package with its production dependencies', () => {
  let stranger: string;
  let home: string;
  let program: string;

  // As `prepack` builds it, but beside this checkout instead of in it.
  beforeAll(() => {
    const unpacked = unpackPackage();
    stranger = unpacked.folder;
    home = unpacked.home;
    program = join(home, 'bin/tidemark.js');
    const build = ['tools/package/build.ts', join(home, 'dist')];
    const { status, stderr } = spawnSync(process.execPath, build, { encoding: 'utf8', timeout: 180_000 });
    expect([status, stderr]).toEqual([0, '']);
    linkDependencies(home);
    copyFileSync('docs/consumers/market-data.ts', join(stranger, 'market-data.ts'));
  }, 240_000);
  afterAll(() => rmSync(stranger, { recursive: true, force: true }));

  async function run(...words: string[]) {
    const { description } = await runningSandbox();
    const { platform, clientId, clientSecret, apiKey } = description;
    const settings = {
      PLATFORM_URL: platform,
      PLATFORM_CLIENT_ID: clientId,
      PLATFORM_CLIENT_SECRET: clientSecret,
      API_KEY: apiKey,
    };
    const program = spawn(process.execPath, ['market-data.ts', ...words], {
      cwd: stranger,
      env: { ...process.env, ...settings, NODE_NO_WARNINGS: '1' },
    });
    const [out, err, [code]] = await Promise.all([text(program.stdout), text(program.stderr), once(program, 'close')]);
    return { code, lines: out.split('\n').slice(0, -1), err };
  }

  it.each(['serve', 'migrate', 'doctor', 'verify', 'sandbox'])('loads all that `tidemark %s` needs', (command) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, command, '--help'], {
      cwd: stranger,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`Usage: tidemark ${command}`);
  });

  it('names files of src/ in a stack trace', () => {
    const env = { ...process.env, TIDEMARK_LOG_LEVEL: 'debug', TIDEMARK_WEIGHT: 'x' };
    const { stderr } = spawnSync(process.execPath, [program, 'config', 'print'], { env, encoding: 'utf8' });
    expect(stderr).toMatch(/at .*\/src\/cli\/[\w/-]+\.ts:\d+:\d+/);
    expect(stderr).not.toMatch(/dist\/[\w-]+\.js/);
  });

  it('brings the console made, with nothing that a developer alone has', async () => {
    const { filesIn, buildSite } = await import('../../src/service/rest/console/build-site.ts');
    const files = await filesIn(join(home, 'dist/console'));
    const { page } = await buildSite({ files, runbooks: new Map() });
    expect(page).toMatch(/src="\/console\/app\/main-\w{8}\.js"/);
    expect(existsSync(join(home, 'dist/bundle-worker.js'))).toBe(false);
  });

  it('runs the example of docs/platform-client.md against the sandbox', async () => {
    const price = expect.stringMatching(/^BRK\.B: \d+(\.\d+)? \/ \d+(\.\d+)?$/);
    expect(await run('berkshire')).toEqual({
      code: 0,
      lines: ['BRK.B: Berkshire Hathaway Inc. Class B', price, 'theme: "dark"'],
      err: '',
    });
  });

  it('ends the example with the reason when the platform refuses', async () => {
    const { code, err } = await run('');
    expect(code).toBe(1);
    expect(err).toMatch(/the platform did not answer \(400, /);
  });
});
