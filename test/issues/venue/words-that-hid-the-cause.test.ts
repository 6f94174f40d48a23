// What a user saw: A wrong setting gave an error message that named neither the setting nor its value.

import { describe, expect, it, onTestFinished } from 'vitest';
import { databaseFix, databaseTrouble } from '../../../src/cli/with-database.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { exchangeToken } from '../../../src/venue/platform/exchange-token.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const missing = (): never => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};

function said(env: Record<string, string>): string[] {
  const loaded = loadConfig(env, missing);
  return [...(loaded.ok ? [] : loaded.faults.map(({ name, problem }) => `${name} ${problem}`)), ...loaded.warnings];
}

describe('a setting that is wrong', () => {
  it.each<[string, Record<string, string>, RegExp[]]>([
    [
      'a file that is not there',
      { DATABASE_URL_FILE: '/run/secrets/databse-url' },
      [/, \/run\/secrets\/databse-url: there is no such file/],
    ],
    [
      'an sslmode that there is not',
      { DATABASE_URL: 'postgres://db/t?sslmode=verifyfull' },
      [/"verifyfull".*verify-full/],
    ],
    [
      'a name with one letter less',
      { PLATFORM_STAGIN_URL: 'https://s' },
      [/^PLATFORM_STAGIN_URL .*PLATFORM_STAGING_URL\?$/],
    ],
    [
      'the same beside the right one',
      { PLATFORM_STAGIN_URL: 'https://s', PLATFORM_STAGING_URL: 'https://s' },
      [/^PLATFORM_STAGIN_URL is not an option and has no effect; did you mean PLATFORM_STAGING_URL\?$/],
    ],
    ['the name of another family', { KAFKA_TOPIC_PREFIX: 'desk' }, [/^KAFKA_TOPIC_PREFIX .*TIDEMARK_TOPIC_PREFIX\?$/]],
    [
      'a name of another family for a pool',
      { DATABASE_POOL_SIZE: '5' },
      [/^DATABASE_POOL_SIZE .*TIDEMARK_DATABASE_POOL_SIZE\?$/],
    ],
    [
      'names of other programs',
      { KAFKA_HEAP_OPTS: '-Xmx1g', KAFKA_LOG_DIRS: '/k', DATABASE_HOST: 'db', PLATFORM_NAME: 'x' },
      [],
    ],
  ])('%s', (_name, env, expected) => {
    const lines = said(env);
    expect(lines).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(lines[index]).toMatch(pattern);
  });

  it.each(['hunter2', `/${'q'.repeat(43)}`, 'postgres://u:p@db/t', '-----BEGIN KEY-----'])(
    'is not shown where it may be a secret: %s',
    (value) => {
      expect(said({ TIDEMARK_ENCRYPTION_KEY_FILE: value }).join()).not.toContain(value);
    },
  );
});

describe('a token that does not come', () => {
  async function refused(status: number, body: object | string): Promise<{ url: string; message: string }> {
    const server = await scriptedServer((_request, response) =>
      typeof body === 'string'
        ? void response.writeHead(status, { 'content-type': 'text/html' }).end(body)
        : json(response, status, body),
    );
    const http = new UndiciHttp({ clock: systemClock });
    onTestFinished(async () => {
      await http.close();
      await server.close();
    });
    const credential = { clientId: 'client', clientSecret: new Secret('hush') };
    const result = await exchangeToken({ http, clock: systemClock }, `${server.url}/api`, credential, {
      kind: 'client_credentials',
    });
    if (result.ok) throw new Error('a token came');
    return { url: server.url, message: result.error.message };
  }

  it('names the field that an answer lacks', async () => {
    const { url, message } = await refused(200, {});
    expect(message).toContain(`${url}/api/v1/oauth2/token answers 200, and not as a token endpoint does: `);
    expect(message).toContain('access_token');
  });

  it.each<[number, object | string]>([
    [404, '<html>'],
    [502, ''],
    [404, { detail: 'nothing here' }],
  ])('is the address and what it answers (%s)', async (status, body) => {
    const { url, message } = await refused(status, body);
    expect(message).toBe(`${url}/api/v1/oauth2/token answers ${status}, and not as a token endpoint does`);
  });

  it('says what a word of the standard means, and keeps it', async () => {
    const { message } = await refused(401, { error: 'invalid_client', error_description: 'no such client' });
    expect(message).toBe(
      'the platform does not know the client id, or its secret is another one (invalid_client: no such client)',
    );
  });
});

it('a database without TLS is one that answers', () => {
  const error = new Error('The server does not support SSL connections');
  expect(databaseTrouble(error)).toMatch(/^answers, and has no TLS, which sslmode in DATABASE_URL asks for/);
  expect(databaseFix(error)).toMatch(/ssl = on/);
  expect(databaseTrouble(new Error('timeout expired'))).toMatch(/^does not answer/);
});
