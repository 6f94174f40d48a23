// What a user saw: The ticket said that nothing was sent, and the order was live.

import { expect, it } from 'vitest';
import { ConsoleRig } from '../../support/rest/console-rig.ts';

async function ticket(prepare: (rig: ConsoleRig) => void) {
  const rig = new ConsoleRig();
  prepare(rig);
  await rig.state.start();
  await rig.settle();
  const opened = rig.state.openTicket({});
  opened.set({ accountId: 'ACC-1', symbol: 'AAPL', quantity: '5', price: '1.10' });
  return { rig, opened };
}

it("a proxy's page in place of an answer leaves it open whether the order was sent", async () => {
  const { rig, opened } = await ticket((each) => each.answers.set('POST /v1/orders', { status: 502, body: {} }));
  const sent = opened.send();
  await rig.settle();
  await rig.pass(500);
  await rig.pass(2_000);
  await sent;
  expect(opened.progress.value.kind).toBe('away');
});

it('so does a second answer that speaks of the second try alone', async () => {
  const { rig, opened } = await ticket((each) => each.away.add('POST /v1/orders'));
  const sent = opened.send();
  await rig.settle();
  rig.away.clear();
  rig.answers.set('POST /v1/orders', { status: 503, body: { code: 'STORE_UNAVAILABLE', detail: 'nothing was sent' } });
  await rig.pass(500);
  await rig.pass(2_000);
  await sent;
  expect(opened.progress.value.kind).toBe('away');
});

it('a refusal by the service itself is one', async () => {
  const refusal = { status: 409, body: { code: 'PLACING_HALTED', detail: 'halted' } };
  const { opened } = await ticket((each) => each.answers.set('POST /v1/orders', refusal));
  await opened.send();
  expect(opened.progress.value.kind).toBe('refused');
});

const refusals = [
  [503, 'DRAINING'],
  [503, 'STORE_UNAVAILABLE'],
  [429, 'RATE_LIMITED'],
  [408, 'REQUEST_TIMEOUT'],
  [401, 'INVALID_TOKEN'],
] as const;

async function away() {
  const { rig, opened } = await ticket((each) => each.away.add('POST /v1/orders'));
  const again = async () => {
    const sent = opened.send();
    for (const waitMs of [0, 500, 2_000]) await rig.pass(waitMs);
    await sent;
    return opened.progress.value.kind;
  };
  expect(await again()).toBe('away');
  rig.away.clear();
  return { rig, opened, again };
}

it.each(refusals)('“Ask again” with %i %s speaks of the new request alone', async (status, code) => {
  const { rig, opened, again } = await away();
  rig.answers.set('POST /v1/orders', { status, body: { code, detail: 'nothing was done' } });
  expect([await again(), opened.mayChange()]).toEqual(['away', false]);
  rig.answers.set('POST /v1/orders', { status: 200, body: { commandId: 'c-1' } });
  expect(await again()).toBe('sent');
});

it('a key that was used before says that there is a command, even while that cannot be read', async () => {
  const { rig, again } = await away();
  rig.answers.set('POST /v1/orders', { status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED', detail: 'other terms' } });
  rig.away.add('/v1/commands?idempotencyKey=console-id-1');
  expect(await again()).toBe('away');
});
