// What a user saw: A request of a principal was approved and done after all its tokens had been revoked.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { PostgresPrincipalStore } from '../../../src/store/principals.ts';
import { atMs, fence, halt } from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../../support/commands/journal-rig.ts';

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
