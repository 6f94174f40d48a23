import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { orderAddress, placeOf } from '../../../src/console/state/address.ts';
import { outOfReachIds, reachableIds } from '../../support/orders/odd-ids.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

let rig: Awaited<ReturnType<typeof startRest>>;

beforeAll(async () => {
  rig = await startRest();
});

afterAll(() => rig.server.drain(new AbortController().signal));

const accountId = 'ACC 1/é';
const isDots = (id: string) => id === '.' || id === '..';
// A client takes `.` and `..` out of every address before it is sent.
const ids = [...reachableIds, ...outOfReachIds.filter((id) => !isDots(id))];

function newestSubmission() {
  return rig.commands.submissions.at(-1)?.request;
}

describe.each(ids)('an order %j', (orderId) => {
  it('is found, cancelled and replaced by its address in REST', async () => {
    rig.reads.orders = [{ stream: 'account', orderId, accountId, revision: 1, sourceVersion: undefined, state: '{}' }];
    const part = encodeURIComponent(orderId);
    const found = await ask(`${rig.address}/v1/orders/account/${part}`);
    expect([found.status, found.body['orderId']]).toEqual([200, orderId]);
    for (const [stream, path] of [
      ['account', '/v1/orders'],
      ['prediction', '/v1/predictions/orders'],
    ]) {
      const url = `${rig.address}${path}/${part}?accountId=${encodeURIComponent(accountId)}`;
      await ask(url, { method: 'DELETE', headers: { 'idempotency-key': 'k' } });
      expect(newestSubmission()).toMatchObject({ kind: 'cancel', stream, accountId, orderId });
    }
    await ask(`${rig.address}/v1/predictions/orders/${part}`, {
      method: 'PATCH',
      headers: { 'idempotency-key': 'k', 'content-type': 'application/json' },
      body: JSON.stringify({ accountId, quantity: '2' }),
    });
    expect(newestSubmission()).toMatchObject({ kind: 'replace', accountId, orderId });
  });

  it('is cancelled from the command line', async () => {
    const io = cliIo({ TIDEMARK_URL: rig.address });
    await runProgram(io, ['cancel', '--account', accountId, '--', orderId]);
    expect(newestSubmission()).toMatchObject({ kind: 'cancel', stream: 'account', accountId, orderId });
  });
});

it.each([...ids, '.', '..'])('an order %j has a page of the console', (orderId) => {
  const { pathname, search } = new URL(orderAddress({ stream: 'account', orderId }), 'http://console');
  const { screen, params, query } = placeOf(pathname, search);
  if (isDots(orderId)) expect([screen, query.get('text')]).toEqual(['blotter', orderId]);
  else expect([screen, params]).toEqual(['order', { stream: 'account', orderId }]);
});

it('an account under any id has its kill switch', async () => {
  for (const id of ids) {
    const headers = { 'idempotency-key': 'k', 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ reason: 'a drill' }) };
    await ask(`${rig.address}/v1/accounts/${encodeURIComponent(id)}/cancel-all`, init);
    expect(rig.commands.words.at(-1)?.on).toMatchObject({ kind: 'account', accountId: id });
  }
});
