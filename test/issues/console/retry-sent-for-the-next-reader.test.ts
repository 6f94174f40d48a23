// What a user saw: An order of a reader who had signed out was sent once more, by the next reader's token.

import { expect, it } from 'vitest';
import { KeyedSend } from '../../../src/console/state/commands/keyed-send.ts';
import { ConsoleRig } from '../../support/rest/console-rig.ts';

const words = 'POST /v1/orders';
const request = { method: 'POST', path: '/v1/orders', body: {} } as const;

async function signedIn() {
  const rig = new ConsoleRig();
  rig.tokens = ['ann', 'bob'];
  rig.kept = 'ann';
  await rig.state.start();
  await rig.settle();
  const next = async () => {
    rig.state.session.signOut();
    await rig.state.session.signIn('bob');
  };
  const tokens = () =>
    rig.asked.filter(({ method }) => method === 'POST').map(({ headers }) => headers['authorization']);
  return { rig, next, tokens };
}

it('a retry under way ends with a sign-out, without an answer', async () => {
  const { rig, next, tokens } = await signedIn();
  rig.away.add(words);
  const sent = new KeyedSend(rig.state).send(request);
  await rig.settle();
  await next();
  rig.away.clear();
  await rig.pass(500);
  await rig.pass(2_000);
  expect([await sent, tokens()]).toEqual([{ kind: 'away' }, ['Bearer ann']]);
});

it('so does a request whose token was refused meanwhile', async () => {
  const { rig, next, tokens } = await signedIn();
  const answered = Promise.withResolvers<void>();
  rig.held.set(words, answered.promise);
  rig.answers.set(words, { status: 401, body: { code: 'INVALID_TOKEN', detail: 'no' } });
  const sent = rig.state.rest.send('POST', '/v1/orders');
  await next();
  answered.resolve();
  expect([await sent, tokens()]).toEqual([{ kind: 'away' }, ['Bearer ann']]);
});
