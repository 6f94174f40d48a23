// What a user saw: A gateway's JSON error counted as the service's word, and the order was placed twice.

import { expect, it } from 'vitest';
import { problemBody, restServer, runAgainst } from '../../support/rest/rest-answers.ts';
import { json } from '../../support/servers/http-server.ts';

const place = ['place', '--symbol', 'AAPL', '--account', 'A', '--side', 'buy', '--qty', '1', '--type', 'market'];

it('an error that is no problem of the service leaves the outcome open, and names the line to repeat', async () => {
  const rest = await restServer((_request, response) =>
    json(response, 504, { code: 'UPSTREAM_TIMEOUT', message: 'm' }),
  );
  const { code, err } = await runAgainst(rest.url, [...place, '--idempotency-key', 'k-7']);
  expect([code, err]).toEqual([75, expect.stringContaining('--idempotency-key k-7')]);
});

it('a problem of the service says that nothing was journaled', async () => {
  const rest = await restServer((_request, response) =>
    json(response, 503, problemBody(503, 'NOT_LEADER', 'no process')),
  );
  const { code, err } = await runAgainst(rest.url, [...place, '--idempotency-key', 'k-7']);
  expect([code, err]).toEqual([69, expect.not.stringContaining('--idempotency-key k-7')]);
});
