// What a user saw: A reader with a revoked token got events for up to an hour more.

import { afterEach, expect, it } from 'vitest';
import type { PrincipalToken } from '../../../src/store/principals.ts';
import { EventReader } from '../../support/rest/event-reader.ts';
import { sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const token: PrincipalToken = { name: 'desk', sha256: sha256('t'), scopes: ['orders:read'], accounts: ['ACC-1'] };

async function reading(first: readonly PrincipalToken[]) {
  const clock = new VirtualClock();
  const stored = { tokens: first, away: false };
  const active = async () => {
    if (stored.away) throw new Error('away');
    return stored.tokens;
  };
  const rig = await startRest({ clock, principals: { active } });
  stops.push(() => rig.server.drain(AbortSignal.abort()));
  const reader = await EventReader.open(`${rig.address}/v1/stream`, { authorization: 'Bearer t' });
  stops.push(() => reader.close());
  expect(reader.status).toBe(200);
  const lastWords = async () => {
    await reader.untilEnded();
    return reader.events;
  };
  return { clock, stored, rig, reader, lastWords };
}

const shutdown = (reason: string) => [{ event: 'shutdown', id: '0', data: `{"reason":"${reason}"}` }];

// A reader was judged once, as it began: with a revoked token it read on for up to an hour, with
// one that ended until the next heartbeat.
it('a token that was revoked reads on for at most five seconds', async () => {
  const { clock, stored, lastWords } = await reading([token]);
  await clock.advance(60_000);
  stored.tokens = [];
  await clock.advance(5_000);
  expect(await lastWords()).toEqual(shutdown('token_revoked'));
});

it('a token that has ended reads on for at most five seconds, also while the database is away', async () => {
  const clock = new VirtualClock();
  const ending = { ...token, expiresAtMs: clock.nowMs() + 61_000 };
  const { clock: its, stored, reader, lastWords } = await reading([ending]);
  stored.away = true;
  await its.advance(60_000);
  expect(reader.ended).toBe(false);
  await its.advance(6_000);
  expect(await lastWords()).toEqual(shutdown('token_expired'));
});

it('a token that is still good reads on, also while the database is away', async () => {
  const { clock, stored, rig, reader } = await reading([token]);
  stored.away = true;
  await clock.advance(600_000);
  expect(reader.ended).toBe(false);
  rig.reads.addUpdate();
  rig.server.wake();
  await clock.advance(1_000);
  await eventually(() => expect(reader.events).toMatchObject([{ event: 'update' }]));
});
