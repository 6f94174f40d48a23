import { describe, expect, it } from 'vitest';
import { commandBody, problemBody, restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

const place = [
  'place',
  '--account',
  'SIM-1001',
  '--symbol',
  'AAPL',
  '--side',
  'buy',
  '--type',
  'limit',
  '--qty',
  '10',
  '--price',
  '187.5',
];
const predict = [
  ...[
    'place',
    '--prediction',
    '--account',
    'SIM-1001',
    '--symbol',
    'FED-CUT-DEC26',
    '--outcome',
    'yes',
    '--side',
    'BUY',
  ],
  ...['--type', 'limit', '--qty', '50', '--price', '0.42', '--ref', 'my-7'],
];

describe('place', () => {
  it('sends an account order in the words of its endpoint, once, with the key that it tells before', async () => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody({ orderId: 'o-1' })));
    const { code, out, err } = await runAgainst(rest.url, place);
    const key = /^idempotency key (\S+)\n$/.exec(err)?.[1];
    expect(rest.received).toHaveLength(1);
    const [request] = rest.received;
    expect(request).toMatchObject({ method: 'POST', path: '/v1/orders', headers: { 'idempotency-key': key } });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      accountId: 'SIM-1001',
      symbol: 'AAPL',
      side: 'BUY',
      type: 'LIMIT',
      qty: '10',
      timeInForce: 'DAY',
      price: '187.5',
    });
    expect([code, out]).toEqual([0, 'accepted  command 4f7c1d1e-1111-4222-8333-444455556666  order o-1\n']);
  });

  it('sends a prediction order with its own words, and says nothing of a key that was given', async () => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody()));
    const { err } = await runAgainst(rest.url, [...predict, '--idempotency-key', 'k-1', '--wait', '5']);
    expect(err).toBe('');
    const [request] = rest.received;
    expect(request).toMatchObject({
      path: '/v1/predictions/orders',
      headers: { 'idempotency-key': 'k-1', prefer: 'wait=5' },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      accountId: 'SIM-1001',
      symbol: 'FED-CUT-DEC26',
      outcome: 'YES',
      side: 'buy',
      orderType: 'limit',
      timeInForce: 'day',
      quantity: '50',
      price: '0.42',
      clientOrderRef: 'my-7',
    });
  });

  it('takes legs', async () => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody()));
    await runAgainst(rest.url, [
      ...place,
      '--leg',
      'AAPL261218C00200000:buy:1:open',
      '--leg',
      'AAPL261218C00210000:SELL:1:OPEN',
    ]);
    expect(JSON.parse(rest.received[0]?.body ?? '')['legs']).toEqual([
      { symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' },
      { symbol: 'AAPL261218C00210000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' },
    ]);
  });

  it('ends with 75 while nobody knows the result, and says how to go on', async () => {
    const unknown = commandBody({
      result: 'unknown',
      state: 'unknown',
      reason: { code: 'HTTP_504', message: 'result unknown' },
      advice: 'Do not send it again.',
    });
    const rest = await restServer((_request, response) => json(response, 202, unknown));
    const { code, out } = await runAgainst(rest.url, place);
    expect(code).toBe(75);
    expect(out).toBe(
      'unknown  command 4f7c1d1e-1111-4222-8333-444455556666\n  result unknown (HTTP_504)\n' +
        '  Do not send it again.\n  tidemark command show 4f7c1d1e-1111-4222-8333-444455556666\n',
    );
  });

  it.each([
    ['refused', 1],
    ['not_sent', 1],
    ['rejected', 1],
    ['moot', 1],
    ['applied', 0],
  ])('ends as a script needs it when the result is %s', async (result, expected) => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody({ result, state: result })));
    expect((await runAgainst(rest.url, place)).code).toBe(expected);
  });

  it('prints the answer as JSON with the key and whether it was sent before', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 200, commandBody(), { 'idempotent-replayed': 'true' }),
    );
    const { out } = await runAgainst(rest.url, [...place, '--json', '--idempotency-key', 'k-2']);
    expect(JSON.parse(out)).toMatchObject({ result: 'accepted', idempotencyKey: 'k-2', replayed: true });
  });

  it('says of a connection that broke that it may have arrived, and which line tells', async () => {
    const rest = await restServer((_request, response) => void response.destroy());
    const { code, out, err } = await runAgainst(rest.url, place);
    const key = /^idempotency key (\S+)\n/.exec(err)?.[1];
    expect([code, out]).toEqual([75, '']);
    expect(err).toContain(`--idempotency-key ${key}`);
    expect(rest.received, 'it is not sent again by itself').toHaveLength(1);
  });

  it('says that nothing was sent where no connection came about', async () => {
    const rest = await restServer(() => undefined);
    await rest.close();
    const { code, err } = await runAgainst(rest.url, [...place, '--idempotency-key', 'k']);
    expect(code).toBe(69);
    expect(err).toContain('Nothing was sent. Start the service with `tidemark serve`');
  });

  it('says with which key to ask again when another instance was asked, and its answer was lost', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 503, problemBody(503, 'FORWARD_UNANSWERED', 'the answer was lost')),
    );
    const { code, err } = await runAgainst(rest.url, [...place, '--idempotency-key', 'k']);
    expect(code).toBe(75);
    expect(err).toContain('--idempotency-key k');
  });

  it.each([
    [400, 'INVALID_BODY', 64],
    [401, 'UNAUTHORIZED', 77],
    [403, 'COMMANDS_OFF', 77],
    [404, 'ACCOUNT_NOT_FOUND', 1],
    [409, 'PLACING_HALTED', 1],
    [412, 'REVISION_MISMATCH', 1],
    [422, 'IDEMPOTENCY_KEY_REUSED', 64],
    [429, 'RATE_LIMITED', 69],
    [503, 'NOT_LEADER', 69],
  ])('tells a problem %d in one sentence with its code', async (status, problem, expected) => {
    const rest = await restServer((_request, response) =>
      json(response, status, problemBody(status, problem, 'this is why')),
    );
    const { code, out, err } = await runAgainst(rest.url, [...place, '--idempotency-key', 'k']);
    expect([code, out]).toEqual([expected, '']);
    expect(err.split('\n')[0]).toBe(`tidemark: this is why (${problem})`);
  });

  it('names each fault of a body', async () => {
    const faults = [{ path: 'qty', message: 'must be greater than zero' }];
    const rest = await restServer((_request, response) =>
      json(response, 400, problemBody(400, 'INVALID_BODY', 'no', { faults })),
    );
    expect((await runAgainst(rest.url, [...place, '--idempotency-key', 'k'])).err).toBe(
      'tidemark: the request has these faults (INVALID_BODY):\n  qty must be greater than zero\n',
    );
  });

  it('signs in by the token of the settings or of a file, and never shows it', async () => {
    const rest = await restServer((_request, response) => json(response, 401, problemBody(401, 'UNAUTHORIZED', 'no')));
    const { out, err } = await runAgainst(rest.url, place, { TIDEMARK_TOKEN: 's3cr3t-token' });
    expect(rest.received[0]?.headers.authorization).toBe('Bearer s3cr3t-token');
    expect(out + err).not.toContain('s3cr3t-token');
  });

  it('does not take a proxy’s page for an answer', async () => {
    const rest = await restServer((_request, response) => void response.writeHead(502).end('<html>bad gateway</html>'));
    const { code, err } = await runAgainst(rest.url, place);
    expect(code).toBe(75);
    expect(err).toContain('is not REST of a Tidemark service');
  });

  it.each([
    [['place', '--account', 'A']],
    [[...place, '--wait', '31']],
    [[...place, '--idempotency-key', 'a b']],
    [[...place, '--outcome', 'YES']],
    [[...place, '--url', 'localhost:8080']],
    [[...predict, '--leg', 'X:BUY:1:OPEN']],
  ])('sends nothing for a wrong call: %j', async (argv) => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody()));
    expect(await runAgainst(rest.url, argv)).toMatchObject({ code: 64, out: '' });
    expect(rest.received).toEqual([]);
  });
});

describe('replace', () => {
  it('sends only what is to change, at the revision that was asked for', async () => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody({ kind: 'replace' })));
    await runAgainst(rest.url, ['replace', 'o-1', '--account', 'SIM-1001', '--price', '0.45', '--if-revision', '4']);
    const [request] = rest.received;
    expect(request).toMatchObject({
      method: 'PATCH',
      path: '/v1/predictions/orders/o-1',
      headers: { 'if-match': '"4"' },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({ accountId: 'SIM-1001', price: '0.45' });
  });

  it('never lets an order id become a path of its own', async () => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody()));
    await runAgainst(rest.url, ['replace', '../../orders?x=1', '--account', 'A', '--price', '0.45']);
    expect(rest.received[0]?.path).toBe('/v1/predictions/orders/..%2F..%2Forders%3Fx%3D1');
    expect(await runAgainst(rest.url, ['replace', '..', '--account', 'A', '--price', '0.45'])).toMatchObject({
      code: 64,
    });
  });

  it.each([
    [128, 0],
    [129, 64],
  ])('of an order whose id has %d characters ends with %d, as the service takes ids', async (length, expected) => {
    const rest = await restServer((_request, response) => json(response, 200, commandBody()));
    const { code } = await runAgainst(rest.url, ['replace', 'o'.repeat(length), '--account', 'A', '--price', '0.45']);
    expect(code).toBe(expected);
  });
});
