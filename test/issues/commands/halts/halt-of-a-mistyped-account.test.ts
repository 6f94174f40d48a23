// What a user saw: An operator halted SIM-1010 instead of SIM-1001, was answered 200, and trading went on.

import { afterEach, describe, expect, it } from 'vitest';
import type { AccountRow, Page } from '../../../../src/store/orders/order-reads.ts';
import { runAgainst } from '../../../support/rest/rest-answers.ts';
import { ask, startRest } from '../../../support/rest/rest-rig.ts';

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function started() {
  const rig = await startRest();
  stops.push(() => rig.server.drain(AbortSignal.abort()));
  rig.commands.haltAnswer = { kind: 'done', halts: [] };
  const halt = async (path: string) => {
    const init = { method: 'POST', body: '{"reason":"runs away"}', headers: { 'content-type': 'application/json' } };
    const { status, body } = await ask(`${rig.address}${path}`, init);
    return { status, known: body['accountKnown'] };
  };
  return { rig, halt };
}

const followed = { stream: 'prediction', accountId: 'SIM-1001', isSim: true, openOrders: 0 } as const;

describe('the answer to a halt of one account', () => {
  it('says that no process has ever followed it, and halts it all the same', async () => {
    const { rig, halt } = await started();
    rig.reads.accountRows = [followed];
    expect(await halt('/v1/accounts/SIM-1010/halt')).toEqual({ status: 200, known: false });
    expect(rig.commands.words).toMatchObject([{ what: 'halt', on: { kind: 'account', accountId: 'SIM-1010' } }]);
    expect(await halt('/v1/accounts/SIM-1001/halt')).toEqual({ status: 200, known: true });
    expect(await halt('/v1/halt')).toEqual({ status: 200, known: undefined });
  });

  it('knows an account that is followed here, before the database has its row', async () => {
    const { rig, halt } = await started();
    rig.followed.accounts = [
      { stream: 'account', accountId: 'SIM-1001', state: 'live', sinceMs: 0, silentLosses: 0, beside: [] },
    ];
    expect(await halt('/v1/accounts/SIM-1001/halt')).toEqual({ status: 200, known: true });
  });

  it('says nothing of it where the database fails, or is silent', async () => {
    const { rig, halt } = await started();
    rig.reads.failure = new Error('it is away');
    expect(await halt('/v1/accounts/SIM-1001/halt')).toEqual({ status: 200, known: undefined });
    rig.reads.accounts = () => new Promise<Page<AccountRow>>(() => {});
    expect(await halt('/v1/accounts/SIM-1001/halt')).toEqual({ status: 200, known: undefined });
  });
});

it('the command line asks whether the id is right', async () => {
  const { rig } = await started();
  rig.reads.accountRows = [followed];
  const halt = async (account: string) =>
    (await runAgainst(rig.address, ['halt', '--account', account, '--reason', 'x'])).out;
  expect(await halt('SIM-1010')).toMatch(/^No instance has ever followed an account SIM-1010: is the id right\?/);
  expect(await halt('SIM-1001')).toBe('No halt is in force.\n');
});
