import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { Connection, type EventFrame } from '../../../src/service/sources/connection.ts';
import type { ConnectionEnd } from '../../../src/service/sources/socket.ts';
import { streamTimingDefaults } from '../../../src/service/sources/stream-timings.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { alpacaVenue } from '../../../src/venue/alpaca/alpaca-venue.ts';
import { alpacaClient } from '../../support/platform/alpaca.ts';
import { eventually } from '../../support/runs/poll.ts';

/** A connection of the service to the emulator, with the account's keys or other ones. */
async function session(secret?: string) {
  const client = await alpacaClient();
  const { keyId, secretKey } = client.at.accounts[0] ?? {};
  const events: EventFrame[] = [];
  const opened = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<ConnectionEnd>();
  const token = { secret: new Secret(`${keyId}:${secret ?? secretKey}`), generation: 1, expiresAtMs: Infinity };
  const { protocol } = alpacaVenue.alpaca_paper;
  const connection = new Connection(
    { clock: systemClock, openSocket: wsSocketFactory(systemClock) },
    { protocol, url: client.at.stream, token, timings: streamTimingDefaults },
    {
      onOpen: () => opened.resolve(),
      onEvent: (frame) => events.push(frame),
      onUnreadable: ({ reason }) => expect.unreachable(reason),
      onControl: () => undefined,
      onPongsMissing: () => undefined,
      onEnd: ended.resolve,
    },
  );
  onTestFinished(() => connection.terminate({ reason: 'stopped', detail: 'the test is over' }));
  return { ...client, events, connection, opened: opened.promise, ended: ended.promise };
}

it('a session of the service signs in at the emulator, and shows its events under the account', async () => {
  const { connection, opened, events, place } = await session();
  await opened;
  expect(await connection.subscribe('acct-1').result).toEqual({ kind: 'acknowledged' });
  const { id } = (await place()).json;
  await eventually(() => expect(events.length).toBeGreaterThan(1));
  expect(events[0]).toMatchObject({ stream: 'alpaca_paper', accountId: 'acct-1', row: { id } });
});

it('a session with other keys ends, and says that it is not authorized', async () => {
  const { ended } = await session('another');
  expect(await ended).toEqual({ reason: 'unauthorized', detail: 'the session is unauthorized' });
});
