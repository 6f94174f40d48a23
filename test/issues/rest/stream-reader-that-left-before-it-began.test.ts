// What a user saw: After a slow moment of the database no reader of the stream was served until a restart.

import { expect, it, onTestFinished } from 'vitest';
import { EventReader } from '../../support/rest/event-reader.ts';
import { startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

it('a reader that leaves while the database is asked where the log ends leaves no place taken', async () => {
  const rig = await startRest({ stream: { maxClients: 1, maxClientsPerPrincipal: 1 } });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const newestSeq = rig.reads.newestSeq.bind(rig.reads);
  const answer = Promise.withResolvers<void>();
  let asked = 0;
  rig.reads.newestSeq = async () => {
    asked += 1;
    await answer.promise;
    return newestSeq();
  };
  const left = new AbortController();
  const gone = fetch(`${rig.address}/v1/stream`, { signal: left.signal }).catch(() => undefined);
  await eventually(() => expect(asked).toBe(1));
  left.abort();
  await gone;
  // The server has seen it go, and answers another one in the meantime.
  await eventually(async () => expect((await fetch(`${rig.address}/v1/orders`)).status).toBe(200));
  answer.resolve();
  await eventually(async () => {
    const reader = await EventReader.open(`${rig.address}/v1/stream`, {});
    reader.close();
  });
});
