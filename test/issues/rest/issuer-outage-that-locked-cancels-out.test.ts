// What a user saw: Ten minutes after the token issuer went away, every caller got 503, also for cancels.

import { afterEach, expect, it } from 'vitest';
import { EventReader } from '../../support/rest/event-reader.ts';
import { ask, startIssuer, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function withIssuer() {
  const issuer = await startIssuer();
  stops.push(() => issuer.stop());
  const clock = new VirtualClock();
  const rig = await startRest({ clock, auth: { jwt: issuer.jwt } });
  stops.push(() => rig.server.drain(AbortSignal.abort()));
  const reads = async (outcome: string) => {
    const { values } = await rig.metrics.rest.issuerKeyReads.get();
    return values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
  };
  const halt = (token: string) =>
    ask(`${rig.address}/v1/halt`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"reason":"stop"}',
    });
  /** Until the keys were read once more, with whatever result. */
  const nextRead = async (outcome: string) => {
    const before = await reads(outcome);
    await eventually(async () => {
      await clock.advance(5_000);
      expect(await reads(outcome)).toBeGreaterThan(before);
    });
  };
  return { issuer, clock, rig, reads, halt, nextRead };
}

// The keys were forgotten after ten minutes, and then every caller got
// 503: those who wanted out of the market too.
it('a token whose key was read before halts and cancels for as long as the issuer is away', async () => {
  const { issuer, clock, reads, halt, nextRead } = await withIssuer();
  const token = await issuer.sign();
  expect((await halt(token)).status).toBe(200);
  issuer.answers.status = 500;
  await nextRead('failed');
  for (let hours = 0; hours < 2; hours += 1) {
    await clock.advance(3_600_000);
    expect((await halt(token)).status).toBe(200);
  }
  expect(await reads('failed')).toBeGreaterThan(0);
  const newer = await halt(await issuer.sign({}, { kid: 'made-during-the-outage' }));
  expect([newer.status, newer.body['code']], 'a key that nobody here has seen').toEqual([503, 'AUTH_UNAVAILABLE']);
  expect((await halt(await issuer.signWithOtherKey())).status, 'forged').toBe(401);

  issuer.answers.status = 200;
  await nextRead('ok');
  expect((await halt(token)).status).toBe(200);
});

it('an answer without a key takes none away', async () => {
  const { issuer, halt, nextRead } = await withIssuer();
  const token = await issuer.sign();
  expect((await halt(token)).status).toBe(200);
  issuer.answers.keys = [];
  await nextRead('failed');
  expect((await halt(token)).status).toBe(200);
});

it('a key that the issuer has taken back ends its tokens and their streams within a minute', async () => {
  const { issuer, clock, rig, halt, nextRead } = await withIssuer();
  const token = await issuer.sign();
  const reader = await EventReader.open(`${rig.address}/v1/stream`, { authorization: `Bearer ${token}` });
  stops.push(() => reader.close());
  expect(reader.status).toBe(200);
  issuer.answers.keys = issuer.answers.keys.map((key) => ({ ...key, kid: 'two' }));
  await nextRead('ok');
  expect((await halt(token)).status).toBe(401);
  await eventually(async () => {
    await clock.advance(1_000);
    expect(reader.events).toEqual([{ event: 'shutdown', id: '0', data: '{"reason":"token_revoked"}' }]);
  });
});
