import { describe, expect, it } from 'vitest';
import { authFailures } from '../../src/http/auth/authenticator.ts';
import type { StoredPrincipal } from '../../src/http/auth/principal-store.ts';
import { StaticTokens } from '../../src/http/auth/static-tokens.ts';
import { resetReasons } from '../../src/http/stream/stream-event.ts';
import { authFailureReasons, streamResetReasons } from '../../src/observability/initialise-metrics.ts';
import { sha256 } from '../support/rest-rig.ts';
import { silentLog } from '../support/silent-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const entry = (name: string, token: string, over: Partial<StoredPrincipal> = {}): StoredPrincipal => ({
  name,
  sha256: sha256(token),
  scopes: ['orders:read'],
  accounts: 'all',
  ...over,
});

function tokensOver(stored: () => Promise<readonly StoredPrincipal[]>, configured: readonly StoredPrincipal[] = []) {
  const clock = new VirtualClock();
  const tokens = new StaticTokens({ clock, log: silentLog, store: { active: stored } }, { configured, refreshEveryMs: 10_000 });
  return { clock, tokens };
}

describe('a static token', () => {
  it('is known by its hash, whole and to the letter', () => {
    const { tokens } = tokensOver(async () => [], [entry('desk', 'secret'), entry('other', 'secret-2')]);
    expect(tokens.find('secret')?.name).toBe('desk');
    expect(tokens.find('secret-2')?.name).toBe('other');
    for (const wrong of ['', 'Secret', 'secret ', 'secre', sha256('secret')]) expect(tokens.find(wrong)).toBeUndefined();
  });

  it('grants the scopes that we know, on the accounts that it names', () => {
    const { tokens } = tokensOver(async () => [], [entry('desk', 't', { scopes: ['ops:read', 'root'], accounts: ['A'] })]);
    const principal = tokens.find('t');
    expect([...(principal?.scopes ?? [])]).toEqual(['ops:read']);
    expect(principal?.accounts).toEqual({ kind: 'accounts', accountIds: ['A'] });
  });

  it('of the database counts from the next look on, and no longer once it is revoked', async () => {
    let stored: readonly StoredPrincipal[] = [];
    const { clock, tokens } = tokensOver(async () => stored, [entry('desk', 'configured')]);
    await tokens.start();
    stored = [entry('service', 'made-later')];
    expect(tokens.find('made-later')).toBeUndefined();
    await clock.advance(10_000);
    expect(tokens.find('made-later')?.name).toBe('service');
    stored = [];
    await clock.advance(10_000);
    expect(tokens.find('made-later')).toBeUndefined();
    expect(tokens.find('configured')?.name).toBe('desk');
    tokens.stop();
  });

  it('stays in force while the database is away', async () => {
    let away = false;
    const { clock, tokens } = tokensOver(async () => {
      if (away) throw new Error('away');
      return [entry('service', 'stored')];
    });
    await tokens.start();
    away = true;
    await clock.advance(30_000);
    expect(tokens.find('stored')?.name).toBe('service');
    tokens.stop();
  });

  it('is not looked for again after the server stopped', async () => {
    let looks = 0;
    const { clock, tokens } = tokensOver(async () => {
      looks += 1;
      return [];
    });
    await tokens.start();
    tokens.stop();
    await clock.advance(60_000);
    expect(looks).toBe(1);
  });

  it('with a hash that is none is refused at the start', () => {
    expect(() => tokensOver(async () => [], [entry('desk', 't', { sha256: 'abc' })])).toThrow(/not a SHA-256/);
  });
});

describe('the metrics of REST', () => {
  it('know every reason from the first scrape on', () => {
    expect(authFailureReasons).toEqual(authFailures);
    expect(streamResetReasons).toEqual(resetReasons);
  });
});
