import { describe, expect, it, onTestFinished } from 'vitest';
import { changeEmail, deleteUserSettings } from '../../../src/venue/platform/user-data.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const signal = new AbortController().signal;
type Answer = Parameters<typeof scriptedServer>[0];

async function client(answer: Answer) {
  let tokens = 0;
  const server = await scriptedServer((request, response, count) => {
    if (request.path !== '/v1/oauth2/token') return answer(request, response, count);
    tokens += 1;
    json(response, 200, { access_token: `t${tokens}`, token_type: 'bearer', expires_in: 1000 });
  });
  onTestFinished(() => server.close());
  const writes = () => server.received.filter(({ path }) => path !== '/v1/oauth2/token');
  return { deps: platformDeps(server.url), base: server.url, writes };
}

/** Answers that a read would be repeated after. */
const failures: [string, Answer, object][] = [
  ['500', (_, response) => json(response, 500, {}), { status: 500, sent: 'yes' }],
  ['503', (_, response) => json(response, 503, { error: 'busy' }), { status: 503, sent: 'yes' }],
  ['429', (_, response) => json(response, 429, {}, { 'retry-after': '0' }), { status: 429, sent: 'yes' }],
  ['401', (_, response) => json(response, 401, { error: 'expired' }), { status: 401, sent: 'yes' }],
  [
    'a redirect',
    (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
    { status: 302, sent: 'yes' },
  ],
  [
    'HTML with status 200',
    (_, response) => void response.end('<html>'),
    { status: 200, code: 'BAD_ANSWER', sent: 'yes' },
  ],
  ['a reset', (_, response) => void response.destroy(), { code: 'NO_ANSWER', sent: 'maybe' }],
];

describe('a write that is no order', () => {
  it.each(failures)('is sent once, and never again, after %s', async (_, answer, error) => {
    const { deps, base, writes } = await client(answer);
    expect(await changeEmail(deps, base, 'a@b.example', signal)).toMatchObject({ ok: false, error });
    expect(await deleteUserSettings(deps, base, { category: 'a', keys: ['b'] }, signal)).toMatchObject({
      ok: false,
      error,
    });
    expect(writes().map(({ method }) => method)).toEqual(['POST', 'DELETE']);
  });

  it('carries its body as JSON and the token as a header', async () => {
    const { deps, base, writes } = await client((_, response) => json(response, 200, {}));
    expect(await deleteUserSettings(deps, base, { category: 'dis/play', keys: ['a', 'b'] }, signal)).toMatchObject({
      ok: true,
    });
    expect(writes()).toMatchObject([
      {
        path: '/v1/config/dis%2Fplay/user-settings',
        body: '{"keys":["a","b"]}',
        headers: { authorization: 'Bearer t1', 'content-type': 'application/json' },
      },
    ]);
  });

  it('leaves a new token behind when the one it had was refused', async () => {
    const { deps, base, writes } = await client((request, response) =>
      request.headers.authorization === 'Bearer t1' ? json(response, 401, {}) : json(response, 200, {}),
    );
    expect(await changeEmail(deps, base, 'a@b.example', signal)).toMatchObject({ ok: false, error: { status: 401 } });
    expect(await changeEmail(deps, base, 'a@b.example', signal)).toMatchObject({ ok: true });
    expect(writes().map(({ headers }) => headers.authorization)).toEqual(['Bearer t1', 'Bearer t2']);
  });

  it('says that nothing was sent when there is no connection', async () => {
    const { deps } = await client((_, response) => json(response, 200, {}));
    await deps.tokens.get('http://gone');
    const gone = await scriptedServer((_, response) => json(response, 200, {}));
    await gone.close();
    expect(await changeEmail(deps, gone.url, 'a@b.example', signal)).toMatchObject({
      ok: false,
      error: { sent: 'no' },
    });
  });
});
