// What a user saw: Readers that found the stream full kept the database busy, and other reads waited.

import { expect, it, onTestFinished } from 'vitest';
import { EventReader } from '../../support/rest/event-reader.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

it('a reader for which there is no room is refused before the database is asked', async () => {
  const rig = await startRest({ stream: { maxClients: 1, maxClientsPerPrincipal: 1 } });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const reader = await EventReader.open(`${rig.address}/v1/stream`, {});
  onTestFinished(() => reader.close());
  let asked = 0;
  rig.reads.newestSeq = async () => {
    asked += 1;
    return 0n;
  };
  const { status, headers, body } = await ask(`${rig.address}/v1/stream?events=outcome`);
  expect([status, body['code'], headers.get('retry-after')]).toEqual([503, 'TOO_MANY_STREAMS', '5']);
  expect(asked).toBe(0);
});
