// What a user saw: A request that waited for a command could make the service loop and answer no request.

import { expect, it } from 'vitest';
import type { Command } from '../../../src/domain/command.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { awaitCommand } from '../../../src/service/commands/await-command.ts';
import type { EventSink } from '../../../src/service/rest/stream/stream-event.ts';
import { StreamHub, streamHubDefaults } from '../../../src/service/rest/stream/stream-hub.ts';
import type { OrderReads } from '../../../src/store/orders/order-reads.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

/**
 * Loops of the kind of `start-without-a-token.test.ts`: nothing in a turn of theirs took time where
 * all was answered at once.
 */

it('a caller that waits for a conflict which a person settles at that moment has its answer, and no loop', async () => {
  const clock = new VirtualClock();
  const command = (state: Command['state'], version: number) => ({ commandId: 'c', state, version }) as Command;
  let hear: (command: Command) => void = () => undefined;
  const book = {
    get: () => ({ command: command('unknown', 1) }) as never,
    listen: (_: string, callback: (command: Command) => void) => {
      hear = callback;
      return () => undefined;
    },
  };
  const answer = awaitCommand({ book, clock, journal: { find: async () => undefined } }, 'c', 10_000);
  await clock.advance(100);
  hear(command('conflict', 2));
  hear(command('accepted', 3));
  await clock.advance(1);
  expect(await answer).toMatchObject({ state: 'accepted', version: 3 });
});

const page = { updates: [], lastSeq: 5n, oldestSeq: 1n };
it.each([
  ['its end can not be read', page],
  ['the log was cut off, and its end can not be read', { ...page, lastSeq: 9n, oldestSeq: 8n }],
])('a reader of the stream asks for the log twice a second where %s', async (_, found) => {
  const clock = new VirtualClock();
  let asked = 0;
  const reads = {
    newestSeq: () => Promise.reject(new Error('the database is away')),
    updatesAfter: async () => {
      asked += 1;
      return found;
    },
  } as unknown as OrderReads;
  const metrics = createMetrics().rest;
  const hub = new StreamHub({ clock, log: silentLog, reads, metrics }, streamHubDefaults);
  const sink: EventSink = {
    bufferedBytes: 0,
    write: () => undefined,
    onRoom: (done) => done(),
    onGone: () => undefined,
    end: () => undefined,
    destroy: () => undefined,
  };
  const accounts = { kind: 'all' } as const;
  hub.open({ principal: 'p', accounts, isAllowed: async () => true } as never, sink, 5n, 5n);
  await clock.advance(10_000);
  expect(asked).toBeGreaterThan(5);
  expect(asked).toBeLessThan(25);
  hub.stop();
  await clock.advance(1_000);
});
