import { describe, expect, it } from 'vitest';
import { configDocs } from '../../src/cli/config.ts';
import { runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../support/rest/cli-io.ts';

async function run(argv: string[], env: Record<string, string> = {}) {
  const io = cliIo(env);
  await runProgram(io, ['config', ...argv]);
  return { code: io.code(), out: io.out(), err: io.err() };
}

describe('config print', () => {
  it('shows every setting with its value and where that came from', async () => {
    const { code, out } = await run(['print'], { TIDEMARK_ADMIN_PORT: '9000' });
    expect(code).toBe(0);
    expect(out).toMatch(/^TIDEMARK_ADMIN_PORT +9000 +environment$/m);
    expect(out).toMatch(/^TIDEMARK_LOG_LEVEL +info +default$/m);
    expect(out).toMatch(/^PLATFORM_URL +- +unset$/m);
  });

  it('masks secrets, as a table and as JSON', async () => {
    const env = { DATABASE_URL: 'postgres://app:hunter2@db/tidemark', PLATFORM_CLIENT_SECRET: 'hunter2' };
    const table = await run(['print'], env);
    const json = await run(['print', '--json'], env);
    expect(table.out + json.out).not.toContain('hunter2');
    expect(JSON.parse(json.out)).toMatchObject({
      DATABASE_URL: { value: 'postgres://app:[redacted]@db/tidemark', source: 'environment' },
      PLATFORM_CLIENT_SECRET: { value: '[redacted]', source: 'environment' },
      PLATFORM_URL: { value: null, source: 'unset' },
    });
  });

  it('ends with 78 and one line for each fault', async () => {
    const { code, out, err } = await run(['print'], { TIDEMARK_ADMIN_PORT: '70000', TIDEMARK_WEIGHT: '-1' });
    expect(code).toBe(78);
    expect(out).toBe('');
    expect(err.split('\n')).toEqual([
      'tidemark: the configuration has 2 faults',
      '  TIDEMARK_ADMIN_PORT must be from 0 to 65535; it is 70000',
      '  TIDEMARK_WEIGHT must be a whole number, digits only; "-1" is not one',
      '',
    ]);
  });

  it('warns on stderr about names that nobody reads', async () => {
    const { code, err } = await run(['print'], { TIDEMARK_FROM_TOMORROW: '1' });
    expect(code).toBe(0);
    expect(err).toBe('tidemark: warning: TIDEMARK_FROM_TOMORROW is not an option and has no effect\n');
  });
});

it('config docs prints the page of all settings', async () => {
  expect(await run(['docs'])).toEqual({ code: 0, out: configDocs(), err: '' });
});
