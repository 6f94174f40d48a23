// What a user saw: One token's thousands of cancels on one socket made those of other desks fail.

import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLines } from '../../support/runs/test-lines.ts';

const tokens = ['wild', 'desk'].map((name) => ({
  name,
  sha256: sha256(name),
  scopes: ['orders:read', 'orders:write'],
  accounts: 'all' as const,
}));

const request = (method: string, path: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wild\r\nIdempotency-Key: k\r\n\r\n`;

it('a signed-in socket with more than 64 unanswered requests is ended, and the log names its principal', async () => {
  const { log, lines } = testLines();
  const rig = await startRest({ auth: { tokens }, log });
  onTestFinished(() => rig.server.drain(AbortSignal.abort()));
  const answer = Promise.withResolvers<void>();
  const submit = rig.commands.submitAnswer;
  rig.commands.submitAnswer = async (submission) => {
    if (submission.principal === 'wild') await answer.promise;
    return submit(submission);
  };
  const { hostname, port } = new URL(rig.address);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const seen = { text: '', isClosed: false };
  socket
    .on('error', () => undefined)
    .on('close', () => {
      seen.isClosed = true;
    })
    .on('data', (bytes: Buffer) => {
      seen.text += bytes.toString('latin1');
    });
  socket.write(request('GET', '/v1/orders'));
  await eventually(() => expect(seen.text).toContain('HTTP/1.1 200'));

  const cancels = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) =>
      request('DELETE', `/v1/orders/none-${from + at}?accountId=ACC-1`),
    ).join('');
  socket.write(cancels(0, 64));
  await eventually(() => expect(rig.commands.submissions).toHaveLength(64));
  expect(seen.isClosed).toBe(false);
  socket.write(cancels(64, 600));
  await eventually(() => expect(seen.isClosed).toBe(true));
  answer.resolve();

  const own = { method: 'DELETE', headers: { authorization: 'Bearer desk', 'idempotency-key': 'k' } };
  expect((await ask(`${rig.address}/v1/orders/o-1?accountId=ACC-1`, own)).status).toBe(200);
  expect(rig.commands.submissions).toHaveLength(65);
  expect(lines().filter(({ reason }) => reason === 'requests')).toMatchObject([{ ended: 1, principal: 'wild' }]);
});
