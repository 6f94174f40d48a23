import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

function tidemark(args: string[], env: Record<string, string> = {}) {
  const run = spawnSync(process.execPath, ['bin/tidemark.js', ...args], {
    encoding: 'utf8',
    timeout: 30_000,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

describe('the process', () => {
  it('tells the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(tidemark(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('ends with 64 for a wrong call and 78 for a wrong setting', () => {
    expect(tidemark(['confg']).code).toBe(64);
    expect(tidemark(['config', 'print'], { TIDEMARK_WEIGHT: 'x' }).code).toBe(78);
  });

  it('reads settings from its environment and secrets from files', () => {
    const { out } = tidemark(['config', 'print', '--json'], {
      PLATFORM_CLIENT_SECRET_FILE: 'drizzle/older-builds.json',
    });
    expect(JSON.parse(out)).toMatchObject({ PLATFORM_CLIENT_SECRET: { value: '[redacted]', source: 'file' } });
  });

  it('writes all of a long output into a pipe before it ends', () => {
    expect(tidemark(['config', 'docs']).out).toBe(readFileSync('docs/configuration.md', 'utf8'));
  });

  it('starts where no folder can be made for what Node compiled, which Node itself never gets over below /proc', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    for (const env of [{ XDG_CACHE_HOME: '/proc/none/cache' }, { HOME: '/proc/none' }, { HOME: '/dev/null' }])
      expect(tidemark(['--version'], env)).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('starts the service anew with a small heap and one arena of malloc, unless its sizes were chosen', () => {
    const says =
      'data:text/javascript,process.execve=(_,args,env)=>{console.log(args[1],env.MALLOC_ARENA_MAX);process.exit()}';
    const outOf = (command: string, options = '') =>
      tidemark([command, '--help'], { NODE_OPTIONS: `--import=${says} ${options}` }).out;
    expect(outOf('serve')).toBe('--max-semi-space-size=8 1\n');
    expect(outOf('config')).toContain('Usage');
    expect(outOf('serve', '--max-semi-space-size=32')).toContain('Usage');
    // NODE_OPTIONS takes no `--cpu-prof`: the signals of its timer ended the process that began.
    const profiled = `data:text/javascript,process.execArgv.push('--cpu-prof')`;
    expect(outOf('serve', `--import=${profiled}`)).toContain('Usage');
  });

  it('keeps the heap of the service below the memory of its container, and warns of one that was chosen above it', () => {
    const start = (memoryMiB: number, options = '') => {
      const inContainer = `data:text/javascript,process.constrainedMemory=()=>${memoryMiB * 2 ** 20};process.execve=(_,args)=>{console.log(args[2]);process.exit()}`;
      return tidemark(['serve', '--help'], { NODE_OPTIONS: `--import=${inContainer} ${options}` });
    };
    expect(start(400).out).toBe('--max-old-space-size=266\n');
    expect(start(1536).out, 'as the manifests have it').toBe('--max-old-space-size=1024\n');
    expect(start(0).out, 'Node knows of no limit').toBe('--max-old-space-size=1024\n');
    expect(start(400, '--max-old-space-size=1024').err).toMatch(
      /the heap may grow to 1\d{3} MiB, and the container has 400 MiB/,
    );
    expect(start(400, '--max-old-space-size=200').err).toBe('');
  });

  it('ends quietly when the reader of its output has had enough', () => {
    const run = spawnSync('sh', ['-c', `"${process.execPath}" bin/tidemark.js config docs | head -c 10; exit 0`], {
      encoding: 'utf8',
    });
    expect(run.stdout).toHaveLength(10);
    expect(run.stderr).toBe('');
  });
});
