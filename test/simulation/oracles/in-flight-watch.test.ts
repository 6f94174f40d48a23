import { expect, it } from 'vitest';
import { Secret } from '../../../src/runtime/secret.ts';
import { book } from '../../support/platform/book.ts';
import { Host } from '../host.ts';
import { noStreamFaults } from '../plan/stream-faults.ts';
import { BareViews } from '../planted/bare-views.ts';
import { Trace } from '../trace.ts';
import { simulatedPlatform } from '../venues/simulated-platform.ts';
import type { MemorySocket } from '../world/memory-socket.ts';
import { MemoryStream } from '../world/memory-stream.ts';
import { MemoryTokens } from '../world/memory-tokens.ts';
import { InFlightWatch } from './in-flight-watch.ts';

const name = 'prediction:A-1';

/**
 * Half of what the platform sends is garbage, on connections of one process, each subscribed.
 * Returns what the watch says of a heartbeat after many events.
 */
async function breaches(silent: readonly boolean[]): Promise<readonly string[]> {
  const { clock, random, open, account } = book();
  const tokens = new MemoryTokens();
  const [trace, bare] = [new Trace(clock), new BareViews(random)];
  const stream = new MemoryStream({
    clock,
    random,
    tokens,
    account: () => account,
    trace,
    bare,
    venue: simulatedPlatform,
  });
  const watch = new InFlightWatch(clock);
  stream.onSent = (socket, of, text) => watch.sent(socket, of, text);
  stream.onSpoiled = (_, of, text) => watch.excuse(of, text);
  const dial = stream.socketFactory(new Host('a', clock));
  const nothing = () => {};
  const handlers = { onOpen: nothing, onFrame: nothing, onPong: nothing, onEnd: nothing };
  const sockets = silent.map(() => dial('ws://prediction', new Secret(tokens.issue()), handlers) as MemorySocket);
  await clock.advance(10);
  for (const [i, socket] of sockets.entries()) {
    socket.subscribed.add(name);
    socket.silent = silent[i] === true;
  }
  stream.faults = { ...noStreamFaults, garbage: 0.5 };
  for (let i = 0; i < 50; i += 1) stream.emit(open(), 'opened');
  await clock.advance(100);
  const heartbeat = {
    kind: 'watermarks',
    markId: 'm',
    stream: 'prediction',
    event: 'heartbeat',
    atMs: clock.nowMs(),
  } as const;
  watch.mark({ ...heartbeat, accountIds: [account.id] });
  return watch.breaches;
}

it('holds nothing against a process that read every event on one of its connections, whatever lies on the other', async () => {
  expect(await breaches([false, true])).toEqual([]);
});

it('holds an event against a process that read it on no connection', async () => {
  expect(await breaches([true, true])).toEqual([expect.stringContaining('a heartbeat covers an event that was sent')]);
});
