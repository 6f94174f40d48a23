import { describe, expect, it } from 'vitest';
import { PostgresPrincipalStore } from '../../src/store/principals.ts';
import { storeRig } from '../support/orders/store-rig.ts';

const dayMs = 86_400_000;
const bot = { name: 'bot', number: 1, sha256: 'ab'.repeat(32), scopes: ['orders:read'], accounts: ['acct-1'] };
const desk = {
  name: 'desk',
  number: 1,
  sha256: 'cd'.repeat(32),
  scopes: ['orders:read', 'orders:write'],
  accounts: 'all',
} as const;

describe('tokens of principals', () => {
  it('count until they end, and neither number nor hash is given twice', async () => {
    await using rig = await storeRig();
    const store = new PostgresPrincipalStore(rig.deps);
    const second = { ...bot, number: 2, sha256: 'ef'.repeat(32), expiresAtMs: Date.now() + dayMs };
    const over = { ...bot, number: 3, sha256: '01'.repeat(32), expiresAtMs: Date.now() - 1_000 };
    for (const each of [desk, bot, second, over]) expect(await store.add(each)).toBe(true);
    expect(await store.active()).toEqual([bot, second, desk]);
    expect(await store.tokensOf('bot')).toEqual([bot, second, over]);
    expect(await store.add({ ...bot, sha256: '23'.repeat(32) })).toBe(false);
    expect(await store.add({ ...bot, number: 4 })).toBe(false);
    await expect(store.add({ ...bot, number: 5, sha256: 'ab' })).rejects.toMatchObject({ code: '23514' });
  });

  it('end one by one or all at once, never later than was said before', async () => {
    await using rig = await storeRig();
    const store = new PostgresPrincipalStore(rig.deps);
    for (const number of [1, 2, 3]) await store.add({ ...bot, number, sha256: `${number}0`.repeat(32) });
    expect(await store.end('bot', 2, 0)).toEqual([2]);
    expect(await store.end('bot', 2, 0)).toEqual([]);
    expect(await store.end('bot', 1, dayMs)).toEqual([1]);
    expect(await store.end('bot', 1, 2 * dayMs)).toEqual([]);
    expect(await store.end('other', undefined, 0)).toEqual([]);
    expect((await store.active()).map(({ number }) => number)).toEqual([1, 3]);
    expect(await store.end('bot', undefined, 0)).toEqual([1, 3]);
    expect(await store.active()).toEqual([]);
  });

  it('are never changed or deleted otherwise, by the owner of the table either', async () => {
    await using rig = await storeRig();
    const store = new PostgresPrincipalStore(rig.deps);
    await store.add(bot);
    await store.add({ ...desk, expiresAtMs: Date.now() - 1_000 });
    for (const statement of [
      "update principal_tokens set scopes = '{ops:write}'",
      "update principal_tokens set expires_at = null where principal = 'bot'",
      "update principal_tokens set expires_at = now() + interval '1 day' where principal = 'desk'",
      "update principal_tokens set expires_at = now() - interval '1 day' where principal = 'desk'",
      'delete from principal_tokens',
      'truncate principal_tokens',
    ])
      await expect(rig.rows(statement), statement).rejects.toMatchObject({ code: 'TM010' });
  });
});
