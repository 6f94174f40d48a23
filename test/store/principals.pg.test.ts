import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { PostgresPrincipalStore } from '../../src/store/principals.ts';
import { atMs, fence, halt } from '../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../support/commands/journal-rig.ts';
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

describe('issue: A request of a principal was approved and done after all its tokens had been revoked.', () => {
  const scope = { kind: 'account', accountId: 'acct-1' } as const;
  const asked = { reason: 'looked', requestId: 'r-1', lastsMs: 3_600_000 };

  async function token(
    rig: JournalRig,
    name: string,
    number: number,
    rights: { scopes: string; accounts: string | null },
  ) {
    await rig.rows(
      'insert into principal_tokens (principal, number, token_sha256, scopes, accounts) values ($1, $2, sha256($3), $4, $5)',
      [name, number, Buffer.from(`${name} ${number}`), rights.scopes, rights.accounts],
    );
  }

  /** Halts, asks in the name of the principal, and gives the request's id. */
  async function askedBy(rig: JournalRig, by: string): Promise<string> {
    await rig.journal.raiseHalt(halt());
    const approvalId = randomUUID();
    const action = { kind: 'resume', scope } as const;
    await rig.journal.requestApproval({ ...asked, approvalId, action, accountId: 'acct-1', by });
    return approvalId;
  }

  function approve(rig: JournalRig, by: string, approvalId: string) {
    const approval = { approvalId, by: 'bob', reason: 'agreed', requestId: 'r-2' };
    return rig.journal.clearHalts(scope, { by, reason: 'looked', atMs: atMs + 10, approval }, fence);
  }

  it('a request is not done in the name of a principal whose rights were taken since', async () => {
    await using rig = await journalRig();
    const tokens = new PostgresPrincipalStore({ pool: rig.pool, clock: systemClock, random: systemRandom });
    await token(rig, 'desk', 1, { scopes: '{ops:write}', accounts: null });
    const approvalId = await askedBy(rig, 'desk');
    expect(await tokens.end('desk', undefined, 0)).toEqual([1]);
    expect(await rig.journal.findApproval(approvalId)).toBeUndefined();
    expect(await rig.journal.approvals()).toEqual([]);
    expect(await approve(rig, 'desk', approvalId)).toBe('not_waiting');
    // A new token of other rights gives no such right back.
    await token(rig, 'desk', 2, { scopes: '{ops:read,orders:write}', accounts: null });
    await token(rig, 'desk', 3, { scopes: '{ops:write}', accounts: '{acct-2}' });
    expect(await approve(rig, 'desk', approvalId)).toBe('not_waiting');
    expect(await rig.journal.activeHalts()).toHaveLength(1);
    await token(rig, 'desk', 4, { scopes: '{ops:write}', accounts: '{acct-1}' });
    expect(await approve(rig, 'desk', approvalId)).toBe(1);
  });

  it('one token that follows another keeps the request, and so does a principal that has none in the database', async () => {
    await using rig = await journalRig();
    const tokens = new PostgresPrincipalStore({ pool: rig.pool, clock: systemClock, random: systemRandom });
    for (const number of [1, 2]) await token(rig, 'desk', number, { scopes: '{ops:write}', accounts: null });
    const rotated = await askedBy(rig, 'desk');
    expect(await tokens.end('desk', 1, 0)).toEqual([1]);
    expect(await approve(rig, 'desk', rotated)).toBe(1);
    const configured = await askedBy(rig, 'jwt:https://id.example#ann');
    expect(await approve(rig, 'jwt:https://id.example#ann', configured)).toBe(1);
  });
});
