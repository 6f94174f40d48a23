import { describe, expect, it } from 'vitest';
import { authFailureReasons, streamResetReasons } from '../../../src/observability/metrics.ts';
import { authFailures } from '../../../src/service/rest/auth/principal.ts';
import { StaticTokens } from '../../../src/service/rest/auth/static-tokens.ts';
import { resetReasons } from '../../../src/service/rest/stream/stream-event.ts';
import type { PrincipalToken } from '../../../src/store/principals.ts';
import { sha256 } from '../../support/rest/rest-rig.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const entry = (name: string, token: string, over: Partial<PrincipalToken> = {}): PrincipalToken => ({
  name,
  sha256: sha256(token),
  scopes: ['orders:read'],
  accounts: 'all',
  ...over,
});

function tokensOver(stored: () => Promise<readonly PrincipalToken[]>, configured: readonly PrincipalToken[] = []) {
  const clock = new VirtualClock();
  const tokens = new StaticTokens(
    { clock, log: silentLog, store: { active: stored } },
    { configured, refreshEveryMs: 10_000 },
  );
  return { clock, tokens };
}

function nameOf(found: ReturnType<StaticTokens['find']>): string | undefined {
  return typeof found === 'object' ? found.name : found;
}

describe('a static token', () => {
  it('is known by its hash, whole and to the letter', () => {
    const { tokens } = tokensOver(async () => [], [entry('desk', 'secret'), entry('other', 'secret-2')]);
    expect(nameOf(tokens.find('secret'))).toBe('desk');
    expect(nameOf(tokens.find('secret-2'))).toBe('other');
    for (const wrong of ['', 'Secret', 'secret ', 'secre', sha256('secret')])
      expect(tokens.find(wrong)).toBeUndefined();
  });

  it('grants the scopes that we know, on the accounts that it names', () => {
    const { tokens } = tokensOver(
      async () => [],
      [entry('desk', 't', { scopes: ['ops:read', 'root'], accounts: ['A'] })],
    );
    expect(tokens.find('t')).toMatchObject({
      scopes: new Set(['ops:read']),
      accounts: { kind: 'accounts', accountIds: ['A'] },
    });
  });

  it('of the database counts from the next look on, and no longer once it is revoked', async () => {
    let stored: readonly PrincipalToken[] = [];
    const { clock, tokens } = tokensOver(async () => stored, [entry('desk', 'configured')]);
    await tokens.start();
    stored = [entry('service', 'made-later')];
    expect(tokens.find('made-later')).toBeUndefined();
    await clock.advance(10_000);
    expect(nameOf(tokens.find('made-later'))).toBe('service');
    stored = [];
    await clock.advance(10_000);
    expect(tokens.find('made-later')).toBeUndefined();
    expect(nameOf(tokens.find('configured'))).toBe('desk');
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
    expect(nameOf(tokens.find('stored'))).toBe('service');
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

  it('is refused from its end on, whether the database answers or not', async () => {
    let away = false;
    const startMs = new VirtualClock().nowMs();
    const { clock, tokens } = tokensOver(async () => {
      if (away) throw new Error('away');
      return [entry('desk', 'stored', { expiresAtMs: startMs + 5_000 })];
    }, [entry('desk', 'configured', { expiresAtMs: startMs + 6_000 })]);
    await tokens.start();
    away = true;
    await clock.advance(4_999);
    expect(tokens.find('stored')).toMatchObject({ name: 'desk' });
    await clock.advance(1);
    expect(tokens.find('stored')).toBe('expired');
    expect(tokens.find('configured')).toMatchObject({ name: 'desk' });
    await clock.advance(1_000);
    expect(tokens.find('configured')).toBe('expired');
    tokens.stop();
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
