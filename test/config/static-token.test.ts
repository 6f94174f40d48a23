import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { parseStaticTokens } from '../../src/config/option.ts';

const [one, two] = ['a'.repeat(64), '0123456789ABCDEF'.repeat(4)] as const;

describe('static tokens', () => {
  it('have a name, a hash, scopes and accounts; several stand on lines or beside each other', () => {
    const text = `risk:${one}:orders:read:*\n\n  desk.7:${two}:orders:read,orders:write:ACC-1,ACC:2;`;
    expect(parseStaticTokens(text)).toEqual([
      { name: 'risk', sha256: one, scopes: ['orders:read'], accounts: 'all' },
      {
        name: 'desk.7',
        sha256: two.toLowerCase(),
        scopes: ['orders:read', 'orders:write'],
        accounts: ['ACC-1', 'ACC:2'],
      },
    ]);
  });

  it.each([
    ['a scope that there is not', `risk:${one}:orders:delete:*`],
    ['no scope', `risk:${one}::*`],
    ['no account', `risk:${one}:orders:read:`],
    ['a short hash', `risk:${one.slice(1)}:orders:read:*`],
    ['no name', `:${one}:orders:read:*`],
    ['the name of whoever calls without sign-in', `loopback:${one}:orders:read:*`],
    ['a day that there is not', `risk@2027-13-31:${one}:orders:read:*`],
    ['an asterisk among accounts', `risk:${one}:orders:read:*,ACC-1`],
  ])('%s is refused, by its place in the list', (_name, text) => {
    expect(parseStaticTokens(`first:${two}:ops:read:*\n${text}`)).toEqual({ wrong: 2, count: 2 });
  });

  it('may share a name, with rights of their own: one caller has the old and the new one while it changes over', () => {
    expect(parseStaticTokens(`risk:${one}:orders:read:* risk:${two}:ops:read:ACC-1`)).toEqual([
      { name: 'risk', sha256: one, scopes: ['orders:read'], accounts: 'all' },
      { name: 'risk', sha256: two.toLowerCase(), scopes: ['ops:read'], accounts: ['ACC-1'] },
    ]);
  });

  it('may end with a day, in UTC', () => {
    expect(parseStaticTokens(`risk@2027-01-31:${one}:orders:read:*`)).toEqual([
      { name: 'risk', sha256: one, scopes: ['orders:read'], accounts: 'all', expiresAtMs: Date.UTC(2027, 0, 31) },
    ]);
  });

  it('never share a hash: one token would be two callers', () => {
    const first = `risk:${one}:orders:read:*`;
    expect(parseStaticTokens(`${first} other:${one.toUpperCase()}:orders:read:*`)).toEqual({ wrong: 2, count: 2 });
  });

  it('are printed by name only, and may be read from a file', () => {
    const loaded = loadConfig(
      { TIDEMARK_AUTH_TOKENS_FILE: '/run/tokens' },
      () => `risk:${one}:orders:read:*\nui:${two}:ops:read:*\n`,
    );
    expect(loaded.ok && loaded.effective.find(({ env }) => env === 'TIDEMARK_AUTH_TOKENS')?.shown).toBe('risk,ui');
    const wrong = loadConfig({ TIDEMARK_AUTH_TOKENS: `risk:${one}` }, () => '');
    expect(JSON.stringify(wrong)).not.toContain(one);
  });
});
