import { describe, expect, it } from 'vitest';
import { ConsoleRig, eventOf } from '../support/rest/console-rig.ts';
import { eventually } from '../support/runs/poll.ts';

const issuer = 'https://id.example';
const settings = {
  ...{ issuer, audience: 'https://tidemark.example', clientId: 'console', scope: 'orders:read' },
  metadata: { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
};
const json = { 'content-type': 'application/json' };

/**
 * A console whose tab has a token of the issuer, `first`, that is
 * valid for 600 s, with its refresh token.
 */
async function signedIn(prepare: (rig: ConsoleRig) => void = () => undefined) {
  const rig = new ConsoleRig();
  rig.answers.set('/console/sign-in.json', { status: 200, body: { issuer: settings } });
  rig.rights.signIn = true;
  rig.tokens = ['first', 'second'];
  rig.kept = 'first';
  rig.stored.set('tidemark.renewal', JSON.stringify({ refreshToken: 'r-1', endsAtMs: 600_000 }));
  const requests: URLSearchParams[] = [];
  rig.askIssuer = async (_url, request) => {
    requests.push((request as { readonly body: URLSearchParams }).body);
    return Response.json({ access_token: 'second', token_type: 'bearer', expires_in: 600, refresh_token: 'r-2' });
  };
  prepare(rig);
  await rig.state.start();
  await settled(rig);
  return { rig, requests };
}

/** The library of the sign-in is loaded at its first use, which takes some turns. */
async function settled(rig: ConsoleRig): Promise<void> {
  await import('oauth4webapi');
  for (let round = 0; round < 8; round += 1) await rig.settle();
}

const kindOf = (rig: ConsoleRig) => rig.state.session.state.value.kind;
const refuse = (error: string) => async () => new Response(JSON.stringify({ error }), { status: 400, headers: json });

it('waits for the answer that says whether there is an issuer', async () => {
  const rig = new ConsoleRig();
  rig.answers.set('/console/sign-in.json', { status: 200, body: { issuer: settings } });
  rig.away.add('/console/sign-in.json');
  const known = rig.state.session.issuer.knownSettings(new AbortController().signal);
  await rig.settle();
  rig.away.clear();
  await rig.pass(1_000);
  expect((await known)?.issuer).toBe(issuer);
});

describe('a token of the issuer', () => {
  it('is renewed before its end by the refresh token, which is used once, also after the page was loaded again', async () => {
    const { rig, requests } = await signedIn();
    await rig.pass(539_000);
    await settled(rig);
    expect(requests).toEqual([]);
    await rig.pass(1_000);
    await settled(rig);
    expect(requests.map((body) => [body.get('grant_type'), body.get('refresh_token')])).toEqual([
      ['refresh_token', 'r-1'],
    ]);
    expect([rig.kept, JSON.parse(rig.stored.get('tidemark.renewal') ?? '')]).toEqual([
      'second',
      { refreshToken: 'r-2', endsAtMs: 1_140_000 },
    ]);
    expect(kindOf(rig)).toBe('open');
  });

  it('is renewed once when the stream and several requests find it refused, and each of them goes on', async () => {
    const { rig, requests } = await signedIn();
    await rig.streams[0]?.send(`id: 1\n\n${eventOf(2)}`);
    rig.tokens = ['second'];
    const answers = [rig.state.rest.get('/v1/status'), rig.state.rest.send('POST', '/v1/status')];
    await rig.streams[0]?.send('id: 2\nevent: shutdown\ndata: {"reason":"token_expired"}\n\n');
    await settled(rig);
    expect((await Promise.all(answers)).map((answer) => answer.kind !== 'away' && answer.status)).toEqual([200, 404]);
    expect([requests.length, kindOf(rig)]).toEqual([1, 'open']);
    await rig.pass(500);
    expect([rig.streams.length, rig.streams[1]?.lastEventId]).toEqual([2, '2']);
  });

  it('shows nothing more of what the last token could see when the next one has other rights', async () => {
    const { rig } = await signedIn();
    await rig.streams[0]?.send(`id: 1\n\n${eventOf(2)}`);
    expect(rig.state.orders.rows.size).toBe(1);
    rig.rights.scopes.splice(1);
    await rig.pass(540_000);
    await settled(rig);
    expect([rig.state.session.may('ops:read'), rig.state.orders.rows.size, kindOf(rig)]).toEqual([false, 0, 'open']);
  });

  it('stays while the issuer is away, and is renewed when it answers again', async () => {
    const { rig } = await signedIn();
    const answer = rig.askIssuer;
    rig.askIssuer = () => Promise.reject(new TypeError('nothing answers'));
    await rig.pass(540_000);
    await settled(rig);
    expect([kindOf(rig), rig.kept]).toEqual(['open', 'first']);
    rig.askIssuer = answer;
    await rig.pass(15_000);
    await settled(rig);
    expect([kindOf(rig), rig.kept]).toEqual(['open', 'second']);
  });

  it('is forgotten when the issuer refuses the next one; then the issuer is asked without a question, at most once a minute', async () => {
    const { rig } = await signedIn((rig) => {
      rig.askIssuer = refuse('invalid_grant');
      rig.address = { path: '/console', query: '?side=buy' };
      rig.nowMs = 100_000;
    });
    const end = async () => {
      rig.tokens = [];
      await rig.state.rest.get('/v1/status');
      await settled(rig);
    };
    await end();
    expect([kindOf(rig), rig.kept, rig.stored.has('tidemark.renewal')]).toEqual(['signed-out', undefined, false]);
    await eventually(() => expect(rig.left).toHaveLength(1));
    expect(new URL(rig.left[0] ?? '').searchParams.get('prompt')).toBe('none');
    // As if the issuer had sent a token that the service does not take.
    rig.kept = 'third';
    rig.stored.set('tidemark.renewal', '{}');
    await rig.state.start();
    await settled(rig);
    expect([kindOf(rig), rig.left.length]).toEqual(['signed-out', 1]);
  });

  it('that a reader typed in is never renewed, and its end never leads to the issuer', async () => {
    const { rig, requests } = await signedIn((rig) => rig.stored.clear());
    rig.tokens = [];
    await rig.state.rest.get('/v1/status');
    await settled(rig);
    expect([kindOf(rig), requests, rig.left]).toEqual(['signed-out', [], []]);
  });
});

describe('a sign-in by the issuer', () => {
  it('asks by code and PKCE for this console, and keeps the verifier in the tab', async () => {
    const rig = new ConsoleRig();
    rig.tokens = [];
    rig.answers.set('/console/sign-in.json', {
      status: 200,
      body: { issuer: { ...settings, scope: 'openid orders:read' } },
    });
    await rig.state.start();
    expect(await rig.state.session.signInAtIssuer()).toBeUndefined();
    const { searchParams: asked, origin } = new URL(rig.left[0] ?? '');
    const kept = JSON.parse(rig.stored.get('tidemark.sign-in') ?? '');
    expect([origin, asked.get('response_type'), asked.get('code_challenge_method')]).toEqual([issuer, 'code', 'S256']);
    expect([asked.get('client_id'), asked.get('redirect_uri')]).toEqual([
      'console',
      'http://127.0.0.1:8080/console/signed-in',
    ]);
    expect([asked.get('state'), asked.get('nonce')]).toEqual([kept.state, kept.nonce]);
    expect(rig.left[0]).not.toContain(kept.verifier);
  });

  it.each([
    ['the state of another sign-in', 'code=x&state=other', 'does not belong to a sign-in of this tab'],
    ['another issuer', 'code=x&state=s-1&iss=https://evil.example', 'does not belong to a sign-in of this tab'],
    ['an error that is known', 'error=access_denied&state=s-1', 'id.example did not allow the sign-in'],
    [
      'an error that is not',
      `error=odd&error_description=${'<b>'.repeat(300)}&state=s-1`,
      'id.example refused the sign-in: <b><b>',
    ],
  ])('that ends in %s signs nobody in, and asks for no token', async (_what, query, sentence) => {
    const rig = new ConsoleRig();
    rig.tokens = [];
    rig.answers.set('/console/sign-in.json', { status: 200, body: { issuer: settings } });
    rig.stored.set('tidemark.sign-in', JSON.stringify({ state: 's-1', verifier: 'v', returnTo: '//evil.example' }));
    rig.address = { path: '/console/signed-in', query: `?${query}` };
    const asked: string[] = [];
    rig.askIssuer = async (url) => {
      asked.push(url);
      throw new TypeError('nothing answers');
    };
    await rig.state.start();
    const state = rig.state.session.state.value;
    expect(state.kind === 'signed-out' && state.why).toContain(sentence);
    expect(state.kind === 'signed-out' && (state.why ?? '').length).toBeLessThanOrEqual(300);
    expect([asked, rig.address.path, rig.stored.size]).toEqual([[], '/console', 0]);
  });
});
