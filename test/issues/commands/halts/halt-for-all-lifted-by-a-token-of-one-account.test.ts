// What a user saw: A token for one account could lift a halt that an operator for all accounts had set.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CommandRig, placeEquity, word } from '../../../support/commands/command-rig.ts';
import { accountScope } from '../../../support/commands/journal-fixtures.ts';
import { ask, sha256, startRest } from '../../../support/rest/rest-rig.ts';

const account = accountScope('acct-1');
const ofOneAccount = { ...word, by: 'strategy', ofSomeAccounts: true } as const;

/**
 * Who may resume an account could lift what operations had halted there for every account's sake:
 * `resume` cleared every halt of the account, whoever had raised it.
 */
describe('a halt by an operator for every account', () => {
  it('is not lifted by a token that names some, nor is what stands beside it', async () => {
    const rig = await CommandRig.leading();
    await rig.during(rig.commands.operator.halt(account, ofOneAccount));
    await rig.during(rig.commands.operator.halt(account, word));
    expect(await rig.during(rig.commands.operator.resume(account, ofOneAccount))).toMatchObject({
      kind: 'declined',
      code: 'EVERY_ACCOUNT_NEEDED',
    });
    expect(rig.commands.operator.halts.list().map(({ cause, by }) => [cause, by])).toEqual([
      ['account_operator', 'strategy'],
      ['operator', 'olga'],
    ]);
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
    expect(await rig.during(rig.commands.operator.resume(account, word))).toEqual({ kind: 'done', halts: [] });
  });

  it('holds also where another process has raised it and this one has not heard of it', async () => {
    const rig = await CommandRig.leading();
    const halt = { haltId: 'h-1', scope: account, cause: 'operator', reason: 'elsewhere', by: 'ann', sinceMs: 0 };
    await rig.journal.raiseHalt(halt);
    expect(await rig.during(rig.commands.operator.resume(account, ofOneAccount))).toMatchObject({
      code: 'EVERY_ACCOUNT_NEEDED',
    });
    expect(await rig.journal.activeHalts()).toEqual([halt]);
  });

  it('holds also where the journal does not have it yet', async () => {
    const rig = await CommandRig.leading();
    const { raiseHalt } = rig.journal;
    rig.journal.raiseHalt = async () => {
      throw new Error('the database cannot be reached');
    };
    await rig.during(rig.commands.operator.halt(account, word));
    expect(await rig.during(rig.commands.operator.resume(account, ofOneAccount))).toMatchObject({
      code: 'EVERY_ACCOUNT_NEEDED',
    });
    rig.journal.raiseHalt = raiseHalt;
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'operator', by: 'olga' }]);
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
  });

  it('leaves to a token of one account what it has halted itself, and what the service has', async () => {
    const rig = await CommandRig.leading();
    await rig.during(rig.commands.operator.halt(account, ofOneAccount));
    await rig.journal.raiseHalt({
      haltId: 'h-2',
      scope: account,
      cause: 'rate',
      reason: 'fast',
      by: 'tidemark',
      sinceMs: 0,
    });
    expect(await rig.during(rig.commands.operator.resume(account, ofOneAccount))).toEqual({ kind: 'done', halts: [] });
    expect(await rig.journal.activeHalts()).toEqual([]);
  });
});

describe('the word of an operator', () => {
  let rest: Awaited<ReturnType<typeof startRest>>;
  beforeEach(async () => {
    const scopes = ['ops:write'];
    const tokens = [
      { name: 'desk', sha256: sha256('every'), scopes, accounts: 'all' as const },
      { name: 'one', sha256: sha256('some'), scopes, accounts: ['acct-1'] },
    ];
    rest = await startRest({ auth: { tokens } });
  });
  afterEach(() => rest.server.drain(new AbortController().signal));

  it('says whether the token is for every account', async () => {
    for (const token of ['every', 'some']) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      await ask(`${rest.address}/v1/accounts/acct-1/resume`, { method: 'POST', headers, body: '{"reason":"checked"}' });
    }
    expect(rest.commands.words.map((said) => said.word.ofSomeAccounts)).toEqual([undefined, true]);
    rest.commands.haltAnswer = { kind: 'declined', code: 'EVERY_ACCOUNT_NEEDED', message: 'kept' };
    const headers = { authorization: 'Bearer some', 'content-type': 'application/json' };
    const answer = await ask(`${rest.address}/v1/accounts/acct-1/resume`, {
      method: 'POST',
      headers,
      body: '{"reason":"checked"}',
    });
    expect([answer.status, answer.body['code']]).toEqual([403, 'EVERY_ACCOUNT_NEEDED']);
  });
});
