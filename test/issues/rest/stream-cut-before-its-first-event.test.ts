// What a user saw: A stream reader that was cut off before its first event missed what came meanwhile.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { EventReader } from '../../support/rest/event-reader.ts';
import { startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
const readers: EventReader[] = [];

beforeEach(async () => {
  rig = await startRest({ stream: { pollEveryMs: 20, pollGapMs: 1, heartbeatEveryMs: 20 } });
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await rig.server.drain(new AbortController().signal);
});

async function open(query = '', lastId?: string): Promise<EventReader> {
  const reader = await EventReader.open(
    `${rig.address}/v1/stream${query}`,
    lastId === undefined ? {} : { 'last-event-id': lastId },
  );
  readers.push(reader);
  return reader;
}

const add = (count: number, accountId = 'ACC-1') => {
  for (let i = 0; i < count; i += 1) rig.reads.addUpdate({ revision: rig.reads.updates.length + 1, accountId });
  rig.server.wake();
};

it('a reader that is cut off before its first event goes on where it began', async () => {
  add(3);
  const first = await open();
  await eventually(() => expect(first.lastId).toBe('3'));
  first.close();
  add(3);
  const again = await open('', first.lastId);
  const events = await again.take(3);
  expect(events.map(({ event, id }) => [event, id])).toEqual(['4', '5', '6'].map((id) => ['update', id]));
});

it('the id of a reader of a quiet account moves on with the log', async () => {
  const reader = await open('?accountId=ACC-2');
  add(3);
  await eventually(() => expect(reader.lastId).toBe('3'));
  add(1, 'ACC-2');
  add(2);
  await eventually(() => expect(reader.lastId).toBe('6'));
  expect(reader.events.map(({ id }) => id)).toEqual(['4']);
});

it('a stream that we end says how far it was', async () => {
  const reader = await open('?accountId=ACC-2');
  add(3);
  await eventually(() => expect(reader.lastId).toBe('3'));
  await rig.server.drain(new AbortController().signal);
  await reader.untilEnded();
  expect(reader.events).toEqual([{ event: 'shutdown', id: '3', data: '{"reason":"draining"}' }]);
});
