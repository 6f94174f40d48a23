// What a user saw: The platform refused our client id, since a file for Docker had quotation marks around it.

import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';

const noFile = (): string => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};
const problem = 'has quotation marks around its value: leave them out, they are a part of it here';

it.each([
  ['PLATFORM_CLIENT_ID', '"client"'],
  ['PLATFORM_CLIENT_SECRET', "'hush'"],
  ['PLATFORM_ACCOUNTS', '"A-1,A-2"'],
  ['PLATFORM_URL', ' "https://platform.example" '],
  ['DATABASE_URL', '"postgres://u:p@h/db"'],
  ['TIDEMARK_HTTP_PORT', '"8080"'],
  ['KAFKA_BROKERS', '""'],
])('%s=%s names the marks', (name, value) => {
  const result = loadConfig({ [name]: value }, noFile);
  expect(result.ok ? [] : result.faults).toEqual([{ name, problem }]);
});

it('a mark within a value is part of it, and so are those of a secret in a file', () => {
  const one = loadConfig({ PLATFORM_CLIENT_ID: 'a"b"' }, noFile);
  expect(one.ok && one.config.platformClientId).toBe('a"b"');
  const two = loadConfig({ PLATFORM_CLIENT_SECRET_FILE: '/run/secret' }, () => '"hush"\n');
  expect(two.ok && two.config.platformClientSecret?.reveal()).toBe('"hush"');
});
