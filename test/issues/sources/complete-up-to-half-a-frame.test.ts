// What a user saw: The stream was marked complete although only half of an order event had arrived.

import { expect, it, onTestFinished } from 'vitest';
import type { ContinuityMark } from '../../../src/domain/observation.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

// Found by reading: the "complete up to" of a heartbeat, and the beginning of what may have been
// missed, were the time of the last byte. While a frame arrives byte by byte its order is not in
// the log, though every heartbeat meanwhile said so.
it('is complete up to the last whole frame, however many bytes of the next one have come', async () => {
  const rig = connectorsRig();
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('account', 'live');
  await rig.until('prediction', 'live');
  await rig.clock.advance(5_000);
  const socket = rig.socket('account');
  socket.answers = false;
  let received = 0;
  socket.bytesReceived = () => {
    received += 1;
    return 1_000_000 + received;
  };
  await rig.clock.advance(2);
  const wholeUntilMs = rig.clock.nowMs();
  rig.sink.items.length = 0;
  await rig.clock.advance(35_000);
  socket.end({ kind: 'closed', code: 1006, reason: '' });
  const marks = rig.sink.items.filter(
    (item): item is ContinuityMark => item.kind === 'continuity' && item.stream === 'account' && item.event !== 'live',
  );
  expect(marks.map(({ event }) => event)).toEqual(['heartbeat', 'heartbeat', 'lost']);
  for (const { fromMs, atMs } of marks) expect(fromMs ?? atMs).toBeLessThanOrEqual(wholeUntilMs);
});
