import { expect, it } from 'vitest';
import { restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

const approval = {
  approvalId: '0c2f5f9e-8f43-4c1c-9d0a-5b1f3e0f6a22',
  action: { kind: 'resume', scope: { kind: 'service' } },
  by: 'ann',
  reason: 'checked',
  requestedAt: '2026-11-21T15:00:00.000Z',
  expiresAt: '2026-11-21T16:00:00.000Z',
};

it('approvals ls shows what waits', async () => {
  const rest = await restServer((_request, response) => json(response, 200, { items: [approval] }));
  const { code, out } = await runAgainst(rest.url, ['approvals', 'ls']);
  expect([code, out.split('\n')[1]]).toEqual([
    0,
    '0c2f5f9e-8f43-4c1c-9d0a-5b1f3e0f6a22  {"kind":"resume","scope":{"kind":"service"}}  ann  2026-11-21T16:00:00.000Z  checked',
  ]);
});

it('approvals approve says why, and that it is done', async () => {
  const rest = await restServer((_request, response) => json(response, 200, { approval }));
  const { code, out } = await runAgainst(rest.url, ['approvals', 'approve', approval.approvalId, '--reason', 'agreed']);
  expect(rest.received.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['POST', `/v1/approvals/${approval.approvalId}/approve`, '{"reason":"agreed"}'],
  ]);
  expect([code, out]).toEqual([0, 'Approved, and done.\n']);
});

it.each([[['resume', '--reason', 'checked']], [['limits', 'set', '--max-quantity', '9', '--reason', 'more']]])(
  '%j ends with 75 where it waits for a second principal',
  async (line) => {
    const rest = await restServer((_request, response) => json(response, 202, { approval }));
    const { code, err } = await runAgainst(rest.url, line);
    expect(code).toBe(75);
    expect(err).toContain(`tidemark approvals approve ${approval.approvalId} --reason`);
  },
);
