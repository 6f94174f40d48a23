import { describe, expect, it, onTestFinished } from 'vitest';
import { checkCallers } from '../../../src/cli/doctor/check-callers.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

async function examine(env: Record<string, string>) {
  const loaded = loadConfig(env, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const [callers, commands] = await checkCallers(loaded.config, { fetch, clock: systemClock });
  return { callers, commands };
}

async function issuer(status: number, body: unknown): Promise<Record<string, string>> {
  const server = await scriptedServer((_, response) => json(response, status, body));
  onTestFinished(() => server.close());
  return {
    TIDEMARK_AUTH_ISSUER: server.url,
    TIDEMARK_AUTH_AUDIENCE: 'tidemark',
    TIDEMARK_AUTH_JWKS_URL: `${server.url}/jwks`,
  };
}

describe('the doctor on callers', () => {
  it('warns where nobody signs in', async () => {
    expect((await examine({})).callers).toMatchObject({
      verdict: 'warn',
      fix: expect.stringContaining('tidemark token add'),
    });
  });

  it('is content with tokens of the database', async () => {
    expect((await examine({ TIDEMARK_AUTH_PRINCIPALS: 'on' })).callers).toMatchObject({ verdict: 'ok' });
  });

  it('reads the keys of JWTs as the service would', async () => {
    expect((await examine(await issuer(200, { keys: [{ kty: 'RSA' }] }))).callers).toMatchObject({
      verdict: 'ok',
      detail: expect.stringContaining('1 key is published'),
    });
  });

  it.each([
    ['an address that has none', 200, { keys: [] }, 'has no keys'],
    ['an address that answers something else', 200, 'hello', 'has no keys'],
    ['an answer that is no success', 404, {}, 'answered with 404'],
  ])('fails %s', async (_, status, body, detail) => {
    expect((await examine(await issuer(status, body))).callers).toMatchObject({
      verdict: 'fail',
      detail: expect.stringContaining(detail),
      fix: expect.stringContaining('TIDEMARK_AUTH_JWKS_URL'),
    });
  });

  it('fails keys that nobody answers for', async () => {
    const server = await scriptedServer((_, response) => json(response, 200, {}));
    await server.close();
    const env = {
      TIDEMARK_AUTH_ISSUER: server.url,
      TIDEMARK_AUTH_AUDIENCE: 'a',
      TIDEMARK_AUTH_JWKS_URL: `${server.url}/jwks`,
    };
    expect((await examine(env)).callers).toMatchObject({
      verdict: 'fail',
      detail: expect.stringContaining('connection refused'),
    });
  });
});

describe('the doctor on commands', () => {
  it.each<[string, Record<string, string>, string, string]>([
    ['off', {}, 'ok', 'are off'],
    ['on for simulated accounts', { TIDEMARK_COMMANDS: 'on' }, 'warn', 'simulated accounts alone'],
    [
      'on without an address for prediction orders',
      { TIDEMARK_COMMANDS: 'on', TIDEMARK_COMMAND_ACCOUNTS: 'A-1' },
      'warn',
      'prediction orders',
    ],
    [
      'on for named accounts',
      { TIDEMARK_COMMANDS: 'on', TIDEMARK_COMMAND_ACCOUNTS: 'A-1,A-2', PLATFORM_STAGING_URL: 'http://127.0.0.1:1' },
      'ok',
      'for 2 named accounts alone',
    ],
  ])('are %s', async (_, env, verdict, detail) => {
    expect((await examine(env)).commands).toMatchObject({ verdict, detail: expect.stringContaining(detail) });
  });
});
