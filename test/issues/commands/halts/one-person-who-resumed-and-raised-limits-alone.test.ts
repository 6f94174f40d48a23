// What a user saw: One person alone could end a halt, settle a command or raise a limit.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Approval } from '../../../../src/store/commands/stops-journal.ts';
import { CommandRig, placeEquity, unknown, word } from '../../../support/commands/command-rig.ts';
import { accountScope } from '../../../support/commands/journal-fixtures.ts';
import { sampleApproval } from '../../../support/commands/scripted-commands.ts';
import { ask, sha256, startRest } from '../../../support/rest/rest-rig.ts';

const account = accountScope('acct-1');
const second = { ...word, by: 'bob', reason: 'agreed' };

async function waiting(rig: CommandRig): Promise<Approval> {
  const result = await rig.during(rig.commands.operator.approvals.list());
  const [first] = result.kind === 'done' ? result.approvals : [];
  if (first === undefined) throw new Error('nothing waits');
  return first;
}

describe('with four eyes', () => {
  it('a resume waits for a second principal, and is done once that has approved it', async () => {
    const rig = await CommandRig.leading({ fourEyes: true });
    await rig.during(rig.commands.operator.halt(account, word));
    expect(await rig.during(rig.commands.operator.resume(account, word))).toMatchObject({ kind: 'requested' });
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
    const { approvalId } = await waiting(rig);
    expect(await rig.during(rig.commands.operator.approve(approvalId, word))).toMatchObject({
      code: 'SECOND_PRINCIPAL_NEEDED',
    });
    expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
    expect(rig.commands.operator.halts.list()).toEqual([]);
    expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({
      code: 'APPROVAL_NOT_FOUND',
    });
    await rig.clock.advance(10);
    expect(
      rig.journal.audits.map(({ action, principal, detail }) => [action, principal, detail?.['approvedBy']]),
    ).toEqual([
      ['halt', 'olga', undefined],
      ['request_approval', 'olga', undefined],
      ['approve', 'bob', undefined],
      ['resume', 'olga', 'bob'],
    ]);
  });

  it('a settlement waits for a second principal', async () => {
    const rig = await CommandRig.leading({ fourEyes: true });
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placeEquity);
    expect(await rig.during(rig.commands.operator.settle(commandId, 'rejected', word))).toMatchObject({
      kind: 'requested',
    });
    expect(rig.state(commandId)).toBe('unknown');
    const { approvalId, accountId } = await waiting(rig);
    expect(accountId).toBe('acct-1');
    expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
    expect(rig.state(commandId)).toBe('rejected');
  });

  it('a limit that lets more through waits for a second principal, one that lets less through does not', async () => {
    const rig = await CommandRig.leading({ fourEyes: true });
    const change = (bounds: object) =>
      rig.during(rig.commands.operator.changeLimits({ accountId: 'acct-1' }, bounds, word));
    expect(await change({ maxQuantity: '5', allowedSymbols: ['AAPL'] })).toMatchObject({ kind: 'done' });
    expect(await change({ maxQuantity: '4' })).toMatchObject({ kind: 'done' });
    for (const looser of [{ maxQuantity: '5' }, { maxQuantity: null }, { allowedSymbols: ['AAPL', 'MSFT'] }]) {
      expect(await change(looser), JSON.stringify(looser)).toMatchObject({ kind: 'requested' });
      await rig.clock.advance(1);
    }
    expect(await rig.declined(placeEquity)).toBe('LIMIT_EXCEEDED');
    const { approvalId } = await waiting(rig);
    expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
    expect(await rig.journal.limits()).toMatchObject([
      { bounds: { maxQuantity: '5', allowedSymbols: ['AAPL'] }, changedBy: 'olga' },
    ]);
  });

  it('a request that nobody has approved within the hour is gone', async () => {
    const rig = await CommandRig.leading({ fourEyes: true });
    await rig.during(rig.commands.operator.resume(account, word));
    const { approvalId } = await waiting(rig);
    await rig.clock.advance(3_600_000);
    expect(await rig.during(rig.commands.operator.approvals.list())).toEqual({ kind: 'done', approvals: [] });
    expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({
      code: 'APPROVAL_NOT_FOUND',
    });
  });

  it('without them, everything is done at once', async () => {
    const rig = await CommandRig.leading();
    await rig.during(rig.commands.operator.halt(account, word));
    expect(await rig.during(rig.commands.operator.resume(account, word))).toEqual({ kind: 'done', halts: [] });
    expect(await rig.during(rig.commands.operator.approvals.list())).toEqual({ kind: 'done', approvals: [] });
  });
});

describe('approvals over REST', () => {
  let rest: Awaited<ReturnType<typeof startRest>>;
  beforeEach(async () => {
    const scopes = ['ops:read', 'ops:write'];
    const tokens = [
      { name: 'desk', sha256: sha256('every'), scopes, accounts: 'all' as const },
      { name: 'one', sha256: sha256('some'), scopes, accounts: ['ACC-1'] },
    ];
    rest = await startRest({ auth: { tokens } });
  });
  afterEach(() => rest.server.drain(new AbortController().signal));

  const send = (path: string, token: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return ask(`${rest.address}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
  };

  it('show a token of some accounts what concerns those, and let it approve no more', async () => {
    const { accountId: _none, ...ofService } = {
      ...sampleApproval,
      approvalId: '1c2f5f9e-8f43-4c1c-9d0a-5b1f3e0f6a22',
    };
    rest.commands.waiting = [sampleApproval, ofService];
    const shown = {
      requestedAt: '1970-01-01T00:00:00.000Z',
      expiresAt: '1970-01-01T01:00:00.000Z',
      by: 'ann',
      accountId: 'ACC-1',
    };
    expect((await send('/v1/approvals', 'some')).body).toMatchObject({ items: [shown] });
    expect((await send('/v1/approvals', 'every')).body['items']).toHaveLength(2);
    const approve = (id: string, token: string) => send(`/v1/approvals/${id}/approve`, token, { reason: 'agreed' });
    expect(await approve(ofService.approvalId, 'some')).toMatchObject({
      status: 404,
      body: { code: 'APPROVAL_NOT_FOUND' },
    });
    expect(rest.commands.words).toEqual([]);
    expect(await approve(sampleApproval.approvalId, 'some')).toMatchObject({ status: 200 });
    expect(rest.commands.words).toMatchObject([{ what: 'approve', word: { by: 'one', reason: 'agreed' } }]);
  });

  it('answer 202 where the action waits', async () => {
    rest.commands.haltAnswer = { kind: 'requested', approval: sampleApproval };
    const { status, body } = await send('/v1/resume', 'every', { reason: 'checked' });
    expect([status, body]).toMatchObject([202, { approval: { approvalId: sampleApproval.approvalId, by: 'ann' } }]);
  });
});
