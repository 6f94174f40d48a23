// What a user saw: A new reader of the stream got 503, because fifty readers that were gone held all places.

import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { loopbackPrincipal } from '../../../src/service/rest/auth/principal.ts';
import { StreamClient } from '../../../src/service/rest/stream/stream-client.ts';
import type { EventSink } from '../../../src/service/rest/stream/stream-event.ts';
import { portsOf, readUnacknowledged } from '../../../src/service/rest/stream/unacknowledged.ts';
import { EventReader } from '../../support/rest/event-reader.ts';
import { startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/**
 * A reader that is gone without a word: its socket is open, and nothing is read from it any more.
 */
async function goneReader(address: string): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  stops.push(() => socket.destroy());
  socket.write('GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  return socket;
}

/**
 * Fifty readers that were cut off without a FIN had all places of their principal, for as long as
 * kernels buffered what was sent to them.
 */
describe('readers of the stream that take nothing', () => {
  it.each([
    ['more than the kernel takes for them', 40],
    ['only what the kernel takes for them', 4],
  ])('lose their places while %s waits, and a reader that takes its events does not', async (_what, rounds) => {
    const rig = await startRest({
      stream: {
        ...{ pollEveryMs: 20, pollGapMs: 1, heartbeatEveryMs: 200, goneAfterMs: 1_500 },
        ...{ maxClientsPerPrincipal: 4, maxBufferedBytes: 200_000_000 },
      },
    });
    stops.push(() => rig.server.drain(AbortSignal.abort()));
    const url = `${rig.address}/v1/stream`;
    for (let at = 0; at < 3; at += 1) await goneReader(rig.address);
    const reader = await EventReader.open(url);
    stops.push(() => reader.close());
    expect((await EventReader.open(url)).status).toBe(503);
    const clients = async () => (await rig.metrics.rest.streamClients.get()).values[0]?.value;
    expect(await clients()).toBe(4);
    for (let round = 0; round < rounds; round += 1) {
      for (let at = 0; at < 150; at += 1) rig.reads.addUpdate({ revision: rig.reads.updates.length + 1 });
      rig.server.wake();
      await eventually(() => expect(reader.events.length).toBe((round + 1) * 150));
    }
    await eventually(async () => expect(await clients()).toBe(1));
    expect(reader.ended).toBe(false);
    const next = await EventReader.open(url);
    stops.push(() => next.close());
    expect(next.status).toBe(200);
    expect((await rig.metrics.rest.slowReaders.get()).values[0]?.value).toBe(3);
  });
});

it.runIf(process.platform === 'linux')('the kernel says what a peer has not acknowledged', async () => {
  const rig = await startRest();
  stops.push(() => rig.server.drain(AbortSignal.abort()));
  const reader = await goneReader(rig.address);
  const own = portsOf(reader.remotePort, reader.localPort);
  await eventually(async () => expect((await readUnacknowledged()).get(own)).toBe(0));
});

describe('a reader', () => {
  const goneAfterMs = 60_000;
  const heard = {
    bufferedBytes: 0,
    ports: '1:2',
    write: () => {},
    onRoom: () => {},
    onGone: () => {},
    end: () => {},
    destroy: () => {},
  };
  const readerOf = (clock: VirtualClock, sink: EventSink) => {
    const reader = {
      principal: loopbackPrincipal.name,
      accounts: { kind: 'all' } as const,
      judge: () => 'good' as const,
    };
    return new StreamClient({ clock, sink }, reader, 0n, { maxBufferedBytes: 1_000, stallMs: 30_000, goneAfterMs });
  };

  it.each<[string, (beat: number) => number, boolean]>([
    ['to which nothing waits', () => 0, false],
    ['that takes one byte in a minute', (beat) => 500 - Math.floor(beat / 4), false],
    ['that has taken all just before', (beat) => (beat % 4 === 3 ? 0 : 100), false],
    ['that takes nothing', () => 500, true],
    ['to which ever more waits', (beat) => 500 + beat * 100, true],
  ])('%s: gone %s', async (_who, waiting, isGone) => {
    const clock = new VirtualClock();
    const client = readerOf(clock, heard);
    client.greet();
    let gone = false;
    for (let beat = 0; beat < 12; beat += 1) {
      await clock.advance(15_000);
      gone ||= client.hasGone(new Map([['1:2', waiting(beat)]]));
    }
    expect(gone).toBe(isGone);
  });
});
