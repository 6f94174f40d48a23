import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { idsIn } from '../../../src/service/rest/request-fields.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody, predictionBody, sampleRequest } from '../../support/rest/route-samples.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
beforeAll(async () => {
  rig = await startRest();
  rig.reads.addUpdate();
});
afterAll(() => rig.server.drain(new AbortController().signal));
beforeEach(() => {
  rig.commands.submissions.length = 0;
});

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/** A command with this very body. */
function send(body: string | Uint8Array, { path = '/v1/orders', method = 'POST', headers = {} }: Sent = {}) {
  return ask(`${rig.address}${path}`, {
    method,
    body: body as NonNullable<RequestInit['body']>,
    headers: { 'content-type': 'application/json', 'idempotency-key': 'k', ...headers },
  });
}

const json = (over: object) => JSON.stringify({ ...accountBody, ...over });
const prediction = (over: object) => JSON.stringify({ ...predictionBody, ...over });
const withText = (from: string, to: string) => JSON.stringify(accountBody).replace(from, to);

async function expectRefused(answer: ReturnType<typeof send>, status: number, code?: string) {
  const { status: got, headers, body, text } = await answer;
  expect([got, headers.get('content-type')]).toEqual([status, 'application/problem+json; charset=utf-8']);
  expect(body).toMatchObject({
    status,
    retryable: false,
    requestId: expect.any(String),
    code: code ?? expect.any(String),
  });
  expect(text).not.toContain('c4n4ry');
  expect(rig.commands.submissions).toEqual([]);
}

describe('a decimal', () => {
  const wrong = [
    ...[
      '1e999999999',
      '1e-400',
      'NaN',
      'Infinity',
      '0x10',
      '1_000',
      ' 1',
      '1 ',
      '+1',
      '01',
      '.5',
      '1.',
      '１２',
      '-0',
      '',
      '1,5',
      '١',
    ],
    ...[`0.${'1'.repeat(20)}`, '1'.repeat(19), `1${'0'.repeat(400)}`],
  ];

  it.each(wrong)('that is written %j is refused, as quantity and as price', async (text) => {
    await expectRefused(send(json({ qty: text })), 400, 'INVALID_ORDER');
    await expectRefused(send(json({ price: text })), 400, 'INVALID_ORDER');
    await expectRefused(send(prediction({ quantity: text }), { path: '/v1/predictions/orders' }), 400, 'INVALID_ORDER');
  });

  it.each(['10', '1e400', '0.1', '-1', 'true', 'null', '["1"]', '{}'])(
    'that is the JSON value %s is refused',
    async (value) => {
      await expectRefused(send(withText('"10"', value)), 400, 'INVALID_ORDER');
    },
  );

  it.each(['0', '0.0', '-1', '-0.5'])('of %j is refused as a quantity', async (qty) => {
    await expectRefused(send(json({ qty })), 400, 'INVALID_ORDER');
    await expectRefused(send(prediction({ quantity: qty }), { path: '/v1/predictions/orders' }), 400, 'INVALID_ORDER');
  });

  it.each(['0', '1', '1.01', '-0.2'])('of %j is refused as the price of a prediction', async (price) => {
    await expectRefused(send(prediction({ price }), { path: '/v1/predictions/orders' }), 400, 'INVALID_ORDER');
  });

  it('reaches the command side in canonical form', async () => {
    expect((await send(json({ qty: '10.500' }))).status).toBe(200);
    expect(rig.commands.submissions[0]?.request).toMatchObject({ terms: { qty: '10.5', price: '187.5' } });
  });
});

describe('a body', () => {
  const text = JSON.stringify(accountBody);

  it.each<[string, string | Uint8Array, string]>([
    ['with the same key twice', text.replace('{', '{"qty":"10",'), 'INVALID_JSON'],
    ['with the same key twice, once escaped', text.replace('{', '{"\\u0071ty":"10",'), 'INVALID_JSON'],
    ['with __proto__', text.replace('{', '{"__proto__":{"qty":"1"},'), 'INVALID_JSON'],
    ['with __proto__ escaped', text.replace('{', '{"\\u005f_proto__":1,'), 'INVALID_JSON'],
    ['with an unknown field', json({ qtty: '1' }), 'UNKNOWN_FIELD'],
    ['with a lone surrogate', text.replace('AAPL', 'A\\ud800'), 'INVALID_JSON'],
    ['with NUL', text.replace('AAPL', 'A\\u0000'), 'INVALID_JSON'],
    ['with a byte order mark', `\ufeff${text}`, 'INVALID_JSON'],
    ['that is cut', text.slice(0, -5), 'INVALID_JSON'],
    ['with something behind it', `${text} {}`, 'INVALID_JSON'],
    ['with a comment', `${text.slice(0, -1)}/*c4n4ry*/}`, 'INVALID_JSON'],
    ['that is empty', '', 'EMPTY_BODY'],
    ['that is not UTF-8', Buffer.from(text.replace('AAPL', 'ÿ'), 'latin1'), 'INVALID_JSON'],
    ['that is UTF-16', Buffer.from(text, 'utf16le'), 'INVALID_JSON'],
    ['nested 17 deep', `${'['.repeat(17)}${']'.repeat(17)}`, 'INVALID_JSON'],
    ['nested as deep as it is allowed to be long', '['.repeat(32_768), 'INVALID_JSON'],
    ['nested and closed as deep', `${'['.repeat(16_384)}${']'.repeat(16_384)}`, 'INVALID_JSON'],
    ['that is a list', '[]', 'INVALID_ORDER'],
    ['that is null', 'null', 'INVALID_ORDER'],
    ['that is a string', '"c4n4ry"', 'INVALID_ORDER'],
  ])('%s is refused', async (_what, body, code) => {
    await expectRefused(send(body), 400, code);
  });

  it.each<[string, object]>([
    ['a side in the wrong case', { side: 'buy' }],
    ['a side with a line break', { side: 'SELL\n' }],
    ['a symbol with another script’s letters', { symbol: 'ААРL' }],
    ['a symbol that is SQL', { symbol: "'; drop table orders" }],
    ['an account id with another script’s letter', { accountId: 'АCC-1' }],
    ['a limit order without a price', { price: undefined }],
    ['a market order with a price', { type: 'MARKET' }],
    ['a stop price that does not belong to it', { stopPrice: '1' }],
    ['a symbol that is too long', { symbol: 'A'.repeat(21) }],
    ['a reference that is too long', { clientId: 'a'.repeat(51) }],
    [
      'five legs',
      { legs: Array.from({ length: 5 }, () => ({ symbol: 'X', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' })) },
    ],
    ['a command to supersede that is no id', { supersedes: '../../x' }],
  ])('with %s is refused', async (_what, over) => {
    await expectRefused(send(json(over)), 400, 'INVALID_ORDER');
  });

  it.each(['2026-02-30T00:00:00Z', '+275760-09-13T00:00:00Z', '2026-12-31', '2026-12-31T24:00:00Z', '1797638400'])(
    'with the expiry %j is refused',
    async (expireTime) => {
      const body = prediction({ timeInForce: 'gtd', expireTime });
      await expectRefused(send(body, { path: '/v1/predictions/orders' }), 400, 'INVALID_ORDER');
    },
  );

  it('that changes nothing is refused as a replace', async () => {
    const body = JSON.stringify({ accountId: 'ACC-1' });
    await expectRefused(send(body, { path: '/v1/predictions/orders/ord-1', method: 'PATCH' }), 400, 'INVALID_ORDER');
  });

  it('names each fault with its path, and repeats no value', async () => {
    const { body, text } = await send(json({ qty: 'c4n4ry', side: 'c4n4ry' }));
    expect((body['faults'] as { path: string }[]).map(({ path }) => path).sort()).toEqual(['qty', 'side']);
    expect(text).not.toContain('c4n4ry');
  });

  it.each([[null], [{ reason: '' }], [{ reason: '  ' }], [{ reason: 'x'.repeat(501) }], [{ reason: 'a\nb' }], [{}]])(
    'of an operator without a reason is refused: %j',
    async (body) => {
      await expectRefused(send(JSON.stringify(body), { path: '/v1/halt' }), 400, 'INVALID_BODY');
      expect(rig.commands.words).toEqual([]);
    },
  );

  it('of a resolution with a result that no person can say is refused', async () => {
    const path = '/v1/commands/6d5c0f0e-3b1f-4c43-9d7b-2f1f3e0f6a11/resolution';
    await expectRefused(send(JSON.stringify({ result: 'unknown', reason: 'a' }), { path }), 400, 'INVALID_BODY');
  });
});

describe('the size and the kind of a body', () => {
  it('of 32 KiB is read', async () => {
    const padded = JSON.stringify(accountBody).padEnd(32_768, ' ');
    expect((await send(padded)).status).toBe(200);
  });

  it('above 32 KiB is refused', async () => {
    await expectRefused(send(JSON.stringify(accountBody).padEnd(32_769, ' ')), 413, 'TOO_LARGE');
  });

  it('of 10 MB of brackets is refused by its length, before it is looked at', async () => {
    await expectRefused(send('['.repeat(10_000_000)), 413, 'TOO_LARGE').catch((error: unknown) => {
      // The answer may come while fetch still sends, and the connection ends with it.
      if (!(error instanceof TypeError)) throw error;
    });
    expect(rig.commands.submissions).toEqual([]);
  });

  it('of a depth of 100,000 is refused by its length', async () => {
    await expectRefused(send(`${'['.repeat(100_000)}${']'.repeat(100_000)}`), 413, 'TOO_LARGE');
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
  ])('of type %s is refused', async (type) => {
    await expectRefused(send(JSON.stringify(accountBody), { headers: { 'content-type': type } }), 415, 'MEDIA_TYPE');
  });

  it('of no type is refused', async () => {
    const body = new Uint8Array(Buffer.from(JSON.stringify(accountBody)));
    const answer = ask(`${rig.address}/v1/orders`, { method: 'POST', body, headers: { 'idempotency-key': 'k' } });
    await expectRefused(answer, 415, 'MEDIA_TYPE');
  });

  it.each(['gzip', 'br', 'deflate, gzip'])('in encoding %s is refused', async (encoding) => {
    await expectRefused(
      send(JSON.stringify(accountBody), { headers: { 'content-encoding': encoding } }),
      415,
      'CONTENT_ENCODING',
    );
  });

  it('with a charset of UTF-8 is read', async () => {
    const headers = { 'content-type': 'application/json; charset="UTF-8"' };
    expect((await send(JSON.stringify(accountBody), { headers })).status).toBe(200);
  });
});

describe('a route that takes no body', () => {
  const routes: [string, string][] = [
    ['DELETE', '/v1/orders/ord-1?accountId=ACC-1'],
    ['DELETE', '/v1/predictions/orders/ord-1?accountId=ACC-1'],
    ['POST', '/v1/probe'],
  ];
  const types = [
    undefined,
    'application/json',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
  ];

  it.each(routes)('%s %s answers a request without one, whatever content type it names', async (method, path) => {
    for (const type of types) {
      const headers = { 'idempotency-key': 'k', ...(type === undefined ? {} : { 'content-type': type }) };
      expect([type, (await ask(`${rig.address}${path}`, { method, headers })).status]).toEqual([type, 200]);
    }
  });

  it.each(routes)('%s %s refuses one that has a body, rather than leave it unread', async (method, path) => {
    for (const type of types.slice(1)) {
      const headers = { 'content-type': type ?? '' };
      await expectRefused(send('{"accountId":"ACC-2"}', { path, method, headers }), 400, 'UNEXPECTED_BODY');
    }
  });
});

describe('an id in a path', () => {
  it.each([
    '/v1/commands/not-a-uuid',
    '/v1/commands/6D5C0F0E-3B1F-4C43-9D7B-2F1F3E0F6A11',
    '/v1/commands/6d5c0f0e-3b1f-4c43-9d7b-2f1f3e0f6a11%00',
    '/v1/orders/equity/ord-1',
    '/v1/orders/account/%D0%B0rd-1',
    '/v1/orders/account/a%20b',
    '/v1/orders/account/a%0Ab',
    `/v1/orders/account/${'a'.repeat(129)}`,
    '/v1/orders/account/..%2f..%2fetc%2fpasswd',
    "/v1/orders/account/';drop%20table",
    '/v1/orders/account/ord-1/',
    '/v1/ORDERS',
    '/v2/orders',
    '/',
  ])('%s is not found', async (path) => {
    const { status, body, text } = await ask(`${rig.address}${path}`);
    expect([status, body['status']]).toEqual([404, 404]);
    expect(text).not.toMatch(/passwd|drop/);
  });

  it.each(['/v1/orders/account/%zz', '/v1/orders/account/%E0%A4%A'])('%s is no path at all', async (path) => {
    expect(await ask(`${rig.address}${path}`)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
  });

  it('is longer than anything is not read', async () => {
    const { status, body } = await ask(`${rig.address}/v1/orders/account/${'a'.repeat(500)}`);
    expect([status, body['code']]).toEqual([414, 'URL_TOO_LONG']);
  });
});

describe('a parameter', () => {
  it.each([
    'limit=1e9',
    'limit=0',
    'limit=501',
    'limit=-1',
    'limit=1.5',
    'limit=',
    'limit=5&limit=6',
    'sort=price;select',
    'cursor=forged',
    'cursor=W10',
    'cursor=bnVsbA',
    'cursor=e30',
    `cursor=${'A'.repeat(601)}`,
    'cursor=',
    'status=open',
    'stream=equity',
    'open=yes',
    'accountId=',
    'accountId=a%0Ab',
    'symbol=a%00b',
    '__proto__=1',
    'constructor=1',
  ])('%s is refused', async (query) => {
    const { status, body, text } = await ask(`${rig.address}/v1/orders?${query}`);
    expect([status, body['status']]).toEqual([400, 400]);
    expect(text).not.toMatch(/select|price|function/);
  });

  it('is named where the route does not know it or it is there twice, cut and safe to print', async () => {
    const faultsOf = async (query: string) => (await ask(`${rig.address}/v1/orders?${query}`)).body['faults'];
    const message = 'is not a parameter of this route';
    expect(await faultsOf('foo=secret&constructor=1')).toEqual([
      { path: 'foo', message },
      { path: 'constructor', message },
    ]);
    expect(await faultsOf(`${'%1b'.repeat(60)}=1`)).toEqual([{ path: '\\u001b'.repeat(50), message }]);
    expect(await faultsOf('symbol=aapl&symbol=ko')).toEqual([
      { path: 'symbol', message: 'is given twice, and takes one value' },
    ]);
    const many = Array.from({ length: 40 }, (_none, at) => `p${at}=1`).join('&');
    expect(await faultsOf(many)).toHaveLength(20);
  });

  it('is refused where none is taken', async () => {
    const { status, body } = await ask(`${rig.address}/v1/accounts?x=1`);
    expect([status, body['code']]).toEqual([400, 'INVALID_PARAMETER']);
  });

  it('that a cancel needs is missed', async () => {
    const { status, body } = await ask(`${rig.address}/v1/orders/ord-1`, {
      method: 'DELETE',
      headers: { 'idempotency-key': 'k' },
    });
    expect([status, body['code']]).toEqual([400, 'INVALID_PARAMETER']);
    expect(rig.commands.submissions).toEqual([]);
  });
});

describe('issue: Faults came one part of the request at a time, and in the words of a library.', () => {
  const faultsOf = (body: Readonly<Record<string, unknown>>) => body['faults'] as { path: string; message: string }[];
  const wrongHeaders = { 'idempotency-key': 'two words', 'if-match': '12' };

  it.each([
    ['a body', 'PATCH', '/v1/predictions/orders/o-1', '{"price":"2"}', 'INVALID_ORDER', ['accountId', 'price']],
    ['no JSON', 'PATCH', '/v1/predictions/orders/o-1', '{', 'INVALID_JSON', []],
    [
      'an unknown field',
      'PATCH',
      '/v1/predictions/orders/o-1',
      '{"accountId":"A","price":"0.2","x":1}',
      'UNKNOWN_FIELD',
      ['x'],
    ],
    ['parameters', 'DELETE', '/v1/orders/o-1?x=1', undefined, 'INVALID_PARAMETER', ['accountId', 'x']],
    ['nothing else', 'DELETE', '/v1/orders/o-1?accountId=ACC-1', undefined, 'IDEMPOTENCY_KEY_REQUIRED', []],
  ] as const)('both headers and %s are told in one answer', async (_name, method, path, body, code, paths) => {
    const headers = { 'content-type': 'application/json', ...wrongHeaders };
    const answer = await ask(`${rig.address}${path}`, { method, headers, ...(body !== undefined && { body }) });
    expect([answer.status, answer.body['code']]).toEqual([400, code]);
    expect(faultsOf(answer.body).map((fault) => fault.path)).toEqual(['Idempotency-Key', 'If-Match', ...paths]);
    expect(rig.commands.submissions).toEqual([]);
  });

  it('a header that the route does not read is no fault of it', async () => {
    const { status } = await send(JSON.stringify(accountBody), { headers: { 'if-match': '12' } });
    expect(status).toBe(200);
    rig.commands.submissions.length = 0;
  });

  it('a key that is missing in a cancel-all is told beside its body', async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"side":"BUY"}' };
    const { body } = await ask(`${rig.address}/v1/cancel-all`, init);
    expect(faultsOf(body)).toMatchObject([
      { path: 'Idempotency-Key' },
      { path: 'reason', message: 'is required' },
      { path: 'side', message: 'must be buy or sell' },
    ]);
  });

  it('a wrong word is answered with those that may be given', async () => {
    const { body } = await send(json({ side: 'c4n4ry', timeInForce: 7 }));
    expect(faultsOf(body)).toEqual([
      { path: 'side', message: 'must be BUY, SELL, SELL_SHORT or BUY_TO_COVER' },
      { path: 'timeInForce', message: 'must be DAY, GTC, IOC or FOK' },
    ]);
    const { body: list } = await ask(`${rig.address}/v1/orders?stream=c4n4ry&open=c4n4ry`);
    expect(faultsOf(list)).toEqual([
      { path: 'stream', message: 'must be account, prediction, alpaca or alpaca_paper' },
      { path: 'open', message: 'must be true or false' },
    ]);
  });

  const odd = [7, -1, true, '', 'c4n4ry', ['c4n4ry'], {}] as const;
  const ours = /^(?:must|is|has|does|names|are) (?!.*(?:expected|Invalid|Too |received|undefined|"c4n4ry))/;

  it.each(routeTable.filter((route) => route.body !== undefined).map((route) => [route.operationId, route] as const))(
    'the faults of %s are in words of ours, whatever stands in a field',
    async (_id, route) => {
      const { path, init } = sampleRequest(route);
      const sample = JSON.parse(String(init.body)) as Record<string, unknown>;
      const bodies = [
        ...odd,
        ...Object.keys(sample).flatMap((name) => odd.map((value) => ({ ...sample, [name]: value }))),
        { ...sample, legs: [{}, 7, { ratioQty: 7, side: 'x', positionEffect: 'y', symbol: [] }] },
        { filter: { rowIds: [7, 'x'], stream: 7 }, action: 7 },
        {
          bounds: Object.fromEntries(
            odd.map((value, at) => [['maxQuantity', 'allowedSymbols', 'instruments'][at % 3], value]),
          ),
        },
      ];
      for (const body of bodies) {
        const answer = await ask(`${rig.address}${path}`, { ...init, body: JSON.stringify(body) });
        if (answer.status !== 400) continue;
        for (const { message } of faultsOf(answer.body) ?? [])
          expect([body, message]).toEqual([body, expect.stringMatching(ours)]);
      }
      rig.commands.submissions.length = 0;
    },
  );

  it.each(routeTable.filter((route) => route.query !== undefined).map((route) => [route.operationId, route] as const))(
    'the faults of the parameters of %s are, too',
    async (_id, route) => {
      const { path, init } = sampleRequest(route);
      for (const value of ['', 'c4n4ry', '-1', '1e9', 'x'.repeat(600)]) {
        const query = Object.keys(route.query?.shape ?? {})
          .map((name) => `${name}=${value}`)
          .join('&');
        const { body } = await ask(`${rig.address}${path.split('?')[0]}?${query}`, init);
        for (const { message } of faultsOf(body) ?? []) expect(message).toMatch(ours);
      }
    },
  );
});

describe('a method that a path does not have', () => {
  it.each([
    ['PUT', '/v1/orders', 'POST, GET, HEAD'],
    ['POST', '/v1/stream', 'GET'],
    ['GET', '/v1/halt', 'POST'],
    ['OPTIONS', '/v1/orders', 'POST, GET, HEAD'],
  ])('%s %s is answered with those that it has', async (method, path, allow) => {
    const { status, headers, body } = await ask(`${rig.address}${path}`, { method });
    expect([status, body['code'], headers.get('allow')]).toEqual([405, 'METHOD_NOT_ALLOWED', allow]);
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('is answered with those that it has', async () => {
    const { status, body } = await ask(`${rig.address}/v1/commands`, { method: 'PATCH' });
    expect([status, body['detail']]).toEqual([405, 'this path has no such method: see Allow']);
  });
});

describe('issue: An id of a wrong form was answered with another code than one that names nothing.', () => {
  it.each(routeTable.flatMap((route) => idsIn(route.path).map((name) => ({ route, name }))))(
    '$route.operationId with such a $name is answered as its resource',
    async ({ route, name }) => {
      const { path, init } = sampleRequest(route, { ids: { [name]: '\u0000' } });
      const { status, body } = await ask(`${rig.address}${path}`, init);
      const resource = name === 'stream' ? 'order' : name.replace(/Id$/, '');
      expect([status, body['code']]).toEqual([404, `${resource.toUpperCase()}_NOT_FOUND`]);
    },
  );
});

describe('issue: A price of a replace was refused with the advice that only predictions can be replaced.', () => {
  it.each(['price', 'stopPx'])('%s is refused in the words of every prediction order', async (path) => {
    const body = JSON.stringify({ accountId: 'ACC-1', [path]: '5' });
    const answer = await send(body, { path: '/v1/predictions/orders/ord-1', method: 'PATCH' });
    expect(answer.body).toMatchObject({
      code: 'INVALID_ORDER',
      faults: [{ path, message: 'must lie between 0 and 1' }],
    });
  });
});
