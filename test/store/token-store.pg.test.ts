import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/runtime/secret.ts';
import { PostgresTokenStore } from '../../src/store/token-store.ts';
import { keyName, tokenOfKey } from '../../src/venue/key-source.ts';
import { storeRig } from '../support/orders/store-rig.ts';

const key = () => new Secret(randomBytes(32).toString('base64'));
const token = (text: string) => ({
  accessToken: new Secret(`access-${text}`),
  refreshToken: new Secret(`refresh-${text}`),
  expiresAtMs: 1_795_265_292_688,
  scope: 'order:information',
});

async function tokenRig(secret = key()) {
  const rig = await storeRig();
  return Object.assign(rig, { key: secret, tokens: new PostgresTokenStore({ ...rig.deps, key: secret }) });
}

describe('a claim', () => {
  it('is given to one of many that ask at once, and prolonged for that one', async () => {
    await using rig = await tokenRig();
    const holders = Array.from({ length: 8 }, (_, i) => `process-${i}`);
    const answers = await Promise.all(holders.map((holder) => rig.tokens.claim('client', holder, 60_000)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    const holder = holders[answers.indexOf(true)] ?? '';
    expect(await rig.tokens.claim('client', holder, 60_000)).toBe(true);
    expect(await rig.tokens.claim('another credential', 'process-0', 60_000)).toBe(true);
  });

  it('is free again when it was given back, by its holder alone, or has run out', async () => {
    await using rig = await tokenRig();
    await rig.tokens.claim('client', 'one', 60_000);
    await rig.tokens.unclaim('client', 'two');
    expect(await rig.tokens.claim('client', 'two', 60_000)).toBe(false);
    await rig.tokens.unclaim('client', 'one');
    expect(await rig.tokens.claim('client', 'two', 60_000)).toBe(true);
    await rig.pool.query("update credentials set claimed_until = now() - interval '1 second'");
    expect(await rig.tokens.claim('client', 'three', 60_000)).toBe(true);
  });

  it('holds no lock: the token can be read and saved while somebody else has the claim', async () => {
    await using rig = await tokenRig();
    await rig.tokens.claim('client', 'one', 60_000);
    expect(await rig.tokens.load('client')).toBeUndefined();
    expect(await rig.tokens.save('client', 0, token('1'))).toBe(true);
    expect(await rig.rows('select claimed_by from credentials')).toEqual([{ claimed_by: 'one' }]);
  });
});

describe('a token', () => {
  it('is read back as it was saved, with or without what is optional', async () => {
    await using rig = await tokenRig();
    expect(await rig.tokens.load('client')).toBeUndefined();
    expect(await rig.tokens.save('client', 0, token('1'))).toBe(true);
    const loaded = await rig.tokens.load('client');
    expect(loaded).toMatchObject({ generation: 1, scope: 'order:information' });
    // By the database's clock, which is not quite ours.
    const endsMs = loaded !== undefined && 'expiresAtMs' in loaded ? loaded.expiresAtMs : 0;
    expect(Math.abs(endsMs - 1_795_265_292_688)).toBeLessThan(10_000);
    expect([loaded?.accessToken?.reveal(), loaded?.refreshToken?.reveal()]).toEqual(['access-1', 'refresh-1']);
    expect(await rig.tokens.save('client', 1, { accessToken: new Secret('bare'), expiresAtMs: 5 })).toBe(true);
    expect(Object.keys((await rig.tokens.load('client')) ?? {}).sort()).toEqual([
      'accessToken',
      'expiresAtMs',
      'generation',
    ]);
  });

  it('without an end is a key: it is read back whatever the clocks say', async () => {
    await using rig = await tokenRig();
    const nowMs = () => rig.deps.clock.nowMs() - 10 * 365 * 86_400_000;
    const behind = new PostgresTokenStore({ ...rig.deps, clock: { ...rig.deps.clock, nowMs }, key: rig.key });
    const name = keyName('alpaca_paper', 'PA3');
    expect(await behind.save(name, 0, tokenOfKey(new Secret('id:hush')))).toBe(true);
    expect(await rig.tokens.load(name)).toMatchObject({ generation: 1, expiresAtMs: expect.any(Number) });
    expect((await rig.tokens.load(name))?.accessToken?.reveal()).toBe('id:hush');
    // Those of one stream, and none of the other.
    expect(await rig.tokens.stored(keyName('alpaca_paper', ''))).toEqual([{ credential: name, generation: 1 }]);
    expect(await rig.tokens.stored(keyName('alpaca', ''))).toEqual([]);
  });

  it('of an older generation never replaces a newer one', async () => {
    await using rig = await tokenRig();
    await rig.tokens.save('client', 0, token('1'));
    await rig.tokens.save('client', 1, token('2'));
    expect(await rig.tokens.save('client', 0, token('late'))).toBe(false);
    expect(await rig.tokens.save('client', 1, token('late'))).toBe(false);
    expect(await rig.tokens.save('client', 5, token('from nowhere'))).toBe(false);
    expect(await rig.tokens.save('unknown', 5, token('from nowhere'))).toBe(false);
    expect((await rig.tokens.load('client'))?.accessToken?.reveal()).toBe('access-2');
    expect(await rig.tokens.load('unknown')).toBeUndefined();
  });

  it('of one generation is saved by one of many', async () => {
    await using rig = await tokenRig();
    const saved = await Promise.all(['a', 'b', 'c', 'd'].map((name) => rig.tokens.save('client', 0, token(name))));
    expect(saved.filter(Boolean)).toHaveLength(1);
  });

  it('is nowhere in the table as it is', async () => {
    await using rig = await tokenRig();
    await rig.tokens.save('client', 0, token('canary'));
    const [row] = await rig.rows<{ text: string }>(
      "select c::text || encode(sealed, 'escape') as text from credentials c",
    );
    expect(row?.text).not.toMatch(/canary|order:information/);
    expect(row?.text).not.toContain(Buffer.from('canary').toString('hex'));
  });

  it('cannot be read with another key, in the place of another credential, or put back from an older generation', async () => {
    await using rig = await tokenRig();
    const unreadable = expect.stringContaining('was not sealed with this key');
    await rig.tokens.save('client', 0, token('1'));
    const other = new PostgresTokenStore({ ...rig.deps, key: key() });
    expect(await other.load('client')).toEqual({ generation: 1, unreadable });
    await rig.tokens.save('client-2', 0, token('2'));
    await rig.pool.query(
      "update credentials set sealed = (select sealed from credentials where credential = 'client')",
    );
    expect(await rig.tokens.load('client-2')).toMatchObject({ unreadable });
    await rig.pool.query('update credentials set generation = 2');
    expect(await rig.tokens.load('client')).toEqual({ generation: 2, unreadable });
  });
});

describe('the list of credentials', () => {
  it('has those with tokens, by the beginning of their names, and their generations', async () => {
    await using rig = await tokenRig();
    await rig.tokens.save('client', 0, token('1'));
    await rig.tokens.save('login:b', 0, token('1'));
    await rig.tokens.save('login:a', 0, token('1'));
    await rig.tokens.save('login:a', 1, token('2'));
    await rig.tokens.claim('login:claimed-only', 'one', 1_000);
    expect(await rig.tokens.stored('login:')).toEqual([
      { credential: 'login:a', generation: 2 },
      { credential: 'login:b', generation: 1 },
    ]);
    expect(await rig.tokens.stored('login:%')).toEqual([]);
  });

  it('loses one that was forgotten, for which a refresh under way saves nothing any more', async () => {
    await using rig = await tokenRig();
    await rig.tokens.save('login:a', 0, token('1'));
    expect(await rig.tokens.forget('login:a')).toBe(true);
    expect(await rig.tokens.forget('login:a')).toBe(false);
    expect(await rig.tokens.stored('login:')).toEqual([]);
    expect(await rig.tokens.load('login:a')).toBeUndefined();
    expect(await rig.tokens.save('login:a', 1, token('2'))).toBe(false);
    expect(await rig.tokens.save('login:a', 0, token('3'))).toBe(true);
    expect((await rig.tokens.load('login:a'))?.refreshToken?.reveal()).toBe('refresh-3');
  });
});
