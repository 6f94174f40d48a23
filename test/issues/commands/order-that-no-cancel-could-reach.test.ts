// What a user saw: No cancel and no cancel-all reached an order that was followed: its id had a slash.

import { expect, it, onTestFinished } from 'vitest';
import { CommandRig } from '../../support/commands/command-rig.ts';
import { writeDeps, writeTo } from '../../support/commands/order-writes.ts';
import { equityView, predictionView } from '../../support/orders/arbitrary-orders.ts';
import { outOfReachIds, reachableIds } from '../../support/orders/odd-ids.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const accountId = 'acct-1';
const streams = ['account', 'prediction'] as const;

function orderOf(stream: (typeof streams)[number], orderId: string) {
  return { ...(stream === 'account' ? equityView : predictionView), orderId, accountId, origin: 'external' as const };
}

// `a/b`, `a%2Fb` and `x?y=1#z` were followed, and each of their cancels ended as not_sent. A
// prediction order had to have a UUID.
it.each(streams)('a cancel of a stored %s order is sent under the id that the platform showed', async (stream) => {
  const rig = await CommandRig.leading();
  for (const orderId of reachableIds) {
    rig.commit(orderOf(stream, orderId));
    expect(await rig.send({ kind: 'cancel', stream, accountId, orderId })).toMatchObject({
      state: 'accepted',
      orderId,
    });
  }
  expect(rig.entry.sent.map(({ request }) => 'orderId' in request && request.orderId)).toEqual([...reachableIds]);
  expect(rig.probes.asked).toEqual([]);
});

it('an id that may be read as another path is refused with one sentence, and nothing is sent', async () => {
  const server = await scriptedServer((_request, response) => json(response, 500, {}));
  onTestFinished(server.close);
  for (const orderId of outOfReachIds)
    expect(
      await writeTo(writeDeps(), server.url, { kind: 'cancel', stream: 'account', accountId, orderId }, 'tm-1'),
    ).toEqual({
      kind: 'not_sent',
      mayRepeat: false,
      reason: {
        code: 'INVALID_REQUEST',
        message:
          'nothing was sent: a server on the way could read this id as another address, so the order can be looked at and changed only at the platform itself',
      },
    });
  expect(server.received).toEqual([]);
});
