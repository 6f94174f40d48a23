import { expect, it } from 'vitest';
import { checkEncryption } from '../../../src/cli/doctor/check-callers.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

function examine(env: Record<string, string>) {
  const loaded = loadConfig(env, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return checkEncryption(loaded.config);
}

it('the doctor warns of platform addresses that others on the way can read, by their names', () => {
  const env = {
    PLATFORM_URL: 'http://sandbox:4600',
    PLATFORM_STREAM_URL: 'ws://10.0.0.7/v1/stream',
    PLATFORM_AUTH_URL: 'https://auth',
  };
  expect(examine(env)).toMatchObject([
    {
      part: 'encryption',
      verdict: 'warn',
      detail: expect.stringMatching(/^PLATFORM_URL, PLATFORM_STREAM_URL: neither encrypted/),
    },
  ]);
});

it.each([
  {},
  { PLATFORM_URL: 'https://platform', PLATFORM_STREAM_URL: 'wss://platform/v1/stream' },
  { PLATFORM_URL: 'http://[::1]:4600' },
])('the doctor says nothing of addresses such as %j', (env) => {
  expect(examine(env)).toEqual([]);
});
