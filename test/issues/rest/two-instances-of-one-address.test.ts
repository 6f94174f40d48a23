// What a user saw: Two machines advertised 127.0.0.1, and each took its own answers for the other's.

import { expect, it, onTestFinished } from 'vitest';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

async function started() {
  const other = { instance: 'two', address: '' };
  const rig = await startRest({ instance: 'one', others: { all: () => [other], holderOf: () => other } });
  onTestFinished(async () => void (await rig.server.drain(new AbortController().signal)));
  other.address = rig.address;
  return rig;
}

it('the other one counts as one that gave no answer', async () => {
  const { address } = await started();
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' };
  const init = { method: 'POST', headers, body: '{"reason":"stop"}' };
  expect((await ask(`${address}/v1/cancel-all`, init)).body).toMatchObject({ unanswered: [{ instance: 'two' }] });
  expect((await ask(`${address}/v1/status`)).body).toMatchObject({ unanswered: [{ instance: 'two' }] });
});
