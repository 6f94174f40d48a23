// What a user saw: After a renewal with other rights the open screen kept what the old token had shown.

import { expect, it } from 'vitest';
import { RiskWatch } from '../../../src/console/state/commands/risk-watch.ts';
import { ConsoleRig } from '../../support/rest/console-rig.ts';

const issuer = 'https://id.example';
const settings = {
  ...{ issuer, audience: 'https://tidemark.example', clientId: 'console', scope: 'orders:read' },
  metadata: { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
};

/** Renews the token, and counts the ends of a reader's time: each makes the screens anew. */
async function renewed(prepare: (rig: ConsoleRig) => void) {
  const rig = new ConsoleRig();
  rig.answers.set('/console/sign-in.json', { status: 200, body: { issuer: settings } });
  rig.tokens = ['first', 'second'];
  rig.kept = 'first';
  rig.stored.set('tidemark.renewal', JSON.stringify({ refreshToken: 'r-1', endsAtMs: 600_000 }));
  rig.askIssuer = async () => Response.json({ access_token: 'second', token_type: 'bearer', expires_in: 600 });
  await rig.state.start();
  const before = rig.state.rest.signOuts;
  prepare(rig);
  await rig.pass(540_000);
  await import('oauth4webapi');
  for (let round = 0; round < 8; round += 1) await rig.settle();
  expect([rig.kept, rig.state.session.state.value.kind]).toEqual(['second', 'open']);
  return rig.state.rest.signOuts - before;
}

it('other rights are a new beginning for the screens, the same ones are none', async () => {
  expect(await renewed((rig) => rig.rights.scopes.splice(1))).toBe(1);
  expect(await renewed(() => undefined)).toBe(0);
});

it('the exposure is read again when the stream begins anew, though nothing was seen to change', async () => {
  const rig = new ConsoleRig();
  rig.answers.set('/v1/exposure', { status: 200, body: { items: [] } });
  await rig.state.start();
  const watch = new RiskWatch(rig.state);
  const abort = new AbortController();
  void watch.exposure.follow(abort.signal);
  const exposures = async () => {
    for (let second = 0; second < 10; second += 1) await rig.pass(1_000);
    return rig.asked.filter(({ path }) => path === '/v1/exposure').length;
  };
  expect(await exposures()).toBe(1);
  watch.again();
  expect(await exposures()).toBe(2);
  abort.abort();
});
