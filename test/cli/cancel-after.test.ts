import { describe, expect, it } from 'vitest';
import { problemBody, restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

describe('cancel-after', () => {
  it('arms the accounts that it names, and says until when', async () => {
    const answer = { accountIds: ['A', 'B'], firesAt: '2026-11-21T15:00:30.000Z' };
    const rest = await restServer((_request, response) => json(response, 200, answer));
    const { code, out } = await runAgainst(rest.url, ['cancel-after', '30', '--account', 'A', 'B']);
    const { method, path, body } = rest.received[0] ?? {};
    expect([method, path, body]).toEqual(['POST', '/v1/cancel-after', '{"seconds":30,"accountIds":["A","B"]}']);
    expect(code).toBe(0);
    expect(out).toBe(
      'Armed until 2026-11-21T15:00:30.000Z for 2 accounts: A B\nUnless it is renewed by then, their open orders are cancelled.\n',
    );
  });

  it('disarms with 0, for every account of the token where none is named', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { accountIds: ['A'] }));
    const { code, out } = await runAgainst(rest.url, ['cancel-after', '0']);
    expect([code, out, rest.received[0]?.body]).toEqual([0, 'Disarmed for 1 account: A\n', '{"seconds":0}']);
    const asJson = await runAgainst(rest.url, ['cancel-after', '0', '--json']);
    expect(asJson.out).toBe('{"accountIds":["A"]}\n');
  });

  it.each([['86401'], ['-1'], ['1.5'], ['soon'], ['']])(
    'refuses %j seconds before anything is sent',
    async (seconds) => {
      const rest = await restServer((_request, response) => json(response, 200, {}));
      expect(await runAgainst(rest.url, ['cancel-after', seconds])).toMatchObject({ code: 64 });
      expect(rest.received).toEqual([]);
    },
  );

  it('that was not armed does not end with 0', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 503, problemBody(503, 'NOT_LEADER', 'a standby')),
    );
    expect(await runAgainst(rest.url, ['cancel-after', '30'])).toMatchObject({ code: 69 });
  });
});
