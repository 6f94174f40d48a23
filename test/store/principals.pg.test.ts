import { describe, expect, it } from 'vitest';
import { PostgresPrincipalStore } from '../../src/store/principals.ts';
import { storeRig } from '../support/store-rig.ts';

describe('principals', () => {
  it('are told while they are not revoked, and neither name nor token is given twice', async () => {
    await using rig = await storeRig();
    const store = new PostgresPrincipalStore(rig.deps);
    const bot = { name: 'bot', sha256: 'ab'.repeat(32), scopes: ['orders:read'], accounts: ['acct-1'] };
    const desk = { name: 'desk', sha256: 'cd'.repeat(32), scopes: ['orders:read', 'orders:write'], accounts: 'all' } as const;
    expect([await store.add(desk), await store.add(bot)]).toEqual([true, true]);
    expect(await store.active()).toEqual([bot, desk]);
    expect([await store.add({ ...bot, sha256: 'ef'.repeat(32) }), await store.add({ ...bot, name: 'other' })]).toEqual([
      false,
      false,
    ]);
    expect([await store.revoke('bot'), await store.revoke('bot'), await store.revoke('nobody')]).toEqual([true, false, false]);
    expect(await store.active()).toEqual([desk]);
    expect(await store.add(bot)).toBe(false);
    await expect(store.add({ ...bot, name: 'short', sha256: 'ab' })).rejects.toMatchObject({ code: '23514' });
  });
});
